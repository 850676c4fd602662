"""A small causal decoder of transformers with random weights, and texts to go on from; nothing is loaded."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import common

torch = common.need_torch(deterministic=False)
transformers = common.need("transformers")


def make():
    config = transformers.LlamaConfig(
        vocab_size=1000, hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=256, bos_token_id=1, eos_token_id=None, pad_token_id=0,
    )
    model = transformers.LlamaForCausalLM(config).cuda().eval()
    tokens = torch.randint(2, 1000, (4, 12), device="cuda")
    return model, tokens, torch.ones_like(tokens)
