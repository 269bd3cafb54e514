"""A seeded click log of any size: items of a few words within topics, and queries that share some of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WORDS = 60_000
SYLLABLES = [a + b for a in "bdfgklmnprstv" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]
TITLE, HIDDEN = 6, 2
"""So many words an item shows, and so many it does not: people ask for it by both, and only clicks teach the latter."""
QUERIES_PER_ITEM = 2.5
TEST_QUERIES = 4000

Numbers = NDArray[np.int64]


def write_log(folder: Path, items: int, *, seed: int = 0) -> Path:
    """Write a data set with `items` items and 2.5 queries for each; return its folder.

    A topic owns a stretch of the vocabulary, over which its words are Zipfian; a third of the words come from the whole
    vocabulary. Popular items get more queries, every item at least one.

    Parameters
    ----------
    folder : Path
        Where to write `corpus.jsonl`, `queries.jsonl` and `qrels/`.
    items : int
        How many items.
    seed : int
        Of everything.
    """
    pick = np.random.default_rng(seed)
    vocabulary = np.array(_vocabulary(pick), dtype=object)
    words = _item_words(items, pick)
    asked = _asked_items(items, pick)
    questions = _question_words(words[asked], pick)
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    _write_texts(folder / "corpus.jsonl", "i", vocabulary, words[:, :TITLE])
    _write_texts(folder / "queries.jsonl", "q", vocabulary, questions)
    _write_qrels(folder / "qrels", asked, pick)
    return folder


def _vocabulary(pick: np.random.Generator) -> list[str]:
    """Return different words of two or three syllables."""
    count = len(SYLLABLES)
    codes = pick.permutation(count**3)[:WORDS]
    first, second, third = codes // count**2, codes // count % count, codes % count
    return [SYLLABLES[a] + SYLLABLES[b] + SYLLABLES[c] for a, b, c in zip(first, second, third, strict=True)]


def _zipf(shape: tuple[int, ...], most: int, pick: np.random.Generator) -> Numbers:
    """Draw ranks from 0 to `most` - 1; rank r comes up about 1 / (r + 3) as often."""
    drawn = np.exp(pick.random(shape) * np.log((most + 3) / 3)) * 3 - 3
    return np.minimum(drawn.astype(np.int64), most - 1)


def _item_words(items: int, pick: np.random.Generator) -> Numbers:
    topics = max(items // 400, 20)
    shape = (items, TITLE + HIDDEN)
    begins = (pick.integers(0, topics, items) * (WORDS // topics))[:, None]
    within = (begins + _zipf(shape, 2000, pick)) % WORDS
    return np.where(pick.random(shape) < 1 / 3, _zipf(shape, WORDS, pick), within)


def _asked_items(items: int, pick: np.random.Generator) -> Numbers:
    more = pick.permutation(items)[_zipf((int(items * (QUERIES_PER_ITEM - 1)),), items, pick)]
    return pick.permutation(np.concatenate([np.arange(items), more]))


def _question_words(words: Numbers, pick: np.random.Generator) -> Numbers:
    """Return for each row three of its words, or two where the last is -1, one of them perhaps replaced by noise."""
    order = np.argsort(pick.random(words.shape), axis=1)[:, :3]
    chosen = np.take_along_axis(words, order, axis=1)
    noisy = pick.random(len(words)) < 0.2
    chosen[noisy, 1] = _zipf((int(noisy.sum()),), WORDS, pick)
    chosen[pick.random(len(words)) < 0.3, 2] = -1
    return chosen


def _write_texts(file: Path, prefix: str, vocabulary: NDArray[np.object_], rows: Numbers) -> None:
    kept = rows >= 0
    texts = (" ".join(words[keep]) for words, keep in zip(vocabulary[rows], kept, strict=True))
    _write_lines(file, (f'{{"_id": "{prefix}{number}", "text": "{text}"}}\n' for number, text in enumerate(texts)))


def _write_qrels(folder: Path, asked: Numbers, pick: np.random.Generator) -> None:
    """Keep the first query of every item for training, and test with some of the others."""
    first = np.zeros(len(asked), dtype=np.bool_)
    first[np.unique(asked, return_index=True)[1]] = True
    test = np.zeros(len(asked), dtype=np.bool_)
    test[pick.permutation(np.flatnonzero(~first))[:TEST_QUERIES]] = True
    for name, rows in {"train": np.flatnonzero(~test), "test": np.flatnonzero(test)}.items():
        pairs = zip(rows.tolist(), asked[rows].tolist(), strict=True)
        lines = (f"q{query}\ti{item}\t1\n" for query, item in pairs)
        _write_lines(folder / f"{name}.tsv", ["query-id\tcorpus-id\tscore\n", *lines])


def _write_lines(file: Path, lines: Iterable[str]) -> None:
    with file.open("w", encoding="utf-8") as out:
        out.writelines(lines)
