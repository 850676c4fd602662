"""sentence-transformers: texts to vectors by a model made here, with random weights."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import importlib

import common

torch = common.need_torch(deterministic=False)
package = common.need("sentence_transformers")
common.need("tokenizers")
import numpy
from tokenizers import Tokenizer, models, pre_tokenizers


def find_class(name):
    """Versions keep it in different places."""
    for place in ("models", "sentence_transformer.modules"):
        try:
            return getattr(importlib.import_module(f"sentence_transformers.{place}"), name)
        except (ImportError, AttributeError):
            pass
    return common.absent(name)


WORDS = ["[UNK]"] + [f"word{number}" for number in range(500)]
tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
weights = numpy.random.default_rng(0).standard_normal((len(WORDS), 384)).astype(numpy.float32)
words = find_class("StaticEmbedding")(tokenizer, embedding_weights=weights)
model = package.SentenceTransformer(modules=[words], device="cuda")
texts = [" ".join(WORDS[1 + number * step % 500] for step in range(1, 3 + number % 40)) for number in range(400)]
results = [model.encode(texts, batch_size=size, show_progress_bar=False, normalize_embeddings=True) for size in (16, 64)]
similar = model.similarity(results[0], results[1])
assert numpy.allclose(results[0], results[1], atol=1e-4) and bool((similar.diagonal() > 0.999).all())
common.done(results)
