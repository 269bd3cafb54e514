"""LsaEncoder: n-grams folded into a few hundred dimensions, so that related words come near each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla.artifacts.artifact import Artifact
from vizsla.base.encoder import Encoder
from vizsla.core.linalg import right_singular_vectors, unit_rows
from vizsla.core.validation import check_seed, check_type, validate_args
from vizsla.encoders.batching import Sample
from vizsla.errors import InputError, check_positive
from vizsla.text.ngrams import NgramTfidf
from vizsla.typing import Float32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class LsaEncoder(Encoder, Artifact):
    """Latent semantic analysis: TF-IDF rows times the leading right singular vectors of the catalog's rows.

    Vectors have length 1, so that an inner product is a cosine; a text without any known n-gram becomes zeros.

    Parameters
    ----------
    ngrams : NgramTfidf
        How a text becomes a sparse row.
    projection : float32 array, features × dimensions
        The singular vectors.

    Examples
    --------
    >>> texts = ["fig tree", "apple tree", "fig jam", "apple jam", "stone bridge"]
    >>> lsa = LsaEncoder.fit(texts, dim=3)
    >>> near = lsa.queries(["figs"]) @ lsa.items(texts).T
    >>> [texts[i] for i in np.argsort(-near[0])[:2]]
    ['fig jam', 'fig tree']
    """

    kind = "lsa"

    @validate_args
    def __init__(self, ngrams: NgramTfidf, projection: Float32Array):
        check_type("projection", projection, np.ndarray, "an array")
        if projection.ndim != 2 or projection.shape[0] != ngrams.dim or not projection.shape[1]:
            raise InputError(f"`projection` must have {ngrams.dim} rows and some columns. Got {projection.shape}.")
        self.ngrams, self.projection = ngrams, projection

    @classmethod
    @validate_args
    def fit(
        cls,
        texts: Iterable[str],
        *,
        dim: int = 256,
        unigrams: int = 100_000,
        bigrams: int = 50_000,
        trigrams: int = 50_000,
        min_texts: int = 1,
        sample: int = 200_000,
        rounds: int = 3,
        seed: int = 0,
    ) -> Self:
        """Learn from the catalog's texts, read once.

        Parameters
        ----------
        texts : iterable of str
            The items' texts.
        dim : int
            How many dimensions; fewer when the texts have no more.
        unigrams, bigrams, trigrams, min_texts : int
            The vocabulary, as in `NgramTfidf.fit`. Each n-gram takes 4 · `dim` bytes.
        sample : int
            Texts, drawn at random, that the dimensions are computed from; all count in the vocabulary.
        rounds : int
            Passes over the rows that sharpen the dimensions.
        seed : int
            Fixes every random choice.
        """
        check_positive("dim", dim)
        check_seed(seed)
        drawn = Sample(texts, sample, seed=seed)
        ngrams = NgramTfidf.fit(
            drawn, unigrams=unigrams, bigrams=bigrams, trigrams=trigrams, min_texts=min_texts, unseen="drop"
        )
        if not ngrams.dim:
            raise InputError("`texts` must hold some words. Got none.")
        rows = ngrams.queries(drawn.texts).to_scipy()
        return cls(ngrams, right_singular_vectors(rows, dim, rounds=check_positive("rounds", rounds), seed=seed))

    @property
    def dim(self) -> int:
        """The number of dimensions."""
        return int(self.projection.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the n-grams and the projection."""
        flat: Any = np.ascontiguousarray(self.projection).reshape(-1).view(np.uint8)
        return f"lsa:{_native.checksum(flat):016x}:{self.ngrams.fingerprint}"

    @property
    def nbytes(self) -> int:
        """Memory of the vocabularies and the projection."""
        return int(self.ngrams.nbytes + self.projection.nbytes)

    def queries(self, texts: Sequence[str]) -> Float32Array:
        """Encode texts to rows of length 1, or zeros."""
        rows: Float32Array = np.asarray(self.ngrams.queries(texts).to_scipy() @ self.projection, np.float32)
        # What is left of a text that lies outside the dimensions is rounding noise, not meaning.
        return unit_rows(rows, least=1e-6)

    def __repr__(self) -> str:
        return f"LsaEncoder({self.dim:,} dimensions, {self.ngrams!r})"

    def _write(self, writer: ArtifactWriter) -> None:
        writer.child("ngrams", self.ngrams)
        writer.array("projection", self.projection)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        return cls(reader.child("ngrams", NgramTfidf), reader.array("projection", np.float32, ndim=2))
