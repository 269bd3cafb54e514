"""What a live BM25 member costs beside a plain index: searching, adding, removing, opening, writing.

Run: python benchmarks/engine_lexical.py [--items 100000] [--words 90]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import numpy as np

from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.data.dataset import Dataset
from vizsla.engine.lexical_member import Bm25Member
from vizsla.engine.member import SlotRetriever
from vizsla.text.analyzers import AnyLanguage


def made_texts(rng: np.random.Generator, count: int, words: int, vocabulary: int = 200_000) -> Iterator[str]:
    """Yield texts of about so many words, which are as frequent as in a language."""
    shares = 1 / np.arange(2, vocabulary + 2) ** 1.05
    ends = np.cumsum(shares / shares.sum())
    letters = str.maketrans("0123456789", "bcdfgklmnp")
    names = [f"a{number}o".translate(letters) for number in range(vocabulary)]
    for _ in range(0, count, 1000):
        lengths = rng.integers(words // 2, words * 3 // 2, 1000)
        numbers = np.searchsorted(ends, rng.random(lengths.sum()) * ends[-1])
        for row in np.split(numbers, np.cumsum(lengths)[:-1]):
            yield " ".join(names[number] for number in row.tolist())


def timed(what: str, calls: list[Callable[[], object]]) -> float:
    """Run calls one after another and print how long they took."""
    taken = []
    for call in calls:
        start = perf_counter()
        call()
        taken.append((perf_counter() - start) * 1e3)
    middle, late = np.percentile(taken, [50, 99])
    print(f"{what:46} p50 {middle:8.3f} ms   p99 {late:8.3f} ms", flush=True)
    return float(middle)


def main() -> None:
    """Print a line for each kind of work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=90)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    texts = list(made_texts(rng, given.items + 5000, given.words))
    texts, more = texts[: given.items], texts[given.items :]
    asked = [" ".join(rng.choice(text.split(), 4, replace=False)) for text in rng.choice(more, 400)]
    recipe = Recipe.of("bm25", analyzer=AnyLanguage("english"))
    start = perf_counter()
    plain = recipe.build(Dataset.of(texts))
    print(f"plain build {perf_counter() - start:.1f} s, {plain.nbytes / given.items:,.0f} bytes per item")
    member = Bm25Member(recipe, Bm25Member.settle(recipe, [], {}), {})
    with tempfile.TemporaryDirectory() as folder:
        start = perf_counter()
        for first in range(0, given.items, 10_000):
            member.append(texts[first : first + 10_000])
        print(f"live appends {perf_counter() - start:.1f} s")
        start = perf_counter()
        member.write(Path(folder) / "all", np.arange(given.items, dtype=np.int32))
        print(f"write {perf_counter() - start:.1f} s")
        timed("open", [lambda: member.open([Path(folder) / "all"], [given.items])] * 1)
        size = sum(file.stat().st_size for file in (Path(folder) / "all").iterdir())
        print(f"{size / given.items:,.0f} bytes per item on disk")
        live = SlotRetriever(plain.items, member.view(None), None)
        for name, retriever in (("plain search", plain), ("live search", live)) * 2:
            timed(name, [lambda query=query, each=retriever: each(query, 10) for query in asked])  # type: ignore[misc]
        view = member.view(None)
        for share in (0.001, 0.01, 0.5):
            allowed = rng.random(given.items) < share
            timed(f"live search, filter {share:.1%}", [
                lambda query=query, mask=allowed: view.search(Queries([query]), 10, mask, 1) for query in asked  # type: ignore[misc]
            ])  # fmt: skip

        def add(first: int) -> None:
            member.append(more[first : first + 100])
            member.view(None)

        timed("add 100 and view", [lambda first=first: add(first) for first in range(0, 5000, 100)])  # type: ignore[misc]
        changing = member.view(None)
        timed("live search, with 5,000 in memory", [
            lambda query=query: changing.search(Queries([query]), 10, None, 1) for query in asked  # type: ignore[misc]
        ])  # fmt: skip
        gone = rng.permutation(given.items)[:10_000].astype(np.int32).reshape(-1, 1000)

        def remove(slots: np.ndarray) -> None:
            member.remove(np.sort(slots), list)
            member.view(None)

        timed("remove 1,000 and view", [lambda slots=slots: remove(slots) for slots in gone])  # type: ignore[misc]
        after = member.view(None)
        timed("live search, with 10,000 removed", [
            lambda query=query: after.search(Queries([query]), 10, None, 1) for query in asked  # type: ignore[misc]
        ])  # fmt: skip


if __name__ == "__main__":
    main()
