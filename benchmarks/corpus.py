"""Passages and queries for benchmarks: real texts, spliced by a seeded script, cleaned once for everybody."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from vizsla.text.languages import STOP_WORDS

SETS = ("squad-sent", "debian-synopsis", "wordnet-senses", "cranfield", "tldr", "xquad-en")
QUERY_SETS = ("squad-sent", "debian-synopsis", "cranfield", "xquad-en")
WORD = re.compile(r"[a-z0-9]{2,}")
DROPPED = frozenset(STOP_WORDS["english"])


def data_folder() -> Path:
    """Return the folder of real texts: $VIZSLA_DATA, or the one beside the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("VIZSLA_DATA", beside))
    if not folder.is_dir():
        raise SystemExit(f"The benchmark's texts are missing at {folder}. Point $VIZSLA_DATA to them.")
    return folder


def clean(text: str) -> list[str]:
    """Return the content words, lower-cased: what every engine is given, so that all do the same work."""
    return [word for word in WORD.findall(text.lower()) if word not in DROPPED]


def texts_of(file: str, sets: tuple[str, ...]) -> Iterator[str]:
    """Yield the texts of some sets as they are."""
    for name in sets:
        with gzip.open(data_folder() / name / file, "rt", encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                yield f"{record.get('title') or ''} {record['text']}"


def passages(count: int, *, seed: int = 7) -> Iterator[str]:
    """Yield cleaned passages that were about 90 words long before stop words went.

    A passage is made of pieces of up to 60 words, each cut from one real text at a seeded random place.
    """
    words = [text.split() for text in texts_of("corpus.jsonl.gz", SETS)]
    # A text is drawn in proportion to its length, as a passage collection would be cut from long documents.
    lengths = np.array([len(text) for text in words], dtype=np.float64)
    edges = np.cumsum(lengths) / lengths.sum()
    random = np.random.default_rng(seed)
    for _ in range(count):
        yield " ".join(clean(" ".join(_splice(words, edges, random))))


def _splice(words: list[list[str]], edges: np.ndarray, random: np.random.Generator) -> list[str]:
    wanted = int(random.integers(60, 121))
    passage: list[str] = []
    while len(passage) < wanted:
        text = words[min(int(np.searchsorted(edges, random.random())), len(words) - 1)]
        piece = min(wanted - len(passage), 60)
        start = int(random.integers(0, max(len(text) - piece, 0) + 1))
        passage += text[start : start + piece]
    return passage


def queries(count: int, *, seed: int = 7) -> list[str]:
    """Return cleaned real queries of 6 to 9 content words."""
    fitting = [words for words in map(clean, texts_of("queries.jsonl.gz", QUERY_SETS)) if 6 <= len(words) <= 9]
    chosen = np.random.default_rng(seed).permutation(len(fitting))[:count]
    return [" ".join(fitting[number]) for number in chosen]
