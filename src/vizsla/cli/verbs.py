"""The verbs of the command line, and the parser that imports only the one that is used."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from vizsla import __version__

VERBS = {
    "demo": "search the Python that is installed on this machine",
    "index": "build an index over a catalog",
    "learn": "find the best search for items and a click log, without naming a method",
    "train": "learn from a click log",
    "adapt": "let a click log correct a retriever, without training",
    "add": "give a saved model new items, without training",
    "remove": "let a saved model forget items, without training",
    "search": "answer queries from an artifact, or straight from a folder or a file",
    "complete": "complete what was typed, from titles and past queries",
    "eval": "measure the quality and cost of an artifact, or of a run, on judged queries",
    "compare": "put artifacts and runs side by side, with significance and cost",
    "diagnose": "show what a pipeline loses to depth, budget, codes and approximate search",
    "report": "write a page of what learn or compare found",
    "sweep": "draw how quality and cost of a retriever change with its effort, or a model's with its weights",
    "runs": "fuse TREC runs, or pool what judges should look at",
    "compose": "join artifacts by an expression into a new one",
    "split": "hold out clicks to judge by, at random or by time",
    "engine": "keep a live catalog of items and clicks, and search it",
    "serve": "search, items and clicks over HTTP, and a page",
    "mcp": "let assistants search an engine or an artifact",
    "inspect": "an artifact's pedigree, sizes and parameters",
    "check": "audit every file of an artifact",
    "convert": "read data in one format and write them in another",
    "export": "write a model or items in a form that others serve",
}
"""What each verb does. The verb `search` is in the module `vizsla.cli.search`."""

KINDS = {
    "index": {
        "bm25": "words, weighted by BM25",
        "tokens": "binary token lists, weighted by idf or as clicks taught",
        "statistics": "word counts that the shards of a BM25 share",
        "tfidf": "words, pairs of words and character trigrams, by TF-IDF",
        "dense": "vectors of an encoder",
        "completion": "titles and past queries, to complete what is typed",
        "anchors": "an expensive scorer, to be searched under a budget",
        "sidr": "items encoded by SiDR's model: full parametric search",
        "pq": "codes for the vectors of a dense model: many times smaller",
    },
    "train": {
        "tokens": "weights and expansions of query tokens",
        "sidr": "a transformer that weighs tokens, over a token index",
        "xrlinear": "a tree of items with a sparse linear matcher at every node",
        "bi-encoder": "a transformer that encodes queries and items",
        "dssm": "vectors of n-grams, without a transformer: minutes",
        "cross-encoder": "a transformer that reads query and item together",
        "jpq": "codes of items whose centroids learn together with the query side",
    },
    "adapt": {
        "pefa": "choose among the variants below that search one index",
        "pefa-xs": "move item vectors towards the queries they were clicked for: the base's cost",
        "pefa-max": "let an item's best past query score it: more vectors, better answers",
        "pefa-xl": "let the nearest past queries vote: any retriever, a second index",
    },
    "engine": {
        "create": "make an engine in a new folder",
        "add": "add items whose ids are new",
        "upsert": "add items, in place of those with the same ids",
        "delete": "delete items, with their clicks",
        "update": "change metadata of items; nothing is indexed again",
        "click": "note what was chosen for a query",
        "unclick": "forget clicks of a query, of an item, or from before a moment",
        "search": "answer a query",
        "adjust": "let synonyms, signals and rules of a file adjust the answers of a member",
        "sync": "hold what a folder or file holds; only what has changed is read",
        "compact": "merge all segments into one without deleted items",
        "learn": "choose the default member again by the newest clicks, and swap it for a sure gain",
        "rebuild": "build members anew from the items and clicks that there are",
        "members": "list the members; add and drop some, and choose the default one",
        "snapshot": "keep the members as they are now under a name",
        "snapshots": "list what `rollback` goes back to",
        "rollback": "let the members be as in a snapshot",
        "history": "what happened to members, snapshots and segments, oldest first",
        "check": "compare the catalog, the segments and their checksums",
        "stats": "counts, bytes on disk and the age of members, as JSON",
        "backup": "copy the engine to a new folder",
        "restore": "copy a backup to a new folder, as an engine",
    },
    "runs": {
        "fuse": "one run of several, by reciprocal rank",
        "pool": "the best items of several runs, to be judged",
    },
    "convert": {
        "dataset": "items, queries, judgments and clicks",
        "ubi": "a User Behavior Insights log, to a click log",
    },
    "export": {
        "onnx": "a model for ONNX Runtime, with float32 or checked int8 weights",
        "parquet": "items with their vectors or token weights as a Parquet file",
        "milvus": "items with their vectors or token weights as a Milvus collection",
        "qdrant": "items with their vectors or token weights as a Qdrant collection",
    },
}
"""What a verb is given next, where it has kinds. The kind `index bm25` is in the module `vizsla.cli.index_bm25`."""

METAVARS = {
    "index": "KIND",
    "train": "METHOD",
    "adapt": "METHOD",
    "engine": "ACTION",
    "runs": "ACTION",
    "convert": "KIND",
    "export": "FORM",
}
MODULES = {f"{verb} {kind}": verb for verb in ("adapt", "engine", "runs") for kind in KINDS[verb]}
MODULES |= {f"export {kind}": "export_collection" for kind in ("milvus", "qdrant")}
"""Modules that are named otherwise. One that serves several kinds reads which from `parser.get_default("kind")`."""


class LazyParser(argparse.ArgumentParser):
    """A parser of one verb, which imports the verb's module and gets its arguments when it is used."""

    module = ""
    _mixing = False

    def __init__(self, **options: Any):
        # An option's beginning is none: `--k 3` would be `--keep-texts` and a query.
        super().__init__(**options, allow_abbrev=False)

    def fill(self) -> None:
        """Add the arguments, once."""
        if self.module:
            verb, self.module = import_module(self.module), ""
            verb.add_arguments(self)
            self.set_defaults(run=verb.run, verb=self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Add the arguments and parse (called by the parser above for the verb that is used)."""
        self.fill()
        if self._mixing or not self._has_optional_positionals() or {"-h", "--help"} & set(args or ()):
            return super().parse_known_args(args, namespace)
        self._mixing = True
        try:
            return super().parse_known_intermixed_args(args, namespace)
        finally:
            self._mixing = False

    def _has_optional_positionals(self) -> bool:
        """Whether a positional may be absent: argparse takes it for absent at the first option, even if it follows."""
        return any(action.nargs in ("?", "*") for action in self._actions if not action.option_strings)


def lazy_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, whose verbs are imported when they are used."""
    return _parser()[0]


def parser() -> argparse.ArgumentParser:
    """Return the parser with the arguments of all verbs."""
    top, verbs = _parser()
    for verb in verbs:
        verb.fill()
    return top


def _parser() -> tuple[argparse.ArgumentParser, list[LazyParser]]:
    top = argparse.ArgumentParser(prog="vizsla", description="First-stage search from a catalog and a click log.")
    top.add_argument("--version", action="version", version=f"vizsla {__version__}")
    verbs, filled = top.add_subparsers(metavar="VERB", required=True, parser_class=LazyParser), []
    for verb, about in VERBS.items():
        parser = verbs.add_parser(verb, help=about, description=about)
        if verb not in KINDS:
            parser.module = f"vizsla.cli.{verb}"
            filled.append(parser)
            continue
        kinds = parser.add_subparsers(metavar=METAVARS[verb], required=True)
        for kind, what in KINDS[verb].items():
            inner = kinds.add_parser(kind, help=what, description=what)
            name = MODULES.get(f"{verb} {kind}", f"{verb}_{kind}".replace("-", "_"))
            inner.module = f"vizsla.cli.{name}"
            inner.set_defaults(kind=kind)
            filled.append(inner)
    return top, filled
