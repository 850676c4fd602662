"""Steps of small PyTorch programs, timed: what gpushim costs where the host is the bottleneck.

    steps.py train|large|decode [--steps N] [--history python|all] [--turns]

train: a small transformer, AdamW, bf16 autocast, dropout. large: the same at a size that keeps the GPU busy. decode:
one token at a time through 24 layers, 16 tokens a step. --history: with PyTorch's own recording of memory, for comparison.
Prints one JSON line: milliseconds a step (median, tenth percentile, least) and a checksum of the results. --turns: as
turns.py says."""

import argparse
import json
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

import turns

WARM_SHARE = 4  # the first quarter of the steps does not count


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Language(nn.Module):
    def __init__(self, width, heads, layers, words=50257, length=128):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(x)))


def training(width, heads, layers, batch, length):
    model = Language(width, heads, layers, length=length).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step():
        tokens = torch.randint(0, 50257, (batch, length), device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(tokens)
            loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), tokens.view(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        linear = lambda start, end: nn.Linear(start, end, bias=False)
        self.heads, self.width = heads, width
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = linear(width, 3 * width), linear(width, width)
        self.gate, self.up, self.down = linear(width, 2816), linear(width, 2816), linear(2816, width)
        self.register_buffer("keys", torch.zeros(1, heads, 512, width // heads))
        self.register_buffer("values", torch.zeros(1, heads, 512, width // heads))

    def forward(self, x, place, mask):
        q, k, v = self.qkv(self.norm1(x)).view(1, 1, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, place, k)
        self.values.index_copy_(2, place, v)
        attended = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask)
        x = x + self.out(attended.transpose(1, 2).reshape(1, 1, self.width))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def decoding():
    width, words = 1024, 32000
    embed, norm = nn.Embedding(words, width), nn.RMSNorm(width)
    layers, head = nn.ModuleList([Layer(width, 16) for _ in range(24)]), nn.Linear(width, words, bias=False)
    nn.ModuleList([embed, norm, layers, head]).cuda().to(torch.bfloat16).eval()
    token = torch.zeros(1, 1, dtype=torch.long, device="cuda")
    place = torch.zeros(1, dtype=torch.long, device="cuda")
    mask = torch.zeros(1, 1, 1, 512, dtype=torch.bool, device="cuda")
    mask[..., 0] = True
    places = torch.arange(512, device="cuda")

    def step():
        total = 0
        for _ in range(16):
            with torch.no_grad():
                x = embed(token)
                for layer in layers:
                    x = layer(x, place, mask)
                token.copy_(head(norm(x)).argmax(-1))
                place.add_(1).remainder_(512)
                mask.logical_or_((places == place).view(1, 1, 1, 512))
        total += token.item()
        return total

    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", choices=["train", "large", "decode"])
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--history", choices=["python", "all"])
    parser.add_argument("--turns", action="store_true")
    arguments = parser.parse_args()
    if arguments.history:
        torch.cuda.memory._record_memory_history(max_entries=100000, stacks=arguments.history)
    torch.manual_seed(0)
    step, count = {
        "train": lambda: (training(256, 4, 6, 4, 128), 100),
        "large": lambda: (training(1024, 16, 12, 8, 512), 40),
        "decode": lambda: (decoding(), 24),
    }[arguments.program]()
    if arguments.turns:
        turns.serve(step, torch.cuda.synchronize)
        return
    count, times, total = arguments.steps or count, [], 0.0
    for _ in range(count):
        torch.cuda.synchronize()
        start = time.perf_counter()
        total += step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    warm = sorted(times[count // WARM_SHARE :])
    print(json.dumps({
        "ms_median": warm[len(warm) // 2], "ms_tenth": warm[len(warm) // 10], "ms_least": warm[0], "sum": f"{total:.9g}",
    }))


main()
