"""vizsla search: answer queries from an artifact, or straight from a folder or a file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from vizsla._internal.terminal import escape_control, printable_json
from vizsla.artifacts.manifest import MANIFEST
from vizsla.base.index_retriever import IndexRetriever
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.cli.options import (
    DATA_HELP,
    add_reading,
    load_retriever,
    open_items,
    prepared_where,
    read_lines,
    read_query_texts,
)
from vizsla.core.candidates import Candidates
from vizsla.core.display import show_blocks
from vizsla.data.filter import Filter
from vizsla.errors import InputError

HISTORY = Path("~/.cache/vizsla/history")
MOST = 1000
HELP = "Type a query, or nothing to leave."


def ask(answer: Callable[[str], None]) -> None:
    """Answer what is typed until an empty line or the end."""
    print(HELP)
    with _history():
        while query := _line():
            answer(query)


def _line() -> str:
    try:
        return input("vizsla> ").strip()
    except EOFError:
        print()
        return ""


@contextmanager
def _history() -> Iterator[None]:
    """Let the arrow keys bring back what was asked before, where the system has a library for it."""
    try:
        import readline
    except ImportError:
        yield
        return
    path = HISTORY.expanduser()
    with suppress(OSError):
        readline.read_history_file(path)
    try:
        yield
    finally:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.set_history_length(MOST)
            readline.write_history_file(path)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the query and how the answer is shown."""
    source = "an artifact; or a folder or file of texts, which is read and searched at once"
    parser.add_argument("artifact", metavar="SOURCE", help=source)
    parser.add_argument("query", nargs="*", help="words; '-' reads one query a line; without any, a prompt opens")
    parser.add_argument("-k", type=int, default=10, help="how many items (default: 10)")
    parser.add_argument("--queries", metavar="FILE", help="answer the queries of this file: one a line, or with ids")
    parser.add_argument("--explain", action="store_true", help="say why each item is there")
    parser.add_argument(
        "--where",
        metavar="WHAT",
        action="append",
        default=[],
        help="only items of a file of ids, or by a condition: price<20 and (brand=a,b or size is null); repeatable",
    )
    columns = "a table with these columns, such as title,price,text, in place of a block per hit"
    parser.add_argument("--show", metavar="FIELDS", help=columns)
    parser.add_argument("--budget", type=int, metavar="N", help="calls of the expensive scorer, of a budgeted search")
    late = "re-rank the best --depth of a model by item vectors, made on first use and kept in this file; needs --data"
    parser.add_argument("--late", metavar="FILE", help=late)
    parser.add_argument("--depth", type=int, default=100, metavar="N", help="how many --late re-ranks (default: 100)")
    parser.add_argument("--data", metavar="DATA", help=f"show item texts from {DATA_HELP}")
    parser.add_argument("--json", action="store_true", help="print one JSON object a query instead of tables")
    add_reading(parser)


def run(arguments: argparse.Namespace) -> None:
    """Search and print."""
    answers = Answers(_late(_budgeted(_retriever(arguments), arguments.budget), arguments), arguments)
    queries = _queries(arguments)
    if queries is None:
        ask(lambda query: answers.print([query]))
    elif queries and arguments.explain:  # one by one: what was paid for in the search then serves the reasons
        for query in queries:
            answers.print([query])
    elif queries:
        answers.print(queries)


class Answers:
    """Searches and prints, with what was prepared once."""

    def __init__(self, retriever: Retriever, arguments: argparse.Namespace):
        self._retriever, self._arguments = retriever, arguments
        self._where: Filter | None = prepared_where(arguments.where, retriever)
        self._fields = [name.strip() for name in arguments.show.split(",")] if arguments.show else None
        self._data = open_items(arguments.data, arguments) if arguments.data else None

    def print(self, queries: list[str]) -> None:
        """Answer some queries."""
        arguments = self._arguments
        asked = Queries(queries)
        found = self._retriever(asked, k=arguments.k, where=self._where).with_query_ids(queries)
        if arguments.json:
            self._print_json(found, asked)
            return
        if self._fields is not None:
            found.show(k=arguments.k, texts=self._texts(found), fields=self._fields)
        else:
            show_blocks(found, k=arguments.k, texts=self._texts(found))
        calls = f", {found.stats.model_calls:,} model calls" if found.stats.model_calls else ""
        print(f"{found.stats.ms:.2f} ms{calls}")
        if arguments.explain:
            self._print_reasons(found, asked)

    def _texts(self, found: Candidates) -> Mapping[str, str] | None:
        if self._data is None:
            return None
        return {item: self._data.text(item) for row in found.ids for item in row}

    def _print_json(self, found: Candidates, asked: Queries) -> None:
        texts = self._texts(found)
        for number, (query, hits) in enumerate(zip(asked.texts, found, strict=True)):
            rows = [{**hit._asdict()} for hit in hits]
            known = found.metadata(number, self._fields) if self._fields is not None else [{} for _ in hits]
            for row, hit, more in zip(rows, hits, known, strict=True):
                row |= {name: value for name, value in more.items() if name not in ("id", "score")}
                if texts is not None:
                    row["text"] = texts[hit.id]
                if self._arguments.explain:
                    row["why"] = self._retriever.explain(asked, hit.id, where=self._where).to_dict()
            print(printable_json(json.dumps({"query": query, "hits": rows}, ensure_ascii=False)))

    def _print_reasons(self, found: Candidates, asked: Queries) -> None:
        """Say why each item is there, for the one query that was asked."""
        for hit in next(iter(found)):
            print(escape_control(f"\n{hit.id!s}\n{self._retriever.explain(asked, hit.id, where=self._where)}"))


def _retriever(arguments: argparse.Namespace) -> Retriever:
    """Load the artifact; anything else is data, read and indexed by its words."""
    path = Path(arguments.artifact)
    is_data = path.exists() or arguments.artifact == "-" or arguments.artifact.startswith("ir_datasets:")
    if not is_data or (path / MANIFEST).exists():
        return load_retriever(arguments.artifact)
    from vizsla.methods.bm25 import bm25

    return bm25(open_items(arguments.artifact, arguments, keep_texts=True))


def _budgeted(retriever: Retriever, budget: int | None) -> Retriever:
    if budget is None:
        return retriever
    with_budget = getattr(retriever, "with_budget", None)
    if with_budget is None:
        raise InputError(f"`--budget` must be given to a budgeted search. Got {retriever}: see `vizsla index anchors`.")
    budgeted: Retriever = with_budget(budget)
    return budgeted


def _late(retriever: Retriever, arguments: argparse.Namespace) -> Retriever:
    """Return late parametric search with the retriever's own encoder, where it is asked for."""
    if arguments.late is None:
        return retriever
    if arguments.data is None:
        raise InputError("`--late` must know the items' texts. Got no --data.")
    if not isinstance(retriever, IndexRetriever):
        raise InputError(f"`--late` must be given to a model with one encoder. Got {retriever}.")
    from vizsla.scorers.lazy_vectors import LateParametric

    texts = open_items(arguments.data, arguments)
    late: Retriever = (retriever % arguments.depth) >> LateParametric(retriever.encoder, texts, arguments.late)
    return late


def _queries(arguments: argparse.Namespace) -> list[str] | None:
    """Return what is asked; None for a prompt."""
    more = read_query_texts(arguments.queries, arguments) if arguments.queries else []
    if arguments.query == ["-"]:
        return [*more, *read_lines("-")]
    if arguments.query:
        return [*more, " ".join(arguments.query)]
    if more or arguments.queries:
        return more
    return None if sys.stdin.isatty() else read_lines("-")
