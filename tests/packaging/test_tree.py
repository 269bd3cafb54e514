"""Rules on files: sizes, names, docstrings, and what no file may hold. Each test lists all offenders."""

import ast
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "vizsla"
FOLDERS = ["src", "native", "tests", "benchmarks", "scripts", "docs", ".ci"]
KINDS = {".py", ".pyi", ".hpp", ".cpp", ".md", ".toml", ".txt", ".sh", ".html", ".js", ".css", ""}
LIBRARY = sorted(SOURCE.rglob("*.py"))
MODULES = [path for path in LIBRARY if path.name not in ("__init__.py", "__main__.py")]
UNSAFE_MODULES = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
UNSAFE_CALLS = {"eval", "exec", "compile"}

SHORT = {
    "artifacts/npy.py": "one file format",
    "core/explanation.py": "one class, which every layer returns",
    "encoders/open.py": "one function, by which users name an encoder",
    "indexes/_memory.py": "two helpers that need no class",
    "indexes/factory.py": "imports an index only when it is asked for",
    "io/write.py": "chooses among the writers of the formats",
    "scale/placements.py": "one function, by which users choose where work runs",
    "serve/page_routes.py": "the routes of the page",
    "typing.py": "aliases only",
}
"""Modules below 60 lines, with the reason."""

OWN = {
    "autopilot/sidr_candidate.py": "the only candidate that needs torch",
    "autopilot/delivery.py": "the winner as engine or artifact, apart from its choice",
    "autopilot/learning_report.py": "the report, which users read",
    "autopilot/without_clicks.py": "the choice without labels, apart from that by clicks",
    "methods/tokens/taught_tokens.py": "functions that users call",
    "autopilot/svg_charts.py": "drawing with tests of its own",
    "autopilot/rivals.py": "what is compared with, apart from candidates",
    "artifacts/pickling.py": "imported when an artifact is pickled",
    "data/where_grammar.py": "a parser with tests of its own",
    "engine/live_clicks.py": "clicks, apart from the member that learns from them",
    "engine/query_memory.py": "a retriever with tests of its own",
    "engine/typo_member.py": "BM25 with typos, which is also found by the name of its module",
    "engine/live_completion.py": "completion, apart from changes and searches",
    "demo/docstring.py": "a parser with tests of its own",
    "engine/administration.py": "what an engine does rarely, apart from changes and searches",
    "engine/static_member.py": "members that are built whole",
    "evaluation/significance.py": "statistics with tests of their own",
    "indexes/pq/training.py": "needs faiss, which a search does not",
    "io/ir_datasets.py": "one format",
    "io/pecos.py": "one format",
    "methods/bm25_items.py": "imported when items change",
    "methods/cur/least_squares.py": "linear algebra with tests of its own",
    "methods/xrlinear/paper.py": "the paper's tree and features, apart from ours",
    "methods/jpq/run.py": "trials around the training loop, apart from reading arguments",
    "methods/sidr/trainer.py": "steps, apart from what they are given",
    "methods/xrlinear/subtrees.py": "partition and merging, apart from training",
    "scale/local.py": "one of two placements",
    "scale/rendezvous.py": "routing, with tests of its own",
    "scale/shard.py": "what runs in an actor",
    "scale/ray_cluster.py": "the only module that imports Ray",
    "serve/admin_routes.py": "routes, which the application joins",
    "serve/application.py": "the ASGI application, which workers import by name",
    "serve/page_routes.py": "routes, which the application joins",
    "serve/rerank_routes.py": "routes, which the application joins",
    "serve/sharded_backend.py": "a collection of shards, apart from engines and artifacts",
    "serve/search_routes.py": "routes, which the application joins",
    "serve/slow_clients.py": "the protocol that uvicorn imports by name, and bounds on bodies",
}
"""Modules that only one other module of their folder imports, with the reason."""

TWINS = {"model.py": "the retriever of a method's package"}
"""File names that may occur more than twice, with the reason."""


def name(path):
    return str(path.relative_to(ROOT))


def inner(path):
    return path.relative_to(SOURCE).as_posix()


def texts():
    """Every text file of the repository, as far as we write them ourselves."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    found = [path for path in [*found, *ROOT.glob("*")] if path.is_file() and path.suffix in KINDS]
    return sorted(path for path in found if "__pycache__" not in path.parts)


def lines(path):
    return len(path.read_text(encoding="utf-8").splitlines())


def rules_apply(path):
    """Tables that a program wrote and the generated stub are not reading matter."""
    return path.suffix in {".py", ".hpp", ".cpp"} and "enerated" not in path.read_text(encoding="utf-8")[:400]


def test_no_file_is_longer_than_700_lines():
    sources = [
        path for folder in ("src", "native", "tests") for path in (ROOT / folder).rglob("*") if rules_apply(path)
    ]
    assert len(sources) > 20
    assert {name(path): lines(path) for path in sources if lines(path) > 700} == {}


def test_no_module_is_a_splinter():
    short = {inner(path): lines(path) for path in MODULES if lines(path) < 60 and path.parent.name != "cli"}
    assert {path: count for path, count in short.items() if path not in SHORT} == {}


def test_no_module_serves_one_sibling_only():
    assert sorted(path for path in lonely() - OWN.keys() if not path.startswith("cli/")) == []


def lonely():
    """Modules that only one other module of their folder imports."""
    found = {path: users for path, users in importers().items() if len(users) == 1}
    found = {path: users for path, users in found.items() if {user.name for user in users} != {"__init__.py"}}
    return {inner(path) for path, users in found.items() if {path.parent} == {user.parent for user in users}}


def test_every_exception_is_of_a_module_that_exists():
    assert sorted((SHORT.keys() | OWN.keys()) - {inner(path) for path in MODULES}) == []


@cache
def parsed(path):
    """The syntax tree of a module, which several rules look at."""
    return ast.parse(path.read_text(encoding="utf-8"))


def importers():
    """Which modules import each module."""
    modules = {".".join(["vizsla", *path.relative_to(SOURCE).with_suffix("").parts]): path for path in MODULES}
    found = {path: set() for path in MODULES}
    for path in LIBRARY:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    used = modules.get(f"{node.module}.{alias.name}") or modules.get(node.module)
                    if used not in (None, path):
                        found[used].add(path)
    return found


def test_file_names_occur_at_most_twice():
    counted = Counter(path.name for path in MODULES)
    assert sorted(file for file, count in counted.items() if count > 2 and file not in TWINS) == []


def test_class_names_are_unique():
    places = defaultdict(set)
    for path in LIBRARY:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(inner(path))
    assert {each: sorted(paths) for each, paths in places.items() if len(paths) > 1} == {}


OTHER_NAMES = {"BERT", "BM25", "CSR", "Ctrl", "Exception", "JSON", "SQLite", "None"}
"""What types in docstrings may name beside classes, aliases and imported names."""
TYPED = re.compile(r"^\w[\w, ]* : (.+)$", re.MULTILINE)


def test_docstrings_name_types_that_exist():
    known, documented = set(OTHER_NAMES), []
    for path in LIBRARY:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                known.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                known |= {target.id for target in targets if isinstance(target, ast.Name)}
            elif isinstance(node, ast.ImportFrom):
                known |= {alias.asname or alias.name for alias in node.names}
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                documented.append((inner(path), node.name, ast.get_docstring(node) or ""))
    types = [(path, name, line) for path, name, text in documented for line in TYPED.findall(text)]
    assert len(types) > 1000
    lost = [row for row in types if set(re.findall(r"\b[A-Z][a-z]\w+\b", row[2])) - known]
    assert lost == []


PERSONS = re.compile(
    r"\b(whom|whoever|nobody|somebody)\b|(?<!user )(?<!users )(?<!people )(?<!judge )(?<!2016\), )\bwho\b",
    re.IGNORECASE,
)
"""Words for people; "who" may follow one."""


def test_data_are_things():
    """Comments and docstrings say "it" and "none" of data."""
    found = [
        f"{inner(path)}:{line}: {text.strip()}"
        for path in LIBRARY
        for line, text in remarks(path)
        if PERSONS.search(text)
    ]
    for path in sorted((ROOT / "native").rglob("*.[hc]pp")):
        lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        found += [f"{name(path)}:{number}: {line.strip()}" for number, line in lines if PERSONS.search(line)]
    assert found == []


def remarks(path):
    """The comments and lines of docstrings of a module, each with its number."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("#") or "  # " in line:
            yield number, line[line.index("#") :]
    for node in ast.walk(parsed(path)):
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else ():
            if (
                isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ):
                yield from enumerate(each.value.value.splitlines(), each.lineno)


def test_array_aliases_are_defined_in_typing_only():
    alias = re.compile(r"^\w+ = NDArray\[np\.\w+\]$", re.MULTILINE)
    others = [path for path in MODULES if path.name != "typing.py"]
    assert [inner(path) for path in others if alias.search(path.read_text(encoding="utf-8"))] == []


def test_no_path_of_a_developers_machine():
    forbidden = re.compile(r"(?<![\w.~*-])/(work|root)/|/tmp/w/")
    # In a git worktree `.git` is a file, and holds a path.
    others = [path for path in texts() if path not in (Path(__file__), ROOT / ".git")]
    assert [name(path) for path in others if forbidden.search(path.read_text(encoding="utf-8"))] == []


def test_every_module_says_what_it_holds():
    trees = {inner(path): parsed(path) for path in LIBRARY}
    assert [path for path, tree in trees.items() if not ast.get_docstring(tree)] == []


def test_no_module_does_what_a_library_must_not():
    found = {}
    for path in LIBRARY:
        if wrong := list(offenses(parsed(path), prints="cli" in path.parts or "demo" in path.parts)):
            found[inner(path)] = wrong
    assert found == {}


def offenses(tree, *, prints):
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
def test_the_rules_have_teeth(source):
    assert list(offenses(ast.parse(source), prints=False))


ONE_PLACE = {
    r"^[A-Z]\w* = NDArray\[[^|]*$": "typing.py",
    r"np\.repeat\(np\.arange\(.*np\.diff\(": "core/sparse.py",
    r"^[A-Z_]*_ERRORS = ": "learning/selection.py",
    r"^class \w*(?:Run|Loop)\b.*:\n(?:.*\n)*?.*def _save\(": "learning/loop.py",
    r"for \w+ in \(\w+, 0\.0, 1\.0\):": "learning/splits.py",
}
"""What is written once: array aliases, row numbers, thresholds, a training loop, and a split that may lack a kind."""


@pytest.mark.parametrize(("pattern", "place"), ONE_PLACE.items())
def test_one_of_each(pattern, place):
    found = {inner(path) for path in MODULES if re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)}
    assert found == {place}
