"""A known model, a transformer in fp32 with AdamW, and the truth about its memory: what parameters, gradients and the
optimizer's state take is the sum over their storages, what activations take is what autograd saved for the backward pass.

Prints one JSON line for each of two moments, after the forward pass and after the backward pass: the bytes of each class,
and the path of a snapshot of that moment."""

import json

import torch
import torch.nn.functional as F
from torch import nn

from transformer import take_snapshot

WORDS, LENGTH, WIDTH, HEADS, LAYERS, BATCH, STEPS = 32000, 512, 1024, 16, 12, 8, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_attention, self.norm_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1)
        )

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm_attention(x)).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.mlp(self.norm_mlp(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(x)))


def storages(tensors):
    """Address -> bytes, each device storage once."""
    found = {}
    for tensor in tensors:
        if tensor is not None and tensor.is_cuda:
            storage = tensor.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
    return found


def loss_of(model, tokens):
    return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


def truth(moment, model, optimizer, saved):
    parameters = storages(model.parameters())
    states = [value for state in optimizer.state.values() for value in state.values() if torch.is_tensor(value)]
    print(json.dumps({
        "moment": moment,
        "parameters": sum(parameters.values()),
        "gradients": sum(storages(parameter.grad for parameter in model.parameters()).values()),
        "optimizer": sum(storages(states).values()),
        "activations": sum(size for address, size in saved.items() if address not in parameters),
        "live_bytes": torch.cuda.memory_allocated(),
        "snapshot": take_snapshot(),
    }), flush=True)


def main():
    torch.manual_seed(0)
    model = Transformer().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(STEPS):
        tokens = torch.randint(0, WORDS, (BATCH, LENGTH + 1), device="cuda")
        saved = {}

        def pack(tensor):
            saved.update(storages([tensor]))
            return tensor.detach()

        last = step == STEPS - 1
        if last:
            with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                loss = loss_of(model, tokens)
            for address in storages([tokens]):
                saved.pop(address, None)
            truth("forward", model, optimizer, saved)
        else:
            loss = loss_of(model, tokens)
        loss.backward()
        if last:
            truth("backward", model, optimizer, {})
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


main()
