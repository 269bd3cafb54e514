"""vizsla export milvus, vizsla export qdrant: a retriever's items as a collection of another engine."""

from __future__ import annotations

import argparse
from typing import Any

from vizsla.cli.options import load_retriever

PLACES = {
    "milvus": "a server such as http://localhost:19530, or a file ending in .db for milvus-lite",
    "qdrant": "a server such as http://localhost:6333, or a folder for the client's local mode",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the artifact, the place and the collection."""
    kind = parser.get_default("kind")
    parser.add_argument("index", metavar="INDEX", help="an artifact: dense, pq, jpq, pefa-xs, tokens, tfidf, bm25")
    parser.add_argument("--to", metavar="PLACE", required=True, help=PLACES[kind])
    parser.add_argument("--collection", metavar="NAME", required=True, help="the collection's name")
    parser.add_argument(
        "--key-variable", metavar="NAME", help="the environment variable with the server's token or key"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a collection that is there already")


def run(arguments: argparse.Namespace) -> None:
    """Store the items."""
    collection = _collection(arguments)
    try:
        count = collection.export(overwrite=arguments.overwrite)
    finally:
        collection.close()
    print(f"{arguments.collection}: {count:,} items")


def _collection(arguments: argparse.Namespace) -> Any:
    import os

    retriever = load_retriever(arguments.index)
    key = os.environ.get(arguments.key_variable, "") if arguments.key_variable else ""
    if arguments.kind == "milvus":
        from vizsla.export.milvus import MilvusCollection

        return MilvusCollection(retriever, arguments.to, arguments.collection, token=key)
    from vizsla.export.qdrant import QdrantCollection

    return QdrantCollection(retriever, arguments.to, arguments.collection, api_key=key or None)
