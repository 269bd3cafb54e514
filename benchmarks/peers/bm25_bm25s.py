"""bm25s with its numba backend as a contestant."""

import bm25s
from clock import cpu_seconds, p50_ms, read_lines, serve

built = {}


def index(file):
    texts = read_lines(file)

    def work():
        # Cleaned words, one space apart: the cheapest way to hand them over.
        engine = bm25s.BM25(method="lucene", k1=1.5, b=0.75, backend="numba")
        engine.index([text.split(" ") for text in texts], show_progress=False)
        return engine

    built["engine"], seconds = cpu_seconds(work)
    return seconds


def _retrieve(query, k):
    return built["engine"].retrieve([query.split(" ")], k=k, show_progress=False)


def search(file, k):
    queries = read_lines(file)
    for query in queries[:20]:  # the first call compiles
        _retrieve(query, k)
    return p50_ms(lambda query: _retrieve(query, k), queries)


def scores(file, k):
    return [_retrieve(query, k).scores[0].tolist() for query in read_lines(file)]


serve(index=index, search=search, scores=scores)
