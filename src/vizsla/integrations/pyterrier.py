"""PyTerrier: a transformer from queries to ranked results (extra `pyterrier`)."""

from __future__ import annotations

from typing import Any

from vizsla.errors import InputError, MissingExtraError, check_positive
from vizsla.integrations.targets import SearchTarget

try:
    import pandas as pd
    import pyterrier as pt
except ImportError:
    raise MissingExtraError("The PyTerrier integration", "pyterrier") from None


class VizslaTransformer(pt.Transformer):
    """A retriever for PyTerrier: from the columns qid and query to these with docno, score and rank.

    A cutoff after it reaches the search: `(transformer % 10).compile()` asks for 10 items per query. Other columns of
    the queries stay in the result.

    Parameters
    ----------
    target : Retriever, Engine, or path
        The retriever, engine or artifact to search.
    num_results : int
        How many items per query at most.
    where : str, dict or Condition, optional
        Only these items are found.
    using : str
        The member of an engine that answers; the default one unless given.
    text : bool
        Add the items' texts as a column `text`, for rerankers after it. Items must keep their texts.
    threads : int
        How many queries are answered at a time.
    """

    def __init__(
        self,
        target: Any,
        *,
        num_results: int = 1000,
        where: Any = None,
        using: str = "",
        text: bool = False,
        threads: int = 1,
    ):
        self._searched = target if isinstance(target, SearchTarget) else SearchTarget(target, using)
        self._searched.retriever()  # a client raises: batches are answered here
        self.num_results, self.threads = check_positive("num_results", num_results), check_positive("threads", threads)
        self.where, self.text = where, text

    def __repr__(self) -> str:
        return f"VizslaTransformer({self._searched.target!r}, num_results={self.num_results})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the best items of every query, best first."""
        pt.validate.query_frame(inp, extra_columns=["query"])
        queries = inp.reset_index(drop=True)
        found = self._searched.answers(list(map(str, queries["query"])), self.num_results, self.where, self.threads)
        rows = [
            (at, hit.id, 0.0 if hit.score is None else float(hit.score), rank + pt.model.FIRST_RANK, hit)
            for at, hits in enumerate(found)
            for rank, hit in enumerate(hits)
        ]
        kept = [name for name in queries.columns if name not in ("docno", "score", "rank", "text", "docid")]
        result = queries.loc[[at for at, *_ in rows], kept].reset_index(drop=True)
        result["docno"] = pd.Series([docno for _, docno, *_ in rows], dtype=object)
        result["score"] = pd.Series([score for _, _, score, *_ in rows], dtype="float64")
        result["rank"] = pd.Series([rank for *_, rank, _ in rows], dtype="int64")
        if self.text:
            texts = [hit.text for *_, hit in rows]
            if None in texts:
                raise InputError("Items must keep their texts for `text=True`. Got some without: keep_texts=True.")
            result["text"] = pd.Series(texts, dtype=object)
        return result

    def fuse_rank_cutoff(self, k: int) -> VizslaTransformer:
        """Return a transformer that asks for `k` items per query, or this one where it asks for fewer already."""
        if k >= self.num_results:
            return self
        options = {"where": self.where, "text": self.text, "threads": self.threads}
        return VizslaTransformer(self._searched, num_results=k, **options)
