"""A small transformer, trained for 30 steps so that two runs must agree to the last bit: AdamW, bf16 autocast, dropout,
one seed, deterministic algorithms. Prints each loss as an exact hexadecimal float.

With --sum FILE it then writes PyTorch's own figures to FILE, and at the same moment asks the shim, where one is loaded,
for a snapshot, whose path is among the figures: the two must agree."""

import argparse
import ctypes
import gc
import json
import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

VOCABULARY, CONTEXT, WIDTH, HEADS, LAYERS, STEPS = 1000, 128, 256, 4, 4, 30


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_attention = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm_mlp = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1)
        )

    def forward(self, x):
        batch, length, _ = x.shape
        heads = self.qkv(self.norm_attention(x)).view(batch, length, 3, HEADS, WIDTH // HEADS)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        with sdpa_kernel(SDPBackend.MATH):
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=0.1)
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.mlp(self.norm_mlp(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, WIDTH)
        self.position = nn.Embedding(CONTEXT, WIDTH)
        self.dropout = nn.Dropout(0.1)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        position = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.token(tokens) + self.position(position))
        return self.head(self.norm(self.blocks(x)))


def train_step(model, optimizer, step):
    length = CONTEXT - 8 * (step % 5)  # the sizes vary, as they do in real training
    tokens = torch.randint(0, VOCABULARY, (16, length + 1), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.item()


def live_storages():
    """Live device tensors that Python can see, each storage once: address -> bytes."""
    storages = {}
    for thing in gc.get_objects():
        if issubclass(type(thing), torch.Tensor) and thing.is_cuda:
            storage = thing.untyped_storage()
            if storage.nbytes():
                storages[storage.data_ptr()] = storage.nbytes()
    return storages


def take_snapshot():
    """Through the shim's C API: path of the snapshot, "" without the shim."""
    snapshot = getattr(ctypes.CDLL(None), "gpushim_snapshot", None)
    path = ctypes.create_string_buffer(4096)
    if snapshot and snapshot(path, ctypes.c_size_t(len(path))) != 0:
        raise RuntimeError("gpushim_snapshot failed")
    return path.value.decode()


def write_sum(path):
    gc.collect()
    torch.cuda.synchronize()
    storages = live_storages()
    stats = torch.cuda.memory_stats()
    figures = {
        "backend": torch.cuda.get_allocator_backend(),
        "allocations": stats.get("allocation.all.allocated", 0),
        "live_count": stats.get("allocation.all.current", 0),
        "live_bytes": torch.cuda.memory_allocated(),
        "requested_bytes": stats.get("requested_bytes.all.current", 0),
        "storage_count": len(storages),
        "storage_bytes": sum(storages.values()),
        "storages": {hex(address): size for address, size in storages.items()},
        "snapshot": take_snapshot(),
    }
    with open(path, "w") as file:
        json.dump(figures, file)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--sum", metavar="FILE")
    arguments = arguments.parse_args()

    torch.manual_seed(1234)
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    model = Transformer().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for step in range(STEPS):
        print(f"step {step} loss {train_step(model, optimizer, step).hex()}")
    if arguments.sum:
        write_sum(arguments.sum)


if __name__ == "__main__":
    main()
