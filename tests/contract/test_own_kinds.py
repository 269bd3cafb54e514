"""A user's own Retriever, Index, Encoder and Scorer save, load, pickle and combine like the built-in ones."""

from __future__ import annotations

import importlib
import multiprocessing
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import vizsla
from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES
from vizsla.artifacts.artifact import Artifact
from vizsla.base.encoder import Encoder
from vizsla.base.index import Index
from vizsla.base.index_retriever import IndexRetriever
from vizsla.base.scorer import Scorer
from vizsla.compose import Composition
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.errors import FormatError, InputError
from vizsla.methods.bm25 import Bm25, bm25
from vizsla.methods.dense import dense
from vizsla.methods.pefa import pefa_xl


class Letters(Encoder, Artifact):
    """Counts letters."""

    kind = "own-letters"

    def __init__(self, letters):
        self.letters = letters

    @property
    def dim(self):
        return len(self.letters)

    @property
    def fingerprint(self):
        return f"letters:{self.letters}"

    def queries(self, texts):
        return np.array([[text.count(letter) for letter in self.letters] for text in texts], np.float32)

    def _write(self, writer):
        writer.parameters(letters=self.letters)

    @classmethod
    def _read(cls, reader):
        return cls(reader.parameter("letters", str))


class Table(Index):
    """Vectors, multiplied out."""

    kind = "own-table"

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    @property
    def dim(self):
        return self.rows.shape[1]

    @property
    def nbytes(self):
        return self.rows.nbytes

    def search(self, queries, k, *, filter=None, threads=1):
        numbers = np.arange(len(self), dtype=np.int32) if filter is None else filter.numbers
        everything = Candidates.from_rows([numbers] * len(queries))
        return everything.with_scores(self.scores(queries, everything), k=k)

    def scores(self, queries, candidates, *, threads=1):
        rows = np.repeat(np.arange(len(candidates)), np.diff(candidates.offsets))
        return PairScores((queries[rows] * self.rows[candidates.items]).sum(axis=1).astype(np.float32), Stats())

    def _write(self, writer):
        writer.array("rows", self.rows)

    @classmethod
    def _read(cls, reader):
        return cls(reader.array("rows", np.float32, ndim=2))


class ByLetters(IndexRetriever):
    """A retriever of one's own parts."""

    kind = "own-by-letters"
    scale = "letters"

    def _explain(self, queries, item, filter):
        return Explanation(self._score_one(queries, item), "letters")

    def _write(self, writer):
        writer.catalog("items", self.items)
        writer.child("encoder", self.encoder)
        writer.child("index", self.index)

    @classmethod
    def _read(cls, reader):
        return cls(reader.catalog("items"), reader.child("encoder", Encoder), reader.child("index", Index))


class Shortest(Scorer, Artifact):
    """A scorer that finds nothing and can only score."""

    kind = "own-shortest"
    scale = "shortness"

    def __init__(self, ids, lengths):
        self._items, self.lengths = ids, lengths

    @property
    def items(self):
        return self._items

    def _score(self, queries, candidates, filter, threads):
        return PairScores(-self.lengths[candidates.items], Stats())

    def _write(self, writer):
        writer.catalog("items", self._items)
        writer.array("lengths", self.lengths)

    @classmethod
    def _read(cls, reader):
        return cls(reader.catalog("items"), reader.array("lengths", np.float32))


def by_letters():
    encoder = Letters("aeiou")
    return ByLetters(Strings.of(ITEMS), encoder, Table(encoder.items(list(ITEMS.values()))))


def shortest():
    return Shortest(Strings.of(ITEMS), np.array([len(text) for text in ITEMS.values()], np.float32))


LOG = [(CLICKED[query], item) for query, item, _ in CLICKS]
MADE = {
    "alone": by_letters,
    "in a sum": lambda: by_letters().normalized() + bm25(ITEMS).normalized(),
    "before a scorer": lambda: (by_letters() | bm25(ITEMS)) >> shortest(),
    "cut": lambda: (bm25(ITEMS) >> by_letters()) % 7,
    "its encoder in dense": lambda: dense(ITEMS, Letters("aeiouy")),
    "under pefa": lambda: pefa_xl(
        by_letters(), LOG, encoder=Letters("aeiou"), weight=0.4, neighbors=5, votes="mean", near=0.0, threshold=0.0
    ),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_save_load_and_pickle(make, tmp_path):
    made = make()
    expected = made(QUERIES, k=9)
    loaded = vizsla.load(made.save(tmp_path / "saved"))
    assert type(loaded) is type(made) and loaded(QUERIES, k=9) == expected
    assert pickle.loads(pickle.dumps(make()))(QUERIES, k=9) == expected
    assert pickle.loads(pickle.dumps(loaded))(QUERIES, k=9) == expected
    again = loaded.save(tmp_path / "again")
    assert (again / "manifest.json").read_bytes() == (tmp_path / "saved" / "manifest.json").read_bytes()


def test_parts_of_ones_own_share_catalog_and_encoder(tmp_path):
    loaded = vizsla.load(MADE["before a scorer"]().save(tmp_path / "saved"))
    sides = loaded.first.parts
    assert sides[0].items is sides[1].items is loaded.scorer.items
    adapted = vizsla.load(MADE["under pefa"]().save(tmp_path / "adapted"))
    assert adapted.encoder is adapted.base.encoder


def test_another_process_learns_the_kinds_from_the_pickle(tmp_path):
    made = MADE["in a sum"]()
    saved = vizsla.load(made.save(tmp_path / "saved"))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for one in (MADE["in a sum"](), saved):
            assert pool.apply(_ask, (one,)) == made(QUERIES, k=5).ids


class Twice(Composition):
    """A composition of one's own."""

    operation = "own-twice"

    def __init__(self, part):
        super().__init__([part])
        self.scale = part.scale

    def __str__(self):
        return f"twice {self.parts[0]}"

    def _search(self, queries, k, filter, threads):
        found = self.parts[0]._search(queries, k, filter, threads)
        return found.with_scores(PairScores(found.scores * 2, found.stats))

    def _score(self, queries, candidates, filter, threads):
        scored = self.parts[0]._score(queries, candidates, filter, threads)
        return PairScores(scored.scores * 2, scored.stats)

    def _explain(self, queries, item, filter):
        return self.parts[0]._explain(queries, item, filter)

    def _options(self):
        return {}

    @classmethod
    def _rebuild(cls, parts, options):
        return cls(parts[0])


def test_a_composition_of_ones_own(tmp_path):
    made = Twice(bm25(ITEMS))
    loaded = vizsla.load(made.save(tmp_path / "saved"))
    assert type(loaded) is Twice and loaded(QUERIES, k=5) == made(QUERIES, k=5)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_ask, (loaded,)) == pool.apply(_ask, (Twice(bm25(ITEMS)),)) == made(QUERIES, k=5).ids


def _ask(retriever):
    return retriever(QUERIES, k=5).ids


def test_a_kind_that_nobody_has_defined_is_unknown_and_no_module_is_imported(tmp_path):
    saved = by_letters().save(tmp_path / "saved")
    code = f"import vizsla; vizsla.load({str(saved)!r})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1 and "unknown kind 'own-by-letters'" in run.stderr and "import the module" in run.stderr


def test_one_kind_has_one_class():
    with pytest.raises(InputError, match=r"'own-letters'.*test_own_kinds:Letters has"):
        type("Others", (Letters,), {"kind": "own-letters"})
    with pytest.raises(InputError, match=r"'xrlinear'.*vizsla\.methods\.xrlinear\.model:XrLinear has"):
        type("Mine", (Artifact,), {"kind": "xrlinear"})
    for wrong in ("", "../x", 3, None):
        with pytest.raises(InputError, match="`kind` must be"):
            type("Wrong", (Artifact,), {"kind": wrong})
    with pytest.raises(InputError, match="`operation` must be new"):
        type("Mine", (Composition,), {"operation": "sum"})


def test_a_class_defined_again_takes_the_place_of_the_first(tmp_path):
    def define():
        class Again(Letters):
            kind = "own-again"

        return Again

    define()
    second = define()
    assert type(vizsla.load(second("ab").save(tmp_path / "saved"))) is second


def test_save_refuses_what_load_could_not_read(tmp_path):
    class Special(Bm25):
        pass

    plain = bm25(ITEMS)
    special = Special(plain.items, plain.statistics, plain.index, plain.weighting)
    unnamed = Letters("ab")
    unnamed.kind = "nobody-reads-this"
    for made in (special, unnamed):
        with pytest.raises(InputError, match="kind"):
            made.save(tmp_path / "saved")
        with pytest.raises(InputError, match="kind"):
            pickle.dumps(made)
    with pytest.raises(InputError, match="loads as Bm25"):
        (plain | special).save(tmp_path / "saved")
    assert not any(tmp_path.iterdir())


def test_a_pickle_of_a_folder_that_holds_something_else_by_now_is_refused(tmp_path):
    first, second = by_letters(), dense(ITEMS, Letters("xyz"))
    pickled = pickle.dumps(vizsla.load(first.save(tmp_path / "saved")))
    second.save(tmp_path / "saved", overwrite=True)
    with pytest.raises(FormatError, match="the artifact that was pickled"):
        pickle.loads(pickled)
    assert pickle.loads(pickle.dumps(first))(QUERIES) == first(QUERIES), "by its files, since its folder is gone"


def test_a_changed_twin_is_not_what_the_folder_holds(tmp_path):
    built = dense(ITEMS, Letters("aeiou"), index="ivf", lists=6, probes=2)
    built.index.save(tmp_path / "saved")
    eager = built.index.with_effort(6)
    assert built.index.probes == 2
    assert pickle.loads(pickle.dumps(eager)).probes == 6


def test_the_page_names_the_methods_that_a_kind_must_have():
    """The table of docs/how-to/extend.md lists exactly the abstract methods; after a semicolon come optional ones."""
    page = (Path(__file__).parents[2] / "docs/how-to/extend.md").read_text()
    rows = re.findall(r"^\| (?:encoder|scorer|retriever|index) \| `([\w.]+)` \| (.*?) \|", page, re.MULTILINE)
    assert len(rows) == 4
    for path, written in rows:
        module, _, name = path.rpartition(".")
        kind = getattr(importlib.import_module(module), name)
        listed = re.findall(r"`(\w+)(?:\(.*?\))?`", written.partition(";")[0])
        assert sorted(listed) == sorted(kind.__abstractmethods__), path
