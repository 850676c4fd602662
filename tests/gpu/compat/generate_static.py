"""generate() of transformers with a static cache, for which it compiles the model with reduce-overhead on its own."""

import tiny_llama
from tiny_llama import common, torch

model, tokens, mask = tiny_llama.make()
with torch.no_grad():
    results = [
        model.generate(tokens, attention_mask=mask, max_new_tokens=24, do_sample=False, cache_implementation="static").cpu()
        for _ in range(3)
    ]
assert torch.equal(results[0], results[2])
common.done(results)
