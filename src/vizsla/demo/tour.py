"""What `vizsla demo` does: read the installed documentation, build, measure, answer, and say how to go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from shutil import get_terminal_size
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.terminal import print_table, progress
from vizsla.base.retriever import Retriever
from vizsla.core.explanation import Explanation
from vizsla.demo.python_docs import python_docs
from vizsla.errors import MissingExtraError
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import adacur, residual_cur, score_anchors
from vizsla.methods.cur.anchors import anchor_queries
from vizsla.methods.cur.plan import best_places
from vizsla.scorers.text import FunctionScorer
from vizsla.typing import Uint64Array

if TYPE_CHECKING:
    from vizsla.base.retriever import Retriever
    from vizsla.data.dataset import Dataset


Method = Callable[["Dataset", Mapping[str, Retriever]], Retriever]
"""Builds a retriever over a dataset's items, perhaps from those built before it, which come by name.

It may learn from the split "train", never from "test".
"""


def _bm25(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.bm25 import bm25
    from vizsla.text.analyzers import Analyzer

    # Without them "is" and "that" would fill the explanations; the quality is the same within chance.
    return bm25(dataset, analyzer=Analyzer(stop_words="english"))


def _tokens(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.tokens.model import tokens

    return tokens(dataset, epochs=0)


def _learned_tokens(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.tokens.model import TokenRetriever
    from vizsla.methods.tokens.train_tokens import train_tokens

    base = built["tokens"]
    return train_tokens(base, dataset, epochs=3) if isinstance(base, TokenRetriever) else base


def _lsa(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.encoders.lsa import LsaEncoder
    from vizsla.methods.dense import dense

    return dense(dataset, LsaEncoder.fit(item.default_text() for item in dataset.items))


def _xrlinear(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.xrlinear.build import xrlinear

    return xrlinear(dataset, threads=2)


def _tfidf(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.tfidf import tfidf

    return tfidf(dataset)


def _tfidf_pefa(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.pefa import pefa_xs
    from vizsla.methods.tfidf import Tfidf

    base = built["tfidf"]
    return pefa_xs(base, dataset) if isinstance(base, Tfidf) else base


def _both(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    return built["bm25"].normalized() + built["xrlinear"].normalized()


def _pefa_xs(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.dense import Dense
    from vizsla.methods.pefa import pefa_xs

    base = built["lsa"]
    return pefa_xs(base, dataset) if isinstance(base, Dense) else base


def _pefa_xl(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.pefa import pefa_xl

    return pefa_xl(built["lsa"], dataset)


def _fused(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.fusion import fuse

    return fuse({name: built[name] for name in ("bm25", "xrlinear", "tfidf + pefa-xs")}, dataset, threads=2)


def _jpq(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.dense import Dense
    from vizsla.methods.jpq.train_jpq import jpq

    base = built["lsa"]
    if not isinstance(base, Dense):
        return base
    size = min(16, base.index.dim)
    # Whatever is not given would be tried on held-out clicks, which takes a minute.
    return jpq(
        base,
        dataset,
        bytes=size,
        rounds=5,
        click_loss_weight=0.5,
        epochs=2,
        stop=2,
        reassignments=1,
        clicked_margin=0.0,
    )


METHODS: dict[str, Method] = {
    "bm25": _bm25,
    "tokens": _tokens,
    "learned tokens": _learned_tokens,
    "tfidf": _tfidf,
    "tfidf + pefa-xs": _tfidf_pefa,
    "lsa": _lsa,
    "lsa + pefa-xs": _pefa_xs,
    "lsa + pefa-xl": _pefa_xl,
    "lsa + jpq": _jpq,
    "xrlinear": _xrlinear,
    "bm25 + xrlinear": _both,
    "fused": _fused,
}


# Alignment of strings: how much of two texts can be laid over each other, letter by letter.
#
# It stands in the demo for an expensive scorer: it reads both texts, and no index supports it.

HASHED_WORD_BITS = 64


def alignment(query: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return for each text 2 · common / (letters of both), where `common` is the longest common subsequence.

    All texts advance together, a letter a step, each with a row of the table of alignments as bits (Hyyrö 2004).

    Examples
    --------
    >>> alignment("fig tree", ["fig tree", "fig tr  ", "xyz"]).tolist()
    [1.0, 0.75, 0.0]
    """
    codes, lengths = _codes(texts)
    masks = _masks(query, int(codes.max(initial=0)))
    rows = np.full((len(texts), masks.shape[1]), ~np.uint64(0))
    order = np.argsort(-lengths, kind="stable")
    longer = np.searchsorted(-lengths[order], -np.arange(codes.shape[1]), side="left")
    for step, count in enumerate(longer.tolist()):
        at = order[:count]
        rows[at] = _advanced(rows[at], masks[codes[at, step]])
    common = np.bitwise_count(~rows & _used(len(query), masks.shape[1])).sum(axis=1)
    return np.asarray(2 * common / np.maximum(1, len(query) + lengths), np.float32)


def _codes(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the letters of each text as numbers, filled up with 0, and the lengths."""
    lengths = np.array([len(text) for text in texts], np.int64)
    codes = np.zeros((len(texts), int(lengths.max(initial=0))), np.int64)
    codes[np.arange(codes.shape[1]) < lengths[:, None]] = list(map(ord, "".join(texts)))
    return codes, lengths


def _masks(query: str, largest: int) -> Uint64Array:
    """Return for each letter its places in the query, as bits."""
    masks = np.zeros((1 + max(largest, *map(ord, query), 0), max(1, -(-len(query) // HASHED_WORD_BITS))), np.uint64)
    for place, letter in enumerate(query):
        masks[ord(letter), place // HASHED_WORD_BITS] |= np.uint64(1 << place % HASHED_WORD_BITS)
    return masks


def _advanced(rows: Uint64Array, places: Uint64Array) -> Uint64Array:
    """Return the rows after one more letter; an addition carries from word to word."""
    carry, advanced = np.zeros(len(rows), np.uint64), np.empty_like(rows)
    for word in range(rows.shape[1]):
        row, both = rows[:, word], rows[:, word] & places[:, word]
        half = row + both
        total = half + carry
        carry = ((half < row) | (total < half)).astype(np.uint64)
        advanced[:, word] = total | (row & ~places[:, word])
    return advanced


def _used(letters: int, words: int) -> Uint64Array:
    bits = (1 << letters) - 1
    return np.array([(bits >> HASHED_WORD_BITS * word) & (2**HASHED_WORD_BITS - 1) for word in range(words)], np.uint64)


ANCHORS, QUESTIONS, CALLS, BEST, LETTERS = 40, 10, 100, 10, 60


def show_budget(dataset: Dataset, first: Retriever) -> None:
    """Print how many of the best items by alignment each way of spending 100 calls a query finds.

    Parameters
    ----------
    dataset : Dataset
        With clicks and a split "test".
    first : Retriever
        The retriever to re-rank, and the prior.
    """
    texts = {item.id: item.default_text()[:LETTERS] for item in dataset.items}
    asked = list(dict.fromkeys(dataset.query_texts("test")[1]))[:QUESTIONS]
    if len(texts) <= 2 * CALLS or not asked:
        return
    scorer = FunctionScorer(alignment, texts, name="alignment 1")
    anchors = score_anchors(scorer, anchor_queries(dataset, ANCHORS))
    heads = bm25(texts)
    ways = {
        "re-ranking bm25": first.rerank(scorer, depth=CALLS),
        "adacur": adacur(scorer, anchors, budget=CALLS, first=heads),
        "residual cur": residual_cur(scorer, anchors, heads, budget=CALLS, rank=ANCHORS // 2, ridge=0.1),
    }
    exact = np.stack([alignment(query, list(texts.values())) for query in asked])
    rows = []
    for name, way in ways.items():
        found = way(asked, k=CALLS)
        share = [np.isin(best_places(row, BEST), found.row(at)[0]).mean() for at, row in enumerate(exact)]
        rows.append([name, f"{found.stats.model_calls / len(asked):.0f}", f"{np.mean(share):.2f}"])
    print(
        "\nAn expensive scorer, alignment of strings, under a budget: calls a query, and what they find of its best 10"
    )
    print_table(["way", f"calls of {len(texts):,}", "found"], rows)


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
