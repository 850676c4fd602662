"""A transformer of 24 layers in bf16 that decodes one token at a time: keys and values lie in memory of a fixed size, the likeliest
token is chosen on the device, and read after each 16.

    decode.py tokens|cuda-graph|prefill|lengths [--exact] [--turns]

tokens: eagerly. cuda-graph: one token as a graph that the program captures itself, as fast as it can be. prefill: a prompt of
48 tokens before each 16. lengths: attention over what there is so far, not over a masked whole, so that sizes change with each token.
Prints the time of a step of 16 tokens, and a digest of the tokens and of all keys and values, bit by bit. --exact: by deterministic
algorithms only, which index_copy_ is slower with, and attention without fused kernels. --turns: as turns.py says."""

import contextlib
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "compat"))
import common
import turns

MODES = ["tokens", "cuda-graph", "prefill", "lengths"]
MODE = sys.argv[1] if len(sys.argv) > 1 else ""
if MODE not in MODES:
    sys.exit(f"usage: decode.py {'|'.join(MODES)} [--exact] [--turns]")
EXACT = "--exact" in sys.argv

torch = common.need_torch(deterministic=EXACT)
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

WIDTH, INNER, HEADS, LAYERS, VOCABULARY, LENGTH, TOKENS, PROMPT = 1024, 2816, 16, 24, 32000, 512, 16, 48


def linear(start, end):
    return nn.Linear(start, end, bias=False)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.qkv, self.out = linear(WIDTH, 3 * WIDTH), linear(WIDTH, WIDTH)
        self.gate, self.up, self.down = linear(WIDTH, INNER), linear(WIDTH, INNER), linear(INNER, WIDTH)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, HEADS, LENGTH, WIDTH // HEADS))

    def forward(self, x, places, mask, length):
        count = x.shape[1]
        q, k, v = self.qkv(self.norm1(x)).view(1, count, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, places, k)
        self.values.index_copy_(2, places, v)
        attended = F.scaled_dot_product_attention(q, self.keys[:, :, :length], self.values[:, :, :length], attn_mask=mask)
        x = x + self.out(attended.transpose(1, 2).reshape(1, count, WIDTH))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    """token, place: of the next one, on the device."""

    def __init__(self):
        super().__init__()
        self.embed, self.norm, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.RMSNorm(WIDTH), linear(WIDTH, VOCABULARY)
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.register_buffer("token", torch.zeros(1, 1, dtype=torch.long))
        self.register_buffer("place", torch.zeros(1, dtype=torch.long))
        self.register_buffer("every", torch.arange(LENGTH))

    def forward(self, tokens, places, length=LENGTH):
        mask = None if length < LENGTH else (self.every <= places[:, None]).view(1, 1, -1, LENGTH)
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, places, mask, length)
        return self.head(self.norm(x[:, -1:])).argmax(-1)

    def decode(self, length=LENGTH):
        self.token.copy_(self(self.token, self.place, length))
        self.place.add_(1).remainder_(LENGTH)

    def read(self, prompt):
        """A prompt, at the places from 0 on."""
        self.token.copy_(self(prompt, self.every[: prompt.shape[1]]))
        self.place.fill_(prompt.shape[1])


def captured(model):
    """model.decode() as a graph; the steps that come before a capture are undone."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            model.decode()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model.decode()
    for buffer in model.buffers():
        if buffer is not model.every:
            buffer.zero_()
    return graph


def make_step(model, tokens):
    prompts = torch.randint(0, VOCABULARY, (8, 1, PROMPT), device="cuda")

    def decode(number):
        for _ in range(TOKENS):
            model.decode()

    def prefill(number):
        model.read(prompts[number % len(prompts)])
        decode(number)

    def lengths(number):
        for i in range(TOKENS):
            length = 1 + (number * TOKENS + i) % (LENGTH - 1)
            if length == 1:
                model.place.zero_()
            model.decode(length)

    graph = captured(model) if MODE == "cuda-graph" else None

    def replay(number):
        for _ in range(TOKENS):
            graph.replay()

    run = {"tokens": decode, "cuda-graph": replay, "prefill": prefill, "lengths": lengths}[MODE]

    def step():
        run(len(tokens))
        tokens.append(model.token.item())

    return step


@torch.no_grad()
def main():
    with torch.device("cuda"):  # the weights are drawn there, which is faster
        model = Decoder().to(torch.bfloat16).eval()
    tokens = []
    with sdpa_kernel(SDPBackend.MATH) if EXACT else contextlib.nullcontext():
        turns.run(make_step(model, tokens), 30)
    common.done(tokens, *(kept for layer in model.layers for kept in (layer.keys, layer.values)))


main()
