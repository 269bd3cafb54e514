"""LateInteraction: the exact sum, over the tokens of a query, of the best match among the tokens of an item."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.base.encoder import Encoder
from vizsla.base.queries import Queries
from vizsla.base.recipe import builds
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.encoders.batching import ReadTexts
from vizsla.encoders.late import TokenVectors, WordEncoder
from vizsla.encoders.persistence import read_encoder, write_encoder
from vizsla.encoders.token_encoder import QueryTokens, TokenRows, check_gives_tokens
from vizsla.errors import InputError
from vizsla.text.streams import TextStream
from vizsla.typing import Float32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class LateInteraction(Retriever):
    """Scores by MaxSim: the sum, over the query's tokens, of the best inner product with a token of the item.

    A query is encoded once a call; scoring a pair is arithmetic, not a model call. A search scores every item, so it is
    exact, and slow for large catalogs: `bm25 >> late_interaction(…)` scores only what BM25 found. An item without
    tokens scores 0, and a query without tokens, or with nothing but zeros, finds nothing.

    Parameters
    ----------
    encoder : Encoder
        How queries become token vectors: an OnnxEncoder, a SentenceEncoder, a WordEncoder.
    tokens : TokenVectors
        The items' token vectors.

    Examples
    --------
    >>> from vizsla.base.encoder import FunctionEncoder
    >>> from vizsla.encoders.late import WordEncoder
    >>> letters = FunctionEncoder(lambda texts: [[t.count(c) for c in "fgip"] for t in texts], dim=4, name="fgip")
    >>> search = late_interaction({"a": "fig tree", "b": "ripe pear"}, WordEncoder(letters))
    >>> search("ripe fig").to_dict()
    {'0': {'a': 4.0, 'b': 3.0}}
    >>> print(search.explain("ripe fig", "a"))
    4.0000  late interaction: the best of 2 tokens for each of the query's, added up
    ├─ 1.0000  'ripe': token 1 of the item
    └─ 3.0000  'fig': token 1 of the item
    """

    kind = "late-interaction"
    scale = "late interaction"
    encoder: Encoder

    @validate_args
    def __init__(self, encoder: Encoder, tokens: TokenVectors):
        check_gives_tokens(encoder)
        if encoder.fingerprint != tokens.fingerprint:
            wanted = f"the one that made the tokens ({tokens.fingerprint!r})"
            raise InputError(f"`encoder` must be {wanted}. Got {encoder.fingerprint!r}.")
        if encoder.dim != tokens.dim:
            raise InputError(f"`encoder` must give the tokens' {tokens.dim} dimensions. Got {encoder.dim}.")
        self.encoder, self.tokens = encoder, tokens
        self._asking: Any = QueryTokens(encoder)

    @property
    def items(self) -> Strings:
        """Item ids by number."""
        return self.tokens.ids

    @property
    def nbytes(self) -> int:
        """Bytes of the token vectors and of the encoder."""
        return self.tokens.nbytes + self.encoder.nbytes

    def _byte_counts(self) -> dict[Any, int]:
        return {id(self.tokens): self.tokens.nbytes, **self.encoder._byte_counts()}

    def _live_parts(self) -> Iterable[Any]:
        return (self.encoder,)

    def __repr__(self) -> str:
        stored = f"{len(self.tokens.stored):,} tokens, {self.tokens.dim} dimensions, {self.tokens.stored.storage}"
        return f"LateInteraction({len(self.items):,} items, {stored})"

    def with_encoder(self, encoder: Encoder) -> Self:
        """Return the same with the encoder it was built with, or its base, where a load could not bring that back."""
        if encoder.fingerprint == self.encoder.fingerprint:
            return self._kept(type(self)(encoder, self.tokens))
        if isinstance(self.encoder, WordEncoder):
            return self._kept(type(self)(self.encoder.with_encoder(encoder), self.tokens))
        raise InputError(f"`encoder` must be {self.encoder.fingerprint!r}. Got {encoder.fingerprint!r}.")

    def _given_encoder(self, encoder: Encoder) -> Self:
        return self.with_encoder(encoder)

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        asked = self._query_tokens(queries)
        numbers = np.arange(len(self.items), dtype=np.int32) if filter is None else filter.numbers
        rows = [numbers if says else numbers[:0] for says in asked.says().tolist()]
        everything = Candidates.from_rows(rows, catalog=self.items)
        scored = self._score(queries, everything, filter, threads)
        return everything.with_scores(scored, k=k).with_stats(scored.stats.with_exact(True))

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        counts = np.diff(candidates.offsets)
        rows = np.repeat(np.arange(len(counts)), counts)
        scores = self._max_sims(self._query_tokens(queries), rows, candidates, threads)
        read = np.diff(self.tokens.offsets)[candidates.items].sum() * self.tokens.dim * self.tokens.stored.rows.itemsize
        return PairScores(scores, Stats(scored=len(scores), bytes=int(read)))

    def _query_tokens(self, queries: Queries) -> TokenRows:
        tokens: Any = queries.encoded(self._asking)
        return tokens  # type: ignore[no-any-return]

    def _max_sims(
        self, asked: TokenRows, rows: NDArray[np.int64], candidates: Candidates, threads: int
    ) -> Float32Array:
        stored = self.tokens.stored
        given = (asked.rows, asked.offsets, stored.rows, stored.low, stored.step, self.tokens.offsets)
        scores: Any = _native.max_sims(*given, rows, candidates.items, threads)
        return np.frombuffer(scores, np.float32)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        asked, tokens = self._query_tokens(queries).rows.astype(np.float64), self.tokens.item(item).astype(np.float64)
        score = self._score_one(queries, item)
        what = f"late interaction: the best of {len(tokens)} tokens for each of the query's, added up"
        if not len(tokens) or not len(asked):
            return Explanation(score, what)
        products, names = asked @ tokens.T, self.encoder.query_words(queries.texts[0])  # type: ignore[attr-defined]
        best = products.argmax(axis=1).tolist()
        shares = [float(row[at]) for row, at in zip(products, best, strict=True)]
        reasons = [f"{name!r}: token {at + 1} of the item" for name, at in zip(names, best, strict=True)]
        return Explanation(score, what, [Explanation(*pair) for pair in zip(shares, reasons, strict=True)])

    def _write(self, writer: ArtifactWriter) -> None:
        write_encoder(writer, self.encoder)
        writer.child("tokens", self.tokens)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        tokens = reader.child("tokens", TokenVectors)
        return cls(read_encoder(reader), tokens)


@builds("late_interaction", data="items")
@validate_args
def late_interaction(
    items: Any,
    encoder: Encoder,
    *,
    ids: Iterable[str] | None = None,
    storage: str = "float16",
    path: str | Path | None = None,
) -> LateInteraction:
    """Encode a catalog token by token, for exact late interaction.

    Parameters
    ----------
    items
        A Dataset, a mapping of id to text, texts, or (id, text) pairs.
    encoder : Encoder
        One that gives a vector for every token: an OnnxEncoder, a SentenceEncoder, or WordEncoder(any other).
    ids : iterable of str, optional
        Ids for texts that have none.
    storage : {"float16", "int8", "float32"}
        How the vectors' numbers are kept.
    path : path, optional
        Where to write the token vectors, as an artifact that is memory-mapped; the same call continues after a kill.
        One that is there is used, whatever its `storage`, if it is this encoder's, and these items' and texts'; another
        raises. In memory unless given.
    """
    check_gives_tokens(encoder)
    if path is None:
        return LateInteraction(encoder, TokenVectors.build(items, encoder, ids=ids, storage=storage))
    if Path(path).exists():
        return LateInteraction(encoder, _opened(path, TextStream(items, ids)))
    return LateInteraction(encoder, TokenVectors.encode(items, encoder, path, ids=ids, storage=storage))


def _opened(path: str | Path, stream: TextStream) -> TokenVectors:
    """Load token vectors; those of other items raise, or a search would be over another catalog."""
    tokens, read = TokenVectors.load(path), ReadTexts(stream)
    for _ in read:
        pass
    others = f"{len(tokens):,} others" if tokens.ids != stream.ids else "other texts under the same ids"
    if tokens.ids != stream.ids or tokens.texts not in (None, read.checksum):
        raise InputError(
            f"`path` must hold the tokens of these {len(stream.ids):,} items. Got {path}, which holds those of "
            f"{others}: remove it, or give another path."
        )
    return tokens
