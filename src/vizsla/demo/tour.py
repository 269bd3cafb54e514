"""What `vizsla demo` does: read the installed documentation, build, measure, answer, and say how to go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shutil import get_terminal_size
from time import perf_counter
from typing import TYPE_CHECKING

from vizsla._internal.terminal import progress
from vizsla.base.retriever import Retriever
from vizsla.core.explanation import Explanation
from vizsla.demo.budget import show_budget
from vizsla.demo.methods import METHODS, Method
from vizsla.demo.python_docs import python_docs
from vizsla.errors import MissingExtraError

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset

EXAMPLES = (
    "eigenvalues of a symmetric matrix",
    "temporary file that is deleted when closed",
    "parse command line options",
)
MEASURES = ("nDCG@10", "R@10", "R@100", "RR@10")
ANNOUNCEMENT = """\
A tour on this machine's own Python: read its documentation (about 10 seconds), build every method (50 seconds or
so, most of it learning from clicks), measure them (some 20 seconds), and answer three questions."""
NEXT = """\
What to type next
  vizsla demo "sort a list in place"              your own question
  vizsla search notes/ "words"                    your own folder of .md, .txt and .html files, at once
  vizsla index bm25 items.csv --output my.idx     your own catalog: CSV, TSV, JSONL or Parquet
  vizsla search my.idx "words" --explain          search it, and see why each item is there
In Python: from vizsla.demo import python_docs; dataset = python_docs()"""


def run_demo(
    *,
    questions: Sequence[str] | None = None,
    k: int = 5,
    dataset: Dataset | None = None,
    methods: Mapping[str, Method] = METHODS,
) -> None:
    """Print the tour.

    Parameters
    ----------
    questions : sequence of str, optional
        Answer these, and nothing else: no table of quality. By default some examples are answered after the table.
    k : int
        How many items an answer shows.
    dataset : Dataset, optional
        By default the documentation of the installed Python.
    methods : mapping
        Rows of the table; the first one answers the questions, because its reasons are words.
    """
    if dataset is None and questions is None:
        print(ANNOUNCEMENT)
    dataset = _read() if dataset is None else dataset
    chosen = dict(methods) if questions is None else dict(list(methods.items())[:1])
    retrievers = _build(chosen, dataset)
    if questions is None:
        _measure(retrievers, dataset)
        show_budget(dataset, next(iter(retrievers.values())))
    name, answering = next(iter(retrievers.items()))
    for question in EXAMPLES if questions is None else questions:
        _answer(name, answering, dataset, question, k)
    if questions is None:
        print(f"\n{NEXT}")


def _read() -> Dataset:
    start = perf_counter()
    (dataset,) = progress((python_docs() for _ in range(1)), total=1, what="reading the documentation of this Python")
    train, test = (len(dataset.query_texts(split)[0]) for split in ("train", "test"))
    print(
        f"The Python on this machine: {len(dataset.items):,} documented functions, classes and methods of the standard"
        f" library, numpy and scipy, read in {perf_counter() - start:.1f} s.\n"
        f"Queries that people wrote about them: {train:,} to learn from, {test:,} held out."
    )
    return dataset


def _build(methods: Mapping[str, Method], dataset: Dataset) -> dict[str, Retriever]:
    built: dict[str, Retriever] = {}
    for name, method in progress(list(methods.items()), what="building"):
        start = perf_counter()
        built[name] = method(dataset, built)
        print(f"Built {name} in {perf_counter() - start:.2f} s: {built[name].nbytes / 1e6:.1f} MB.")
    return built


def _measure(retrievers: Mapping[str, Retriever], dataset: Dataset) -> None:
    """Print the table of quality and cost; without the extra that measures, say how to get it."""
    from vizsla.evaluation import compare

    try:
        measured = compare(retrievers, dataset, "test", MEASURES)
    except MissingExtraError as missing:
        print(f"\nNo table of quality: {missing}")
        return
    print("\nHeld-out queries: how good the answers are, and what they cost")
    measured.show()


def _answer(name: str, retriever: Retriever, dataset: Dataset, question: str, k: int) -> None:
    found = retriever(question, k)
    if not found[0]:
        print(f'\n"{question}": nothing found. Use other words.')
        return
    print(f'\n"{question}" ({name}, {found.stats.ms:.2f} ms)')
    width = get_terminal_size().columns
    for rank, hit in enumerate(found[0], 1):
        print(_cut(f"  {rank}. {hit.id}  {_summary(dataset, hit.id)}", width))
        print(_cut(f"       {_why(retriever.explain(question, hit.id))}", width))


def _summary(dataset: Dataset, item: str) -> str:
    return str(dataset.items.get(item).metadata.get("summary", ""))


def _why(explanation: Explanation) -> str:
    """Say the explanation in one line: its largest shares, each by the head of its reason."""
    shares = sorted(explanation.parts, key=lambda part: -part.score)[:4]
    said = (f"{share.reason.partition(':')[0]} {share.score:.1f}" for share in shares if share.score > 0)
    return ", ".join(said) or explanation.reason


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: max(width - 1, 0)] + "…"
