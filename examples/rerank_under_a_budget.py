"""Re-rank with an expensive scorer: a budget refuses the call that would exceed it, a cache never pays twice."""

import tempfile
from pathlib import Path

import vizsla
from vizsla.errors import BudgetError

items = {"fig": "a small fig tree", "apple": "an apple tree", "pear": "pears in autumn"}


def shared_letters(query: str, texts: list[str]) -> list[float]:
    """Stand in for a cross-encoder."""
    return [float(len(set(query) & set(text))) for text in texts]


with tempfile.TemporaryDirectory() as folder:
    scorer = vizsla.FunctionScorer(shared_letters, items, name="shared letters 1")
    paid = vizsla.Budget(vizsla.ScoreCache(scorer, Path(folder) / "scores.db"), calls=3)
    search = vizsla.bm25(items) >> paid
    print(search("tree").ids[0], "spent:", paid.spent)
    print("asked again, model calls:", search("tree").stats.model_calls, "spent:", paid.spent)
    try:
        search(["apple pears fig", "tree in autumn"])
    except BudgetError as error:
        print(error)
