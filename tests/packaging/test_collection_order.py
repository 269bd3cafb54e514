"""Every process collects the tests in one order: no parameter comes from iterating a set, whose order differs."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
KEEPS_ORDER = {"list", "tuple", "enumerate", "iter", "zip", "map", "filter", "product", "chain", "dict", "fromkeys"}
"""Functions whose result has the order of their arguments."""
SET_OPERATORS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)


class Names:
    """What the names of a test module stand for: expressions of its own, or imported values."""

    def __init__(self, tree: ast.Module):
        self.own: dict[str, ast.expr] = {}
        self.imported: dict[str, tuple[str, str]] = {}
        for node in tree.body:
            if isinstance(node, ast.Assign):
                self.own |= {each.id: node.value for each in node.targets if isinstance(each, ast.Name)}
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                self.own[node.target.id] = node.value
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("vizsla"):
                self.imported |= {each.asname or each.name: (node.module or "", each.name) for each in node.names}

    def is_set(self, node: ast.expr) -> bool:
        """Return whether an expression is a set."""
        if isinstance(node, ast.Set | ast.SetComp):
            return True
        if isinstance(node, ast.Call):
            return called(node) in ("set", "frozenset")
        if isinstance(node, ast.BinOp) and isinstance(node.op, SET_OPERATORS):
            keys = isinstance(node.left, ast.Call) and called(node.left) == "keys"
            return keys or self.is_set(node.left) or self.is_set(node.right)
        if not isinstance(node, ast.Name):
            return False
        if node.id in self.imported:
            module, name = self.imported[node.id]
            return isinstance(getattr(importlib.import_module(module), name, None), set | frozenset)
        return node.id in self.own and self.own[node.id] is not node and self.is_set(self.own[node.id])


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def iterated(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what is iterated in order below a node; what `sorted`, `max` or `set` get has no order to lose."""
    if isinstance(node, ast.Starred):
        yield node.value
    elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp):
        yield from (each.iter for each in node.generators)
    elif isinstance(node, ast.Call) and (called(node) in KEEPS_ORDER or called(node) == "parametrize"):
        yield from node.args
        yield from (each.value for each in node.keywords if each.arg == "argvalues")
    elif isinstance(node, ast.Call) and called(node) == "fixture":
        yield from (each.value for each in node.keywords if each.arg == "params")
    loses = isinstance(node, ast.SetComp | ast.Lambda) or (
        isinstance(node, ast.Call) and called(node) in {"sorted", "set", "frozenset", "max", "min", "sum", "any", "all"}
    )
    for child in () if loses else ast.iter_child_nodes(node):
        yield from iterated(child)


def unordered(tree: ast.Module) -> list[int]:
    """Return the lines outside of functions that iterate a set, and those of decorators."""
    names, found = Names(tree), []
    for node in tree.body:
        outside = [node.value] if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None else []
        outside += node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
        found += [each.lineno for part in outside for each in iterated(part) if names.is_set(each)]
    return found


def test_no_parameter_comes_from_a_set():
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(TESTS.rglob("*.py"))}
    found = {str(path.relative_to(TESTS)): lines for path, tree in trees.items() if (lines := unordered(tree))}
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "X = {'a', 'b'}\nY = [*X, 'c']",
        "from vizsla.data.conditions import KEYWORDS\nNAMES = [*KEYWORDS, 'a b']",
        "Y = [word.upper() for word in {'a', 'b'}]",
        "@pytest.fixture(params={'a', 'b'})\ndef name(request): pass",
        "@pytest.mark.parametrize('name', set(NAMES) - {'a'})\ndef test(name): pass",
        "@pytest.mark.parametrize('name', list(ANSWERS.keys() - {'a'}))\ndef test(name): pass",
    ],
)
def test_the_rule_has_teeth(source):
    assert unordered(ast.parse(source))


@pytest.mark.parametrize("source", ["Y = sorted({'a', 'b'})", "Y = [*{'a': 1}]", "Y = 'a' in {'a'}", "Y = {1} | {2}"])
def test_what_has_an_order_passes(source):
    assert not unordered(ast.parse(source))
