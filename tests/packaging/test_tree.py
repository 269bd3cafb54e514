"""The house's laws on files: length, docstrings, and what no file may hold."""

import ast
import re
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["src", "native", "tests", "benchmarks", "scripts", "docs", ".ci"]
KINDS = {".py", ".pyi", ".hpp", ".cpp", ".md", ".toml", ".txt", ".sh", ".html", ".js", ".css", ""}
LIBRARY = sorted((ROOT / "src" / "vizsla").rglob("*.py"))
UNSAFE_MODULES = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
UNSAFE_CALLS = {"eval", "exec", "compile"}


def name(path):
    return str(path.relative_to(ROOT))


def texts():
    """Every text file of the repository, as far as we write them ourselves."""
    inner = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    found = [path for path in [*inner, *ROOT.glob("*")] if path.is_file() and path.suffix in KINDS]
    return sorted(path for path in found if "__pycache__" not in path.parts)


def lines(path):
    return len(path.read_text(encoding="utf-8").splitlines())


def laws_apply(path):
    """Tables that a program wrote and the generated stub are not reading matter."""
    return path.suffix in {".py", ".hpp", ".cpp"} and "enerated" not in path.read_text(encoding="utf-8")[:400]


def test_no_file_is_longer_than_500_lines():
    sources = [path for folder in ("src", "native", "tests") for path in (ROOT / folder).rglob("*") if laws_apply(path)]
    assert len(sources) > 20
    assert {name(path): lines(path) for path in sources if lines(path) > 500} == {}


def test_the_median_file_has_at_most_120_lines():
    assert statistics.median(map(lines, LIBRARY)) <= 120


def test_no_path_of_a_developers_machine():
    forbidden = re.compile(r"(?<![\w.~*-])/(work|root)/|/tmp/w/")
    # In a git worktree `.git` is a file, and holds a path.
    others = [path for path in texts() if path not in (Path(__file__), ROOT / ".git")]
    assert [name(path) for path in others if forbidden.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("path", LIBRARY, ids=name)
def test_module_keeps_the_laws(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "a module says in its docstring what it holds"
    assert list(offences(tree, prints="cli" in path.parts or "demo" in path.parts)) == []


def offences(tree, *, prints):
    """What a library module must not do, each with its line; only a `show` method may print."""
    shown = set()
    for node in ast.walk(tree):
        shown |= set(ast.walk(node)) if isinstance(node, ast.FunctionDef) and node.name == "show" else set()
        if isinstance(node, ast.Assert):
            yield node.lineno, "assert: raise an error of vizsla.errors, python -O removes asserts"
        elif isinstance(node, ast.Import | ast.ImportFrom) and UNSAFE_MODULES & imported(node):
            yield node.lineno, "unpickling runs what the file says"
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False":
            yield node.value.lineno, "allow_pickle: unpickling runs what the file says"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in UNSAFE_CALLS:
                yield node.lineno, f"{node.func.id}: runs text as code"
            elif node.func.id == "print" and not prints and node not in shown:
                yield node.lineno, "print: the library prints nothing"


def imported(node):
    """The top-level packages that an import statement names."""
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return {full.split(".")[0] for full in names}


@pytest.mark.parametrize(
    "source",
    ["assert x", "import pickle", "from pickle import load", "np.load(f, allow_pickle=True)", "eval(t)", "print(1)"],
)
def test_the_laws_have_teeth(source):
    assert list(offences(ast.parse(source), prints=False))
