"""Generated queries as clicks for PEFA, as the paper adds them: what they give items with and without clicks.

    python -m benchmarks.pefa_generated [--sets tldr squad-sent] [--base tfidf|minilm]

Titles and a few words in a row of a sentence are the queries (`vizsla.learning.pseudo_clicks`), a click on their item
each. The paper's are by a trained docT5query, which `generate=` would take.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.minilm_vectors import minilm_vectors
from benchmarks.paper_tables import SPLITS, PaperTable, recalls, shown, tested
from benchmarks.pefa_collection import Collection
from vizsla.base.encoder import FunctionEncoder
from vizsla.learning import pseudo_clicks
from vizsla.methods.dense import dense
from vizsla.methods.pefa import pefa_xl, pefa_xs
from vizsla.methods.tfidf import tfidf
from vizsla.typing import Float64Array

DEPTHS = (10, 100)


def generated(name: str, base_name: str) -> PaperTable:
    """Measure PEFA with the log, with the log and generated queries, and with these alone."""
    one = Collection(name)
    made = pseudo_clicks(one.data)
    base: Any = tfidf(one.data) if base_name == "tfidf" else _dense(one, [text for text, _, _ in made])
    logs = {"log": one.clicks(1.0), "log, generated": [*one.clicks(1.0), *made], "generated": made}
    cells, found = [], {}

    def add(label: tuple[str, str], system: Any) -> None:
        each: dict[str, Float64Array] = {split: recalls(one.data, system, split, DEPTHS) for split in SPLITS}
        found[label] = each
        cells.append([*label, *(cell for split in SPLITS for cell in shown(each[split].mean(axis=0)))])

    add((base_name, ""), base)
    for clicks, log in logs.items():
        add(("XS, Eq. 8 to the letter", clicks), pefa_xs(base, log, paper=True))
        if base_name == "minilm":
            add(("XL, Eq. 6 to the letter", clicks), pefa_xl(base, log, paper=True))
        add(("XS, default", clicks), pefa_xs(base, log))
    notes = [
        tested(f"{label}: generated queries beside the log, {split} R@10", both[split][:, 0], alone[split][:, 0])
        for (label, clicks), both in found.items()
        if clicks == "log, generated"
        for alone in (found[label, "log"],)
        for split in SPLITS
    ]
    return PaperTable(["", "clicks", *(f"{split} R@{depth}" for split in SPLITS for depth in DEPTHS)], cells, notes)


def _dense(one: Collection, texts: list[str]) -> Any:
    """Return flat search over MiniLM's vectors, whose encoder knows the generated queries, too."""
    known = set(one.data.query_texts()[1])
    new = [text for text in dict.fromkeys(texts) if text not in known]
    rows = dict(zip(new, minilm_vectors(new, max_tokens=32), strict=True))

    def encode(asked: list[str]) -> np.ndarray:
        stored = iter(one.encoder.queries([text for text in asked if text not in rows]))
        return np.stack([rows[text] if text in rows else next(stored) for text in asked])

    return dense(one.data, FunctionEncoder(encode, dim=one.vectors.shape[1], name="minilm"), vectors=one.vectors)


def main() -> None:
    """Print a table for every set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pefa_generated", description=__doc__)
    parser.add_argument("--sets", nargs="+", default=["tldr", "squad-sent"])
    parser.add_argument("--base", choices=["tfidf", "minilm"], default="tfidf")
    given = parser.parse_args()
    for name in given.sets:
        print(f"{name}, {given.base}\n\n{generated(name, given.base).to_markdown()}\n", flush=True)


if __name__ == "__main__":
    main()
