"""Ctrl-C in what learns, and in the searches of what was learned: codes, tokens, anchors, late interaction, votes."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import vizsla
from tests.robustness.test_long_calls import AFTER, SOON, Work, random_rows, vectors
from tests.support.interrupts import seconds_until_stopped
from vizsla import _native
from vizsla.encoders.late import WordEncoder
from vizsla.indexes.factory import make_index
from vizsla.indexes.pq.codebook import Codebook, PqCodes
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.indexes.tokens import TokenIndex
from vizsla.methods.cur import adacur, residual_cur, score_anchors
from vizsla.methods.cur.factors import Factors
from vizsla.methods.pefa import pefa_xl, pefa_xs
from vizsla.methods.pq import pq

pytestmark = pytest.mark.skipif(bool(os.environ.get("LD_PRELOAD")), reason="a sanitizer changes what work costs")


def words(number: int, count: int) -> str:
    return " ".join(f"w{number * step % 997}" for step in range(1, count + 1))


@cache
def log() -> vizsla.Dataset:
    items = {str(number): words(number, 12) for number in range(2000)}
    return vizsla.Dataset.of(items, clicks=[(words(number, 3), str(number % 2000)) for number in range(8000)])


@cache
def search() -> vizsla.methods.Dense:
    return vizsla.dense(log(), vizsla.encoders.LsaEncoder.fit([words(number, 12) for number in range(2000)], dim=32))


@cache
def many(count: int) -> list[str]:
    return [words(number, 5) for number in range(count)]


def _codes(bits: int) -> Work:
    draw = np.random.default_rng(0)
    parts, centroids = 128 // bits, 2**bits
    codes = PqCodes.of(draw.integers(0, centroids, (1_000_000, parts), dtype=np.uint8), bits=bits)
    book = Codebook(draw.standard_normal((parts, centroids, 4), dtype=np.float32), None, dim=parts * 4)
    asked = draw.standard_normal((4000, parts * 4), dtype=np.float32)
    return lambda: PqIndex(codes, book).search(asked, 10)


def _column_sums() -> Work:
    draw = np.random.default_rng(0)
    factors = Factors(draw.integers(-99, 99, (512, 60_000), dtype=np.int8), np.ones(512, np.float32))
    weights, allowed = draw.standard_normal((2000, 512), dtype=np.float32), np.ones((2000, 60_000), np.bool_)
    return lambda: factors.best(weights, allowed, 10)


def _long_bags() -> Work:
    made, asked = TokenIndex.build(random_rows(120_000, 4000, 40)), random_rows(20_000, 4000, 500)
    return lambda: made.search(asked, 10)


def _late_interaction() -> Work:
    made = vizsla.late_interaction({str(n): words(n, 40) for n in range(1000)}, WordEncoder(search().encoder))
    return lambda: made(many(5000), k=10)


def _coding() -> Work:
    return lambda: make_index("pq", np.tile(vectors(), (4, 1)), bytes=16, rounds=10_000)


def _coding_without_rotation() -> Work:
    return lambda: make_index("pq", np.tile(vectors(), (40, 1)), bytes=16, opq=False, rounds=10_000)


def _jpq() -> Work:
    base = pq(search(), bytes=8, rounds=1)
    return lambda: vizsla.learning.train_jpq(base, log(), epochs=10_000, batch=64)


def _recoding() -> Work:
    base = pq(search(), bytes=8, rounds=1)
    return lambda: vizsla.learning.train_jpq(base, log(), epochs=10_000, reassignments=10_000, batch=2048)


def _tokens() -> Work:
    base = vizsla.tokens(log(), epochs=0)
    return lambda: vizsla.learning.train_tokens(base, log(), epochs=10_000)


def _anchors() -> Work:
    scorer = vizsla.late_interaction(log(), WordEncoder(search().encoder))
    return lambda: score_anchors(scorer, many(20_000))


def _adacur() -> Work:
    made = adacur(search(), score_anchors(search(), many(100)), budget=100, rounds=10)
    return lambda: made(many(20_000), k=10)


def _residual() -> Work:
    made = residual_cur(search(), score_anchors(search(), many(100)), [vizsla.bm25(log())], budget=100, rounds=10)
    return lambda: made(many(20_000), k=10)


def _residual_fit() -> Work:
    anchors, prior = score_anchors(search(), many(400)), vizsla.bm25(log())
    return lambda: residual_cur(search(), anchors, [prior], budget=100)


def _voting() -> Work:
    made = pefa_xl(search(), log(), weight=0.5, neighbors=50, votes="mean", near=0.0)
    return lambda: made(many(200_000), k=100)


def _choosing() -> Work:
    return lambda: pefa_xs(search(), log())


def _fusing() -> Work:
    return lambda: vizsla.fuse([vizsla.bm25(log()), search()], log())


def _stems() -> Work:
    forms = [f"{stem}{end}" for stem in map(str, range(300_000)) for end in ("ations", "ingly", "ness")]
    return lambda: _native.english_stems(forms, True)


def _pieces() -> Work:
    letters = [chr(code) for code in range(97, 123)]
    pieces = vizsla.text.WordPiece(["[UNK]", *letters, *(f"##{letter}" for letter in letters)])
    made = vizsla.tokens(log(), analyzer=pieces, epochs=0)
    return lambda: made.encoder.queries(["figs and so on " * 20_000] * 2000)


WORKS: dict[str, Callable[[], Work]] = {
    "codes of 8 bits": lambda: _codes(8),
    "codes of 4 bits": lambda: _codes(4),
    "column sums": _column_sums,
    "long bags": _long_bags,
    "late interaction": _late_interaction,
    "coding": _coding,
    "coding without rotation": _coding_without_rotation,
    "jpq": _jpq,
    "recoding": _recoding,
    "tokens": _tokens,
    "anchors": _anchors,
    "adacur": _adacur,
    "residual": _residual,
    "fitting residual": _residual_fit,
    "voting": _voting,
    "choosing": _choosing,
    "fusing": _fusing,
    "stems": _stems,
    "pieces": _pieces,
}


@pytest.mark.parametrize("name", WORKS)
def test_ctrl_c_stops_it(name):
    work = WORKS[name]()
    assert seconds_until_stopped(work, AFTER) < SOON
