"""vizsla search: answer queries from an artifact, or straight from a folder or a file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from vizsla._internal.terminal import escape_control, printable_json
from vizsla.artifacts.manifest import MANIFEST
from vizsla.base.index_retriever import IndexRetriever
from vizsla.base.page import Page
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.base.web_search import parsed
from vizsla.cli.options import (
    DATA_HELP,
    add_reading,
    load_retriever,
    open_items,
    prepared_where,
    read_lines,
    read_query_pairs,
    read_query_texts,
)
from vizsla.compose.adjustments import adjust
from vizsla.core.candidates import Candidates
from vizsla.core.display import show_answers, show_blocks
from vizsla.core.explanation import Explanation
from vizsla.data.facets import FacetValue
from vizsla.data.filter import Filter
from vizsla.data.parents import PARENTS
from vizsla.errors import InputError
from vizsla.text.web_syntax import PLAIN, SYNTAXES, WEB
from vizsla.text.word_filter import keeps_texts

CATALOG_NAME = "catalog.sqlite"
"""The file that makes a folder an engine."""
HISTORY_FILE = Path("~/.cache/vizsla/history")
MAX_HISTORY_LINES = 1000
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
    path = HISTORY_FILE.expanduser()
    with suppress(OSError):
        readline.read_history_file(path)
    try:
        yield
    finally:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.set_history_length(MAX_HISTORY_LINES)
            readline.write_history_file(path)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the query and how the answer is shown."""
    source = "an artifact or an engine; or a folder or file of texts, which is read and searched at once"
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
    parser.add_argument("--similar", metavar="ID", help="find what is most like this item, in place of a query")
    parser.add_argument("--adjust", metavar="FILE", help="adjust answers by synonyms, signals and rules")
    add_syntax(parser)
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="leave out the best N: a later page")
    add_page_options(parser)
    run = "write a TREC run of the queries of --queries, by their ids (by their number, of plain lines)"
    parser.add_argument("--trec", metavar="FILE", help=run)
    parser.add_argument("--json", action="store_true", help="print one JSON object a query instead of tables")
    add_reading(parser)


def add_syntax(parser: argparse.ArgumentParser) -> None:
    """Add how queries are read."""
    syntax = 'read queries as words, or with "phrases", +must, -not, field:word and prefix* (default: web)'
    parser.add_argument("--syntax", choices=SYNTAXES, default=WEB, help=syntax)


def add_page_options(parser: argparse.ArgumentParser) -> None:
    """Add facets, orders, groups and highlights."""
    facets = "count values, ranges or dates over all that is found: brand,price:10,released:month"
    parser.add_argument("--facets", metavar="FIELDS", help=facets)
    parser.add_argument("--sort", metavar="FIELDS", help="order by fields, such as price:desc,title")
    parser.add_argument("--distinct", metavar="FIELD", help="the best item of each value of this field only")
    marks = "with --json: title, text and other fields with spans of the query's words, and a snippet"
    parser.add_argument("--highlight", metavar="FIELDS", nargs="?", const="", help=marks)
    whole = "show the whole section or document of each passage, whose texts are kept"
    parser.add_argument("--parent", choices=PARENTS, help=whole)
    least = "leave out hits that are less likely to be clicked, of a retriever with confidence"
    parser.add_argument("--min-confidence", type=float, metavar="P", help=least)


def page_options(given: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a page that were given."""
    names = ("facets", "sort", "distinct", "parent", "min_confidence")
    chosen = {name: getattr(given, name) for name in names}
    if given.highlight is not None:
        chosen["highlight"] = given.highlight.split(",") if given.highlight else True
    return {name: value for name, value in chosen.items() if value is not None}


def shown_fields(given: str | None) -> list[str] | None:
    """Return the fields of `--show`; ids, scores and ranks are shown anyway."""
    names = None if not given else [name.strip() for name in given.split(",")]
    return names and [name for name in names if name not in ("id", "score", "rank")]


def hit_row(hit: Any) -> dict[str, Any]:
    """Return a hit as JSON has it, without what is known of the item."""
    sure = {} if hit.confidence is None else {"confidence": hit.confidence}
    return {"id": hit.id, "score": hit.score, **sure}


def print_counts(page: Page) -> None:
    """Print how much was found, and the facets."""
    about = "" if page.total_is_exact else "at least "
    groups = "" if page.groups is None else f" in {page.groups:,} groups"
    print(f"{about}{page.total:,} found{groups}, {page.candidates.stats.ms:.2f} ms")
    for name, counts in page.facets.items():
        values = [f"{_range(each)} ({each.count:,})" for each in counts.values]
        values += [f"none ({counts.missing:,})"] if counts.missing else []
        print(escape_control(f"{name}: {', '.join(values)}"))


def print_parents(page: Page) -> None:
    """Print the section or the document of each hit, where these were asked for; that of several hits once."""
    ids = dict[str, list[str]]()
    for hit in page:
        if hit.parent is not None:
            ids.setdefault(hit.parent, []).append(hit.id)
    for text, hits in ids.items():
        print(escape_control("\n".join(["", *hits, text])))


def run(arguments: argparse.Namespace) -> None:
    """Search and print."""
    retriever = _late(_budgeted(_retriever(arguments), arguments.budget), arguments)
    if arguments.adjust is not None:
        retriever = adjust(retriever, arguments.adjust)
    answers = Answers(retriever, arguments)
    if arguments.trec is not None:
        answers.write_run(arguments.trec)
        return
    if arguments.similar is not None:
        answers.print_similar(arguments.similar)
        return
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
        self._fields = shown_fields(arguments.show)
        self._data = open_items(arguments.data, arguments) if arguments.data else None

    def print(self, queries: list[str]) -> None:
        """Answer some queries."""
        arguments = self._arguments
        if self._is_paged:
            for query in queries:
                self._print_page(query)
            return
        asked, syntax = Queries(queries), self._syntax(queries)
        found = self._retriever(asked, k=arguments.k, where=self._where, syntax=syntax).with_query_ids(queries)
        if arguments.json:
            self._print_json(found, asked)
            return
        self._print_found(found)
        self._print_hints(found if len(queries) == 1 else None)
        calls = f", {found.stats.model_calls:,} model calls" if found.stats.model_calls else ""
        print(f"{found.stats.ms:.2f} ms{calls}")
        if arguments.explain:
            self._print_reasons(found, asked)

    def write_run(self, path: str) -> None:
        """Write the answers to the queries of a file as a TREC run."""
        given = self._arguments
        others = given.query or given.json or given.explain or given.similar or self._is_paged
        if given.queries is None or others:
            raise InputError("`--trec` must be given with --queries FILE and without pages, --json or --explain.")
        pairs = read_query_pairs(given.queries, given)
        ids, texts = [id for id, _ in pairs], [text for _, text in pairs]
        if len(set(ids)) < len(ids):
            raise InputError("`--trec` must have one text per query id. Got an id twice.")
        found = self._retriever(Queries(texts), k=given.k, where=self._where, syntax=self._syntax(texts))
        found.with_query_ids(ids).to_trec(path)
        print(f"{path}: {len(ids):,} queries, {len(found.items):,} answers")

    def print_similar(self, item: str) -> None:
        """Print what is most like an item."""
        given = self._arguments
        if given.query or given.queries or given.explain or self._is_paged:
            raise InputError(
                "`--similar` must stand without a query, --explain, and options of a page. Got one of these."
            )
        found = self._retriever.similar(item, given.k, where=self._where).with_query_ids([item])
        if given.json:
            self._print_json(found, Queries([item]))
            return
        self._print_found(found)
        print(f"{found.stats.ms:.2f} ms")

    def _print_hints(self, found: Candidates | None) -> None:
        """Print what may have been meant."""
        for hint in () if found is None else self._new_hints(found):
            print(escape_control(hint))

    def _new_hints(self, found: Candidates) -> list[str]:
        """Return what may have been meant; the hints of `--where` are said already, on standard error."""
        said = () if self._where is None else self._where.hints
        return [hint for hint in found.hints if hint not in said]

    def _print_found(self, found: Candidates) -> None:
        if self._fields is not None:
            found.show(k=self._arguments.k, texts=self._texts(found), fields=self._fields)
        else:
            show_blocks(found, k=self._arguments.k, texts=self._texts(found))

    @property
    def _is_paged(self) -> bool:
        return bool(self._arguments.offset or page_options(self._arguments))

    def _print_page(self, query: str) -> None:
        """Answer one query by a page, with what was found in all."""
        given, syntax = self._arguments, self._syntax([query])
        options = {"offset": given.offset, "where": self._where, "syntax": syntax, **page_options(given)}
        asked = Queries([query])  # what was paid for in the search serves the reasons
        page = self._retriever.page(asked, given.k, **options)
        if given.json:
            shown = page.to_dict(self._fields)
            if given.explain:
                for hit in shown["hits"]:
                    hit["why"] = self._why(asked, hit["id"]).to_dict()
            print(printable_json(json.dumps(shown, ensure_ascii=False)))
            return
        found = page.candidates.with_query_ids([query])
        others = [hit.more for hit in page]
        if self._fields is not None:
            texts = self._texts(found)
            show_answers(found, k=given.k, texts=texts, fields=self._fields, offset=given.offset, others=others)
        else:
            show_blocks(found, k=given.k, texts=self._texts(found), offset=given.offset, others=others)
        self._print_hints(found)
        print_counts(page)
        print_parents(page)
        if given.explain:
            self._print_reasons(found, asked)

    def _syntax(self, queries: list[str]) -> str:
        """Return how queries are read: as words where the web syntax would need texts that are not kept."""
        syntax: str = self._arguments.syntax
        items = self._retriever.items
        if syntax == PLAIN or keeps_texts(items) or all(parsed(items, query).is_plain for query in queries):
            return syntax
        hint = 'the signs of "phrases", +must and -not were read as words: index with --keep-texts to use them'
        print(f"vizsla: hint: {hint}", file=sys.stderr)
        return PLAIN

    def _texts(self, found: Candidates) -> Mapping[str, str] | None:
        if self._data is None:
            return None
        return {item: self._data.text(item) for row in found.ids for item in row}

    def _print_json(self, found: Candidates, asked: Queries) -> None:
        texts = self._texts(found)
        for number, (query, hits) in enumerate(zip(asked.texts, found, strict=True)):
            rows = list(map(hit_row, hits))
            known = found.metadata(number, self._fields) if self._fields is not None else [{} for _ in hits]
            for row, hit, more in zip(rows, hits, known, strict=True):
                row |= {name: value for name, value in more.items() if name not in ("id", "score")}
                if texts is not None:
                    row["text"] = texts[hit.id]
                if self._arguments.explain:
                    row["why"] = self._why(asked, hit.id).to_dict()  # one query: see `run`
            hints = self._new_hints(found) if len(asked) == 1 else []
            said = {"hints": hints} if hints else {}
            print(printable_json(json.dumps({"query": query, "hits": rows, **said}, ensure_ascii=False)))

    def _print_reasons(self, found: Candidates, asked: Queries) -> None:
        """Say why each item is there, for the one query that was asked."""
        for hit in next(iter(found)):
            print(escape_control(f"\n{hit.id!s}\n{self._why(asked, hit.id)}"))

    def _why(self, asked: Queries, item: str) -> Explanation:
        return self._retriever.explain(asked, item, where=self._where, syntax=self._syntax(asked.texts))


def _range(value: FacetValue) -> str:
    return str(value.value) if value.end is None else f"{value.value} to {value.end}"


def _retriever(arguments: argparse.Namespace) -> Retriever:
    """Load the artifact, or open the engine; anything else is data, read and indexed by its words."""
    path = Path(arguments.artifact)
    is_data = path.exists() or arguments.artifact == "-" or arguments.artifact.startswith("ir_datasets:")
    if not is_data or (path / MANIFEST).exists():
        return load_retriever(arguments.artifact)
    if (path / CATALOG_NAME).is_file():
        from vizsla.engine.engine import Engine

        return Engine.open(path, maintenance="manual")
    from vizsla.methods.bm25 import bm25

    return bm25(open_items(arguments.artifact, arguments, keep_texts=True))


def _budgeted(retriever: Retriever, budget: int | None) -> Retriever:
    if budget is None:
        return retriever
    if not retriever.takes_budget:
        raise InputError(f"`--budget` must be given to a budgeted search. Got {retriever}: see `vizsla index anchors`.")
    return retriever.with_budget(budget)


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
