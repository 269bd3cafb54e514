"""A BERT of a few numbers, built where a test needs a transformer."""

from __future__ import annotations

from pathlib import Path

import pytest

WORDS = ["fig", "pear", "apple", "plum", "quince", "tree", "leaf", "root", "seed", "bark", "river", "stone"]


def tiny_bert(folder: Path, *, head: bool = True, seed: int = 0) -> Path:
    """Write a random BERT with a vocabulary of fruits into a folder, and return it."""
    torch = pytest.importorskip("torch", reason="the extra neural is not installed")
    transformers = pytest.importorskip("transformers", reason="the extra neural is not installed")
    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(seed)
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=48)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64, num_labels=1, initializer_range=0.5,
    )  # fmt: skip
    kind = transformers.BertForSequenceClassification if head else transformers.BertModel
    kind(config).save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return folder
