"""A small catalog with clicks, judgments and saved models, for commands that are stopped in the middle."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import vizsla

ITEMS, CLICKS, WORDS, LENGTH = 1500, 3000, 2000, 30


def make_data(folder: Path) -> None:
    """Fill a folder; words are as unequally common as in any language, and a small BERT knows one of them.

    The answers to `few.tsv` fit into a pipe.
    """
    pick = np.random.default_rng(0)
    drawn = np.minimum(pick.zipf(1.3, (ITEMS, LENGTH)), WORDS)
    items = {f"i{number}": " ".join([*(f"w{word}" for word in row), "fig"]) for number, row in enumerate(drawn)}
    asked = [(number % ITEMS, pick.choice(drawn[number % ITEMS], 4)) for number in range(CLICKS)]
    queries = [(" ".join(f"w{word}" for word in words), f"i{item}") for item, words in asked]
    _write(folder / "items.tsv", items.items())
    _write(folder / "new.tsv", ((f"new {item}", text) for item, text in list(items.items())[:300]))
    _write(folder / "clicks.tsv", ((query, item, 1) for query, item in queries))
    _write(folder / "queries.tsv", ((f"q{number}", query) for number, (query, _) in enumerate(queries[:300])))
    _write(folder / "few.tsv", ((f"q{number}", query) for number, (query, _) in enumerate(queries[:40])))
    judged = (f"q{number} 0 {item} 1\n" for number, (_, item) in enumerate(queries[:300]))
    (folder / "qrels.txt").write_text("".join(judged))
    ranks = range(1, 101)
    answers = (
        f"q{number} Q0 i{(number + 7 * rank) % ITEMS} {rank} {-rank} made\n" for number in range(300) for rank in ranks
    )
    (folder / "made.run").write_text("".join(answers))
    (folder / "ids.txt").write_text("".join(f"i{number}\n" for number in range(0, ITEMS, 3)))
    _save(folder, items)


def _write(file: Path, rows) -> None:
    file.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))


def _save(folder: Path, items: dict[str, str]) -> None:
    lsa = vizsla.encoders.LsaEncoder.fit(items.values(), dim=16)
    vizsla.bm25(items).save(folder / "bm25")
    vizsla.bm25(dict(list(items.items())[:700])).save(folder / "old")
    vizsla.tokens(items).save(folder / "tokens")
    vizsla.dense(items, lsa).save(folder / "dense")
    vizsla.dense(items, lsa, index="hnsw", M=8, ef=16).save(folder / "hnsw")
    vizsla.dense(items, lsa, index="pq", bytes=8).save(folder / "pq")
    with vizsla.Engine.create(folder / "live", members={"words": vizsla.Recipe.of("bm25")}) as engine:
        engine.add(items)
    late = vizsla.scorers.LateParametric(lsa, items, folder / "vectors.db")
    (vizsla.bm25(items) >> late)("w3")
    late.close()
