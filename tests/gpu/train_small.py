"""A small GPT that is trained so that launches, not the GPU, set the pace: dropout, bf16 autocast, AdamW, gradients clipped, the loss
read in each step. Two runs agree to the last bit.

    train_small.py train|evaluate|buckets|accumulate [--turns]

evaluate: after every third step the loss of other data without dropout. buckets: lengths come in four sizes. accumulate: four small
batches for each step of the optimizer. Prints the time of a step, and a digest of all losses and parameters. --turns: as turns.py
says."""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "compat"))
import common
import turns

torch = common.need_torch()
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

WIDTH, HEADS, LAYERS, VOCABULARY, LENGTH, BATCH, DROPOUT = 256, 4, 6, 8192, 128, 4, 0.1
BUCKETS, SMALL_BATCHES, STEPS_AN_EVALUATION = (64, 128, 96, 32), 4, 3


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(DROPOUT))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        dropout = DROPOUT if self.training else 0.0
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
        x = x + self.out(attended.transpose(1, 2).reshape(x.shape))
        return x + self.mlp(self.norm2(x))


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.dropout = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH), nn.Dropout(DROPOUT)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.dropout(self.words(tokens) + self.places(torch.arange(tokens.shape[1], device="cuda")))
        return self.head(self.norm(self.blocks(x)))


class Training:
    def __init__(self):
        self.model = Language().cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4)
        self.losses = []

    def loss(self, length=LENGTH):
        tokens = torch.randint(0, VOCABULARY, (BATCH, length), device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = self.model(tokens[:, :-1])
            return F.cross_entropy(logits.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1))

    def update(self, loss):
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.losses.append(loss.item())

    def train(self, length=LENGTH):
        loss = self.loss(length)
        loss.backward()
        self.update(loss.detach())

    def evaluate(self):
        for _ in range(STEPS_AN_EVALUATION):
            self.train()
        self.model.eval()
        with torch.no_grad():
            self.losses.append(self.loss().item())
        self.model.train()

    def buckets(self):
        for length in BUCKETS:
            self.train(length)

    def accumulate(self):
        total = 0
        for _ in range(SMALL_BATCHES):
            loss = self.loss() / SMALL_BATCHES
            loss.backward()
            total = total + loss.detach()
        self.update(total)


def main():
    modes = ["train", "evaluate", "buckets", "accumulate"]
    if len(sys.argv) < 2 or sys.argv[1] not in modes:
        sys.exit(f"usage: train_small.py {'|'.join(modes)} [--turns]")
    training = Training()
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        turns.run(getattr(training, sys.argv[1]), 60)
    common.done(training.losses, list(training.model.parameters()))


main()
