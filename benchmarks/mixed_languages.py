"""One catalog in twelve languages against each language alone: nDCG@10 of the default BM25 on xquad-mixed.

`python -m benchmarks.analyzers --mixed` runs it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.corpus import data_folder
from benchmarks.rows import Row
from vizsla._internal.terminal import markdown_table
from vizsla.data.dataset import Dataset
from vizsla.evaluation.evaluate import evaluate
from vizsla.methods.bm25 import Bm25, bm25
from vizsla.text.analyzers import Analyzer

NAME = "xquad-mixed"
MEASURE = "nDCG@10"
DEPTH = 10
MEAN_WITHIN = 0.01
"""How far the mean over languages may be below that of each language alone."""
EACH_WITHIN = 0.02
"""How far a single language may be below."""
SINGLE = {
    "ar": "arabic", "de": "german", "el": "greek", "en": "english", "es": "spanish", "hi": "hindi", "ro": "romanian",
    "ru": "russian", "th": "cjk", "tr": "turkish", "vi": "words", "zh": "cjk",
}  # fmt: skip
"""The preset (`Analyzer.named`) that suits each language by itself."""

Answers = dict[str, dict[str, float]]
Figures = dict[str, dict[str, float]]


def mixed_rows(splits: tuple[str, ...] = ("train", "test")) -> list[Row]:
    """Print a table of languages for all questions of the splits; return a row for each and one for their mean."""
    figures = measured(Dataset.open(data_folder() / NAME), splits)
    mean = {
        column: float(np.mean([row[column] for row in figures.values()])) for column in next(iter(figures.values()))
    }
    cells = [
        [language, *(f"{row[c]:.3f}" for c in ("mixed", "alone")), f"{row['mixed'] - row['alone']:+.3f}",
         f"{row['preset']:.3f}", f"{row['elsewhere']:.0%}"]
        for language, row in {**figures, "mean": mean}.items()
    ]  # fmt: skip
    header = ["language", "mixed", "alone", "difference", "alone, preset", "hits in other languages"]
    print(markdown_table(header, cells), end="\n\n")
    rows = [_row(language, row, EACH_WITHIN) for language, row in figures.items()]
    return [*rows, _row("mean of languages", mean, MEAN_WITHIN)]


def _row(what: str, row: Mapping[str, float], within: float) -> Row:
    work, limit = f"{MEASURE}, {NAME} {what}", row["alone"] - within
    return Row(work, row["mixed"], f"alone - {within}", limit, "", ">= 1.0", False)


def measured(dataset: Dataset, splits: tuple[str, ...]) -> Figures:
    """Return each language's figures over the questions of all splits together."""
    texts = {item.id: item.default_text() for item in dataset.items}
    asked = {id: text for split in splits for id, text in zip(*dataset.query_texts(split), strict=True)}
    mixed = bm25(texts)
    answers: dict[str, Answers] = {"mixed": {}, "alone": {}, "preset": {}}
    for language in sorted({id[:2] for id in texts}):
        own = {id: text for id, text in texts.items() if id[:2] == language}
        queries = {id: text for id, text in asked.items() if id[:2] == language}
        systems = {"mixed": mixed, "alone": bm25(own), "preset": bm25(own, analyzer=Analyzer.named(SINGLE[language]))}
        for name, system in systems.items():
            answers[name] |= _answers(system, queries)
    values = {name: _values(found, dataset, splits) for name, found in answers.items()}
    return {language: _figures(language, values, answers["mixed"]) for language in sorted(SINGLE)}


def _answers(system: Bm25, queries: Mapping[str, str]) -> Answers:
    found = system(list(queries.values()), k=DEPTH)
    return found.with_query_ids(list(queries)).to_dict()


def _values(answers: Answers, dataset: Dataset, splits: tuple[str, ...]) -> dict[str, float]:
    found: dict[str, float] = {}
    for split in splits:
        evaluated = evaluate(answers, dataset, split, [MEASURE], name="run")
        found |= dict(zip(evaluated.query_ids, evaluated.per_query[MEASURE].tolist(), strict=True))
    return found


def _figures(language: str, values: Mapping[str, Mapping[str, float]], answers: Answers) -> dict[str, float]:
    figures = {
        name: float(np.mean([v for id, v in by_id.items() if id[:2] == language])) for name, by_id in values.items()
    }
    hits = [item[:2] != language for id, row in answers.items() if id[:2] == language for item in row]
    return figures | {"elsewhere": float(np.mean(hits))}
