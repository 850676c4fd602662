"""generate() of transformers with its usual cache, which grows with every token; greedy and by sampling."""

import tiny_llama
from tiny_llama import common, torch

model, tokens, mask = tiny_llama.make()


def generate(number):
    torch.manual_seed(number)
    found = model.generate(tokens, attention_mask=mask, max_new_tokens=40, do_sample=number % 2 == 1)
    return found.cpu()


with torch.no_grad():
    results = common.steps(generate, 8)
common.done(results)
