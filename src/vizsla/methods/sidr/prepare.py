"""Makes lessons and held-out queries out of a bag, its items' texts, and clicks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vizsla.errors import InputError
from vizsla.methods.bag.clicked import Clicked
from vizsla.methods.bag.held_out import clicks_left, held_out_queries
from vizsla.methods.bag.model import Bag
from vizsla.methods.sidr.held_out import HeldOutQueries
from vizsla.methods.sidr.lessons import Lessons
from vizsla.methods.sidr.settings import SidrSettings
from vizsla.methods.sidr.tables import learned_table, unseen_rows
from vizsla.sparse_rows import SparseRows
from vizsla.text.sequences import sequences
from vizsla.text.wordpiece import WordPiece

Answers = Mapping[str, Sequence[str]]


class Prepared(NamedTuple):
    """What a run needs."""

    lessons: Lessons
    held: HeldOutQueries | None


def prepared(
    bag: Bag, clicked: Clicked, texts: list[str], settings: SidrSettings, answers: Answers | None = None
) -> Prepared:
    """Hold out some queries, learn tables from the others' clicks, and cut all texts into token ids."""
    pieces = wordpiece_of(bag)
    held = held_out_queries(clicked.clicks, settings.seed)
    left = clicked.clicks if held is None else clicks_left(clicked.clicks, held)
    queries = sequences(pieces, clicked.texts, settings.max_tokens)
    items = sequences(pieces, texts, settings.max_tokens)
    asked = bag.encoder.bag.queries(clicked.texts)
    tables, new = _tables(bag, clicked, left, settings)
    found = None if answers is None else [_answers(answers.get(text, ())) for text in clicked.texts]
    lowered = [] if answers is None else [text.lower() for text in texts]
    lessons = Lessons(queries, items, asked, tables, left, bag.index, found, lowered)
    if held is None:
        return Prepared(lessons, None)
    rows = np.concatenate([held.cold, held.warm])
    cold = np.arange(len(rows)) < len(held.cold)
    chosen = [queries[number] for number in rows.tolist()]
    return Prepared(lessons, HeldOutQueries(clicked.take(rows), chosen, new.take(rows), cold))


def _answers(given: Sequence[str]) -> list[str]:
    if isinstance(given, str):
        raise InputError(f"`answers` must hold a list of texts for each query. Got {given!r}: put it into a list.")
    return [answer.lower() for answer in given]


def wordpiece_of(bag: Bag) -> WordPiece:
    """Return the bag's WordPiece, or say that it needs one."""
    pieces = bag.encoder.bag.analyser
    if not isinstance(pieces, WordPiece):
        raise InputError(
            f"`bag` must be made of the model's tokens. Got {bag!r}, made of words: "
            "build it with `analyser=vizsla.WordPiece.open(model)`."
        )
    return pieces


def _tables(bag: Bag, clicked: Clicked, left: Any, settings: SidrSettings) -> tuple[SparseRows, SparseRows]:
    """Return what tables say of the queries that are learned from, and of those that are held out."""
    if not settings.table_epochs:
        count = len(clicked.texts)
        none = SparseRows(np.zeros(count + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), bag.index.dim)
        return none, none
    options = {"epochs": settings.table_epochs, "seed": settings.seed}
    seen = unseen_rows(bag, clicked, left, folds=settings.folds, **options)
    table = learned_table(bag, clicked, left, **options)
    return seen, table.weighted(bag.encoder.bag.queries(clicked.texts))
