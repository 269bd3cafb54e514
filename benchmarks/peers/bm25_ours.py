"""Vizsla's BM25 as a contestant."""

from pathlib import Path

from clock import cpu_seconds, p50_ms, peak_bytes, read_lines, serve

from vizsla.methods.bm25 import bm25
from vizsla.text.analyzers import Analyzer

built = {}


def index(file):
    texts = read_lines(file)
    built["bm25"], seconds = cpu_seconds(lambda: bm25(texts, analyzer=Analyzer()))
    return seconds


def search(file, k):
    return p50_ms(lambda query: built["bm25"](query, k=k), read_lines(file))


def scores(file, k):
    return [built["bm25"](query, k=k).scores.tolist() for query in read_lines(file)]


def memory(file):
    """Build from a stream, so that the catalog itself takes no memory."""
    with Path(file).open(encoding="utf-8") as lines:
        index = bm25((line.rstrip("\n") for line in lines), analyzer=Analyzer())
    return {"peak": peak_bytes(), "index": index.nbytes + index.items.nbytes}


serve(index=index, search=search, scores=scores, memory=memory)
