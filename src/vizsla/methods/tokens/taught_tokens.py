"""Tokens taught by a teacher, such as dense vectors: their search without their model, and without a click."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from vizsla.base.recipe import builds
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer
from vizsla.core.validation import check_type, generator, validate_args
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.methods.tokens.model import TokenRetriever, tokens

MAX_ITEMS = 10_000
"""Maximum number of items, drawn at random, that queries are made from."""
SPAN_WORDS = (3, 7)
TEACHER_HITS = 5
"""So many of the teacher's best hits count as clicks, the r-th as 1 / r of one."""
RESCORED = 20
TAUGHT_EPOCHS = 2
"""What was measured on squad-sent: R@10 .839 seen and .835 unseen, BM25 .823 and .811."""
_SENTENCE = re.compile(r"(?<=[.!?。])\s+|\n+")

Generate = Callable[[str], Iterable[str]]


def pseudo_queries(
    dataset: Dataset, *, seed: int = 0, max_items: int = MAX_ITEMS, skip: int = 0, generate: Generate | None = None
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
    skip : int
        How many of the drawn items to leave out before: what others were made from.
    generate : callable, optional
        Returns the queries for a text in place of these, for example by a language model.

    Examples
    --------
    >>> fruit = Dataset.of({"f": "A fig is a fruit. It grows on small trees in the south."})
    >>> pseudo_queries(fruit, seed=3)
    [('grows on small', 0)]
    """
    check_type("dataset", dataset, Dataset, "a Dataset")
    rng = generator(seed)
    chosen = np.sort(rng.permutation(len(dataset.items))[skip : skip + max_items]).tolist()
    found: list[tuple[str, int]] = []
    for number in chosen:
        item = dataset.items[number]
        if generate is not None:
            made: Iterable[str] = generate(item.default_text())
        else:
            made = [item.title, str(item.metadata.get("heading") or ""), _span(item.text, rng)]
        found += [(text.strip(), number) for text in made if text.strip()]
    return list(dict.fromkeys(found))


def pseudo_clicks(
    dataset: Dataset,
    *,
    weight: float = 1.0,
    seed: int = 0,
    max_items: int = MAX_ITEMS,
    generate: Generate | None = None,
) -> list[tuple[str, str, float]]:
    """Return generated queries as clicks on the items that they were made from, for methods that learn from clicks.

    Parameters
    ----------
    dataset : Dataset
        Items with texts.
    weight : float
        The weight of each such click.
    seed, max_items, generate
        As in `pseudo_queries`.

    Examples
    --------
    >>> fruit = Dataset.of({"f": "A fig is a fruit. It grows on small trees in the south."})
    >>> pseudo_clicks(fruit, generate=lambda text: ["purple fruit"])
    [('purple fruit', 'f', 1.0)]
    """
    made = pseudo_queries(dataset, seed=seed, max_items=max_items, generate=generate)
    return [(text, dataset.item_ids[number], weight) for text, number in made]


def _span(text: str, rng: np.random.Generator) -> str:
    """Return some words in a row of a sentence."""
    sentences = [sentence.split() for sentence in _SENTENCE.split(text) if len(sentence.split()) >= SPAN_WORDS[0]]
    if not sentences:
        return ""
    words = sentences[int(rng.integers(len(sentences)))]
    count = min(int(rng.integers(SPAN_WORDS[0], SPAN_WORDS[1] + 1)), len(words))
    start = int(rng.integers(len(words) - count + 1))
    return " ".join(words[start : start + count])


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


def rescored(teacher: Retriever, scorer: Scorer | None) -> Retriever:
    """Return the teacher whose best are scored again, where there is a scorer."""
    if scorer is None:
        return teacher
    return (teacher % RESCORED).rerank(scorer, depth=RESCORED)


@builds("taught_tokens", data="items")
@validate_args
def taught_tokens(
    items: Dataset,
    teacher: Retriever,
    texts: Sequence[str] | None = None,
    *,
    scorer: Scorer | None = None,
    max_items: int = MAX_ITEMS,
    epochs: int = TAUGHT_EPOCHS,
    seed: int = 0,
) -> TokenRetriever:
    """Learn from a teacher what the tokens of a query weigh and call to mind: its search, without its model.

    Parameters
    ----------
    items : Dataset
        The items; no click is used.
    teacher : Retriever
        Over the same items.
    texts : sequence of str, optional
        Queries, real ones without their clicks; unless given, those of `pseudo_queries`.
    scorer : Scorer, optional
        Scores the teacher's 20 best again, such as a cross-encoder.
    max_items : int
        From how many items these are made.
    epochs : int
        Passes over the queries.
    seed : int
        Seed of the queries that are made, and of the order.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> fruit = Dataset.of({"f": "a fig", "c": "a red car"})
    >>> teacher = bm25({"f": "a fig", "c": "a vehicle"})
    >>> taught_tokens(fruit, teacher, ["vehicle", "a vehicle"])("vehicle", k=1).ids
    [['c']]
    """
    if texts is None:
        texts = [text for text, _ in pseudo_queries(items, seed=seed, max_items=max_items)]
    texts_of = {item.id: item.default_text() for item in items.items}
    clicks: Any = teacher_clicks(rescored(teacher, scorer), texts)
    return tokens(texts_of, clicks, epochs=epochs, seed=seed)
