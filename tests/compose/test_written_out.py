"""A part that is used twice is stored once, but works twice: what doubles at every step is refused with a number."""

from __future__ import annotations

import pytest

import vizsla
from vizsla.compose import composition
from vizsla.errors import CompositionError, FormatError

STEPS = {
    "union": lambda made: made | (made % 7),
    "rerank": lambda made: made >> made,
    "sum": lambda made: made.normalized() + made.normalized(),
    "rank sum": lambda made: made.normalized("rank") + (made % 3).normalized("rank"),
}


@pytest.fixture(scope="module")
def base():
    return vizsla.bm25({"a": "fig tree", "b": "pear", "c": "fig"})


def doubled(made, step, times: int):
    for _ in range(times):
        made = step(made)
    return made


@pytest.mark.parametrize("name", STEPS)
def test_a_composition_has_a_limit_written_out(name, base):
    with pytest.raises(CompositionError, match=r"at most 10,000 parts, written out. Got 1\d,\d\d\d"):
        doubled(base, STEPS[name], 14)
    assert doubled(base, STEPS[name], 3).size == 8


@pytest.mark.parametrize("within", [True, False], ids=["of parts", "of artifacts"])
@pytest.mark.parametrize("name", ["rerank", "union"])
def test_a_file_that_would_work_for_ever_is_refused(name, within, base, tmp_path, monkeypatch):
    with monkeypatch.context() as unlimited:
        unlimited.setattr(composition, "MAX_SIZE", 10**12)
        made = doubled(base, STEPS[name], 28 if name == "rerank" else 14)
        saved = made.save(tmp_path / "saved")
        if not within:
            with pytest.raises(FormatError, match="more than 100,000 artifacts" if name == "rerank" else "artifacts"):
                vizsla.load(saved)
    with pytest.raises(FormatError, match=r"10,000 parts|artifacts"):
        vizsla.load(saved)


def test_what_can_be_saved_can_be_loaded(base, tmp_path):
    many = vizsla.parse("a" + "|a" * 4000, {"a": base})
    loaded = vizsla.load(many.save(tmp_path / "many"))
    assert loaded("fig") == many("fig") and loaded.size == 4001


class _Forged:
    """Reads as an artifact that says it has one part, where two belong."""

    path = "forged"

    def __init__(self, operation, options):
        self._told = {"operation": operation, "parts": 1, "options": options}

    def parameter(self, name, kind):
        return self._told[name]

    def child(self, name):
        return vizsla.bm25(["a fig"])


@pytest.mark.parametrize(
    ("operation", "options"), [("rerank", {"depth": 3}), ("budgeted rerank", {"budget": 3}), ("budgeted rerank", {})]
)
def test_too_few_parts_or_options_are_no_composition(operation, options):
    with pytest.raises(FormatError, match="do not fit together"):
        composition.Composition._read(_Forged(operation, options))
