"""A search without clicks: queries made of the items' texts, fusion without labels, and tokens taught by a teacher."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from vizsla.autopilot.fusing import SearchPlan
from vizsla.autopilot.proposals import BASELINE, VECTORS
from vizsla.autopilot.searches import Searches
from vizsla.base.retriever import Retriever
from vizsla.core.validation import generator
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.learning.query_mix import WARM, Mix
from vizsla.methods.tokens.model import TokenRetriever, tokens

MAX_ITEMS = 10_000
"""Maximum number of items, drawn at random, that queries are made from."""
SPAN_WORDS = (3, 7)
TEACHER_HITS = 5
"""So many of the teacher's best hits count as clicks, the r-th as 1 / r of one."""
TAUGHT_EPOCHS = 2
"""What was measured on squad-sent: R@10 .839 seen and .835 unseen, BM25 .823 and .811."""
EQUAL_SUM = "0.5*{}.normalized('zscore') + 0.5*{}.normalized('zscore')"
"""How two parts are added without labels. R@10 / MRR@10 on squad-sent, seen: BM25 .823/.676, MiniLM .865/.670, this
.891/.751, equal weights by minmax .889/.748, by rank .876/.722."""
_SENTENCE = re.compile(r"(?<=[.!?。])\s+|\n+")

Generate = Callable[[str], Iterable[str]]


def pseudo_queries(
    dataset: Dataset, *, seed: int = 0, max_items: int = MAX_ITEMS, generate: Generate | None = None
) -> list[tuple[str, int]]:
    """Return texts that a user who looks for an item might type, each with the number of the item.

    An item gives its title, where it has one, its heading, and a few words in a row of one of its sentences.

    Parameters
    ----------
    dataset : Dataset
        Items with texts.
    seed : int
        Draws items, sentences and words.
    max_items : int
        From how many items.
    generate : callable, optional
        Returns the queries for a text in place of these, for example by a language model.

    Examples
    --------
    >>> fruit = Dataset.of({"f": "A fig is a fruit. It grows on small trees in the south."})
    >>> pseudo_queries(fruit, seed=3)
    [('grows on small', 0)]
    """
    rng = generator(seed)
    chosen = np.sort(rng.permutation(len(dataset.items))[:max_items]).tolist()
    found: list[tuple[str, int]] = []
    for number in chosen:
        item = dataset.items[number]
        if generate is not None:
            made: Iterable[str] = generate(item.default_text())
        else:
            made = [item.title, str(item.metadata.get("heading") or ""), _span(item.text, rng)]
        found += [(text.strip(), number) for text in made if text.strip()]
    return list(dict.fromkeys(found))


def _span(text: str, rng: np.random.Generator) -> str:
    """Return some words in a row of a sentence."""
    sentences = [sentence.split() for sentence in _SENTENCE.split(text) if len(sentence.split()) >= SPAN_WORDS[0]]
    if not sentences:
        return ""
    words = sentences[int(rng.integers(len(sentences)))]
    count = min(int(rng.integers(SPAN_WORDS[0], SPAN_WORDS[1] + 1)), len(words))
    start = int(rng.integers(len(words) - count + 1))
    return " ".join(words[start : start + count])


def pseudo_searches(dataset: Dataset, pairs: Sequence[tuple[str, int]]) -> Searches:
    """Return searches whose one right answer is the item that the text was made of."""
    from scipy.sparse import csr_array

    rows, items = np.arange(len(pairs)), np.array([item for _, item in pairs], np.int64)
    wanted = csr_array((np.ones(len(pairs), np.float32), (rows, items)), shape=(len(pairs), len(dataset.items)))
    return Searches([text for text, _ in pairs], wanted, np.full(len(pairs), WARM), Mix(0.0, 1.0, 0.0))


def teacher_clicks(
    teacher: Retriever, texts: Sequence[str], *, hits: int = TEACHER_HITS
) -> list[tuple[str, str, float]]:
    """Return a teacher's best hits as clicks: the r-th weighs 1 / r; hits without a score above 0 are left out.

    Parameters
    ----------
    teacher : Retriever
        A dense retriever, or anything re-ranked by a cross-encoder.
    texts : sequence of str
        Queries, real ones or made ones.
    hits : int
        How many hits of each count.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> teacher_clicks(bm25({"f": "a fig", "j": "fig jam, sweet"}), ["fig"])
    [('fig', 'f', 1.0), ('fig', 'j', 0.5)]
    """
    if not texts:
        raise InputError("`texts` must be queries to teach by. Got none.")
    different = list(dict.fromkeys(texts))
    rows = zip(different, teacher(different, hits), strict=True)
    return [(text, hit.id, 1 / rank) for text, row in rows for rank, hit in enumerate(row, 1) if (hit.score or 0.0) > 0]


def taught_tokens(
    dataset: Dataset, teacher: Retriever, texts: Sequence[str], *, epochs: int = TAUGHT_EPOCHS, seed: int = 0
) -> TokenRetriever:
    """Learn from a teacher what the tokens of a query weigh and call to mind: its search, without its model.

    Parameters
    ----------
    dataset : Dataset
        The items; no click is used.
    teacher : Retriever
        Over the same items.
    texts : sequence of str
        Queries, real ones without their clicks, or those of `pseudo_queries`.
    epochs : int
        Passes over the queries.
    seed : int
        Seed of the order.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> fruit = Dataset.of({"f": "a fig", "c": "a red car"})
    >>> teacher = bm25({"f": "a fig", "c": "a vehicle"})
    >>> taught_tokens(fruit, teacher, ["vehicle", "a vehicle"])("vehicle", k=1).ids
    [['c']]
    """
    texts_of = {item.id: item.default_text() for item in dataset.items}
    clicks: Any = teacher_clicks(teacher, texts)
    return tokens(texts_of, clicks, epochs=epochs, seed=seed)


def unjudged_plans(candidates: Iterable[str]) -> list[SearchPlan]:
    """Return what to deliver where nothing can be judged, the preferred first: words with vectors, then words.

    Examples
    --------
    >>> [plan.expression for plan in unjudged_plans(["bm25"])]
    ['bm25']
    """
    plans = [SearchPlan(BASELINE, (BASELINE,))]
    if VECTORS in candidates:
        plans.insert(0, SearchPlan(EQUAL_SUM.format(BASELINE, VECTORS), (BASELINE, VECTORS)))
    return plans


SAID = (
    "There are no clicks, so nothing could be judged: {} is what is best without labels on public sets. The figures "
    "below are of queries made of the items' own words, which favor searching by words."
)
