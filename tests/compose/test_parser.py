"""Composition strings mean what the same symbols mean in Python."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.table_retriever import TableRetriever
from vizsla import bm25
from vizsla.compose import parse
from vizsla.compose.parser import MAX_NESTING
from vizsla.errors import CompositionError, VizslaError

ITEMS = ["a", "b", "c", "d"]
NAMES = {
    "x": TableRetriever({"q": {"a": 4.0, "b": 3.0, "c": 2.0}}, ITEMS),
    "y": TableRetriever({"q": {"d": 9.0, "b": 8.0}}, ITEMS),
    "z": TableRetriever({"q": {"d": 1.0, "c": 8.0}}, ITEMS, scale="other"),
    "far": TableRetriever({"q": {"e": 3.5, "f": 1.0}}, ["e", "f"]),
}


@pytest.mark.parametrize(
    "expression",
    [
        "x",
        "(x)",
        "x % 2",
        "0.5*x + 2*y",
        "x*0.5 + y % 1",
        "x | y >> z",
        "(x | y) >> z",
        "x + y >> z",
        "x.normalized('rank') + z.normalized(\"rank\")",
        "(x | y).rerank(z, depth=2) % 1",
        "x.union(y, depth=1) >> y",
        "2*(x + y).normalized('zscore', depth=3)",
        "x.shards(far) % 3",
    ],
)
def test_means_what_python_means(expression):
    from_text = parse(expression, NAMES)
    from_python = eval(expression, dict(NAMES))
    assert str(from_text) == str(from_python)
    assert from_text("q", k=10) == from_python("q", k=10)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", "ends too soon at character 1"),
        ("x +", "ends too soon"),
        ("x y", "unexpected 'y' at character 3"),
        ("w", "unknown name 'w'.*Known names: far, x, y, z"),
        ("x & y", "unexpected '&' at character 2"),
        ("(x", r"expected '\)'"),
        ("x.save('p')", "unknown method 'save'"),
        ("x.__class__", "unknown method '__class__'"),
        ("x.cut(1, 2)", r"cut\(\) does not take these arguments"),
        ("1 + 2", "must have a retriever"),
        ("x >> 3", "Scorer. Got int"),
        ("3 >> x", "cannot join"),
        ("x + z", "one scale"),
        ("7", "must describe a Retriever"),
        ("(" * 60 + "x" + ")" * 60, "nested"),
        ("x" * 10_001, "at most 10000 characters"),
        ("x.union(" * 1100 + "x" + ")" * 1100, "more than 50 nested brackets"),
        ("x % " + "9" * 5000, "a number of more than 40 characters"),
        ("x" + ".normalized()" * 700, "nested at most 50 deep"),
        ("x" + " >> x" * 1500, "nested at most 50 deep"),
        ("x.rerank(y, depth=1, depth=2)", "'depth' is given twice"),
        ("x + y + 1", "a retriever on each side. Got a int"),
        (None, "must be a composition string. Got NoneType"),
        (b"x", "must be a composition string. Got bytes"),
    ],
)
def test_errors_say_what_and_where(expression, message):
    with pytest.raises(CompositionError, match=message):
        parse(expression, NAMES)


@pytest.mark.parametrize(
    ("chain", "plain"),
    [
        ("x" + " + x" * 1999, "2000*x"),
        ("x" + "|x" * 3000, "x | x"),
        ("x" + "%3%2" * 1500, "x % 2"),
        ("x" + "*1" * 3000, "x"),
    ],
)
def test_a_long_chain_is_flat(chain, plain):
    long, short = parse(chain, NAMES), parse(plain, NAMES)
    assert long("q").ids == short("q").ids
    assert getattr(long, "nesting", 0) <= 1


def test_a_chain_as_deep_as_allowed_is_searched_scored_and_explained():
    deep = parse("x" + " >> y" * 50, NAMES)
    found = deep("q")
    assert found == parse("x >> y", NAMES)("q") == deep.score("q", found)
    assert deep.explain("q", "b").score == 8.0


def test_names_must_be_a_mapping():
    with pytest.raises(CompositionError, match="names"):
        parse("x", [NAMES["x"]])


@given(st.text(alphabet="xyz0123456789.|>+*%()=,'\" abc", max_size=40))
def test_any_string_is_a_retriever_or_a_typed_error(expression):
    with contextlib.suppress(VizslaError):
        parse(expression, NAMES)


class Named(TableRetriever):
    """Says what it is called in a composition string."""

    name = ""

    def __str__(self):
        return self.name


@pytest.mark.parametrize(
    "written",
    [
        "(a >> b) % 5",
        "(a % 5) >> b",
        "(0.5*(a % 5) + 2*b)",
        "((a >> b) >> a) % 3",
        "(a % 5).normalized('zscore')",
        "(a >> b).normalized('minmax') % 2",
        "((a % 2) | (a >> b)) >> b",
        "(1*(a >> b) + 1*a) >> b",
        "(a % 3).scaled('exp', slope=0.5, height=2)",
        "((a | b) >> a) % 10",
    ],
)
def test_what_a_composition_says_of_itself_is_read_back_as_it_is_meant(written):
    names = {name: Named({}, ITEMS) for name in "ab"}
    for name, part in names.items():
        part.name = name
    built = parse(written, names)
    assert str(built) == written == str(parse(str(built), names))


@pytest.mark.parametrize(("depth", "sound"), [(MAX_NESTING, True), (MAX_NESTING + 1, False)])
def test_so_many_nested_brackets_and_no_more(depth, sound):
    part = bm25({"a": "fig"})
    text = "(" * depth + "a" + ")" * depth
    if sound:
        assert parse(text, {"a": part}) is part
    else:
        with pytest.raises(CompositionError, match="nested"):
            parse(text, {"a": part})
