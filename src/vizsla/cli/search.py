"""vizsla search: answer a query from an artefact."""

from __future__ import annotations

import argparse
import json

from vizsla.candidates import Candidates
from vizsla.cli.options import DATA_HELP, load_retriever, read_lines
from vizsla.errors import InputError
from vizsla.printable import printable, printable_json
from vizsla.retriever import Retriever


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the query and how the answer is shown."""
    parser.add_argument("artefact", metavar="ARTEFACT")
    parser.add_argument("query", nargs="+", help="words; '-' reads one query a line from standard input")
    parser.add_argument("-k", type=int, default=10, help="how many items (default: 10)")
    parser.add_argument("--explain", action="store_true", help="say why each item is there")
    parser.add_argument("--where", metavar="FILE", help="only items whose ids stand in this file, one a line")
    parser.add_argument("--budget", type=int, metavar="N", help="calls of the expensive scorer, of a budgeted search")
    parser.add_argument("--data", metavar="DATA", help=f"show item texts from {DATA_HELP}")
    parser.add_argument("--json", action="store_true", help="print one JSON object a query instead of tables")


def run(arguments: argparse.Namespace) -> None:
    """Search and print."""
    retriever = _budgeted(load_retriever(arguments.artefact), arguments.budget)
    queries = read_lines("-") if arguments.query == ["-"] else [" ".join(arguments.query)]
    allowed = None if arguments.where is None else read_lines(arguments.where)
    found = retriever(queries, k=arguments.k, where=allowed).with_query_ids(queries)
    if arguments.json:
        _print_json(found, queries, retriever if arguments.explain else None)
        return
    found.show(k=arguments.k, texts=_texts(arguments.data, found))
    calls = f", {found.stats.model_calls:,} model calls" if found.stats.model_calls else ""
    print(f"{found.stats.ms:.2f} ms{calls}")
    if arguments.explain:
        _print_reasons(found, queries, retriever)


def _budgeted(retriever: Retriever, budget: int | None) -> Retriever:
    if budget is None:
        return retriever
    with_budget = getattr(retriever, "with_budget", None)
    if with_budget is None:
        raise InputError(f"`--budget` must be given to a budgeted search. Got {retriever}: see `vizsla index anchors`.")
    budgeted: Retriever = with_budget(budget)
    return budgeted


def _texts(data: str | None, found: Candidates) -> dict[str, str] | None:
    if data is None:
        return None
    from vizsla.dataset import Dataset

    dataset = Dataset.open(data)
    return {item: dataset.text(item) for row in found.ids for item in row}


def _print_json(found: Candidates, queries: list[str], explainer: Retriever | None) -> None:
    for query, hits in zip(queries, found, strict=True):
        rows = [hit._asdict() for hit in hits]
        if explainer is not None:
            rows = [{**row, "why": explainer.explain(query, row["id"]).to_dict()} for row in rows]
        print(printable_json(json.dumps({"query": query, "hits": rows}, ensure_ascii=False)))


def _print_reasons(found: Candidates, queries: list[str], retriever: Retriever) -> None:
    for query, hits in zip(queries, found, strict=True):
        for hit in hits:
            print(printable(f"\n{hit.id!s}\n{retriever.explain(query, hit.id)}"))
