"""Rules on files: sizes, names, docstrings, and what no file may hold. Each test lists all offenders."""

import ast
import re
from collections import Counter, defaultdict
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
    "_internal/lazy.py": "two helpers that everything imports",
    "artifacts/npy.py": "one file format",
    "compose/topk.py": "one operator",
    "core/explanation.py": "one class, which every layer returns",
    "encoders/open.py": "one function, by which users name an encoder",
    "indexes/_memory.py": "two helpers that need no class",
    "indexes/factory.py": "imports an index only when it is asked for",
    "io/write.py": "chooses among the writers of the formats",
    "methods/pq.py": "one function over `dense` and `pefa`",
    "typing.py": "aliases only",
}
"""Modules below 60 lines, with the reason."""

OWN = {
    "artifacts/pickling.py": "imported when an artifact is pickled",
    "methods/bm25_mixed.py": "catalogs in several languages, with a twin of its own",
    "core/display.py": "imported when an answer is shown",
    "data/where_grammar.py": "a parser with tests of its own",
    "engine/member.py": "the protocol that every member implements",
    "demo/budget.py": "one row of the demo",
    "demo/docstring.py": "a parser with tests of its own",
    "demo/methods.py": "the rows of the demo",
    "engine/live_words.py": "queries, apart from what answers them",
