"""A catalog, clicks, and a BERT of a few thousand random numbers."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

import vizsla
from vizsla import Dataset
from vizsla.methods import TokenRetriever
from vizsla.text import WordPiece

FRUIT = ["fig", "pear", "plum", "apple", "grape", "lemon"]
THINGS = ["tree", "juice", "car", "tart", "garden", "market"]
ITEMS = {f"{fruit}-{thing}": f"a {fruit} {thing} in the old town" for fruit in FRUIT for thing in THINGS}
WORDS = {"auto": "car", "cake": "tart", "orchard": "garden", "shop": "market", "drink": "juice", "plant": "tree"}


def dataset(seed: int = 0) -> Dataset:
    """Return clicks whose queries name the thing by another word."""
    rng, names = np.random.default_rng(seed), list(WORDS)
    pairs = [(FRUIT[a], names[b]) for a, b in rng.integers(0, 6, (60, 2)).tolist()]
    queries = {str(number): f"{fruit} {word} please {number % 7}" for number, (fruit, word) in enumerate(pairs)}
    clicks = {str(number): {f"{fruit}-{WORDS[word]}": 1} for number, (fruit, word) in enumerate(pairs)}
    return Dataset.of(ITEMS, queries=queries, clicks=clicks)


def tokens() -> list[str]:
    """Return the tiny model's vocabulary."""
    words = {word for text in ITEMS.values() for word in text.split()} | {"please", *map(str, range(10))}
    return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(words | set(WORDS))]


@cache
def model_folder(*, head: bool = False) -> Path:
    """Write a random BERT, with a masked-language-model head or without."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertModel

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(tokens()), max_position_embeddings=32, initializer_range=0.3, **sizes)
    folder = Path(mkdtemp(prefix="vizsla-sidr-"))
    (BertForMaskedLM if head else BertModel)(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(tokens()) + "\n")
    assert json.loads((folder / "config.json").read_text())["model_type"] == "bert"
    return folder


def tiny_base() -> TokenRetriever:
    """Return the items' bag over the model's tokens."""
    return vizsla.tokens(ITEMS, analyzer=WordPiece(tokens()))
