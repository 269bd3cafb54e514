"""Candidates: which retrievers are worth trying on a dataset, as recipes by name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from vizsla.base.encoder import Encoder
from vizsla.base.recipe import NESTED_SETTINGS, Recipe
from vizsla.base.retriever import Retriever
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.errors import VizslaError
from vizsla.learning.selection import ChoiceWarning

BASELINE, VECTORS = "bm25", "vectors"
"""What is always tried, and what an encoder's vectors are called."""
LSA_DIMENSIONS = 192
TFIDF_ENTRIES, LONG_TEXT_WORDS = 192, 40
"""For texts of more words, rows with their heaviest n-grams alone are tried as well: on descriptions of 64 words they
take 2.5 in place of 3.5 kB per item."""
SAMPLED_ITEMS = 200
CODE_BYTES = (32, 64)
"""Sizes of product quantizer codes that are tried."""
HALF_LIVES = (30.0, 90.0)
"""Days after which a click counts half, for logs that are long enough to tell."""


MODELS = ("encoder", "scorer", "model", "analyzer")
"""Which bindings recipes name."""


class Candidate(NamedTuple):
    """A retriever that may be chosen.

    Attributes
    ----------
    name : str
        Its name, by which others refer to it as their base.
    family : str
        Of each family the best is kept; families are fused.
    recipe : Recipe
        How it is built; a base is named by its name.
    learns : bool
        Whether clicks teach it anything, so that its quality depends on how many there are.
    enters : bool
        Whether it may be chosen; else it is there only as the base of others.
    """

    name: str
    family: str
    recipe: Recipe
    learns: bool = False
    enters: bool = True

    @property
    def bases(self) -> list[str]:
        """The names of candidates that it is made of."""
        return self.recipe.members


def proposed(dataset: Dataset, *, encoder: Encoder | None = None) -> dict[str, Candidate]:
    """Return what is worth trying: each candidate by its name, bases before what is built on them.

    Parameters
    ----------
    dataset : Dataset
        Items, and clicks where there are any.
    encoder : Encoder, optional
        A dense encoder of the user's; without one, latent semantic analysis of the items stands in.

    Examples
    --------
    >>> fruit = Dataset.of({"f": "a fig", "p": "a pear"}, clicks=[("sweet", "f")])
    >>> list(proposed(fruit))[:3]
    ['bm25', 'bm25_short', 'tokens']
    """
    clicked = bool(dataset.clicks.nnz)
    found = [Candidate(BASELINE, "words", Recipe.of("bm25"))]
    found.append(Candidate("bm25_short", "words", Recipe.of("bm25", k1=0.9, b=0.4)))
    if clicked and any(item.title for item, _ in zip(dataset.items, range(SAMPLED_ITEMS), strict=False)):
        found.append(Candidate("bm25_fields", "words", Recipe.of("bm25", fields="learn"), True))
    found.append(Candidate("tokens", "tokens", Recipe.of("tokens"), clicked))
    found.append(Candidate("tfidf", "n-grams", Recipe.of("tfidf")))
    if clicked:
        found.append(Candidate("bm25_clicks", "n-grams", _adapted(BASELINE, "xs"), True))
        found.append(Candidate("tfidf_clicks", "n-grams", _adapted("tfidf", "xs"), True))
        if _mean_words(dataset) > LONG_TEXT_WORDS:
            short = Recipe.of("tfidf", entries=TFIDF_ENTRIES)
            found.append(Candidate("tfidf_short", "n-grams", short, enters=False))
            found.append(Candidate("tfidf_short_clicks", "n-grams", _adapted("tfidf_short", "xs"), True))
        found += _memories(dataset)
        found.append(Candidate("tree", "tree", Recipe.of("xrlinear"), True))
    found += _vectors(dataset, encoder, clicked)
    return {each.name: each for each in found}


def _mean_words(dataset: Dataset) -> float:
    counts = [len(item.default_text().split()) for item, _ in zip(dataset.items, range(SAMPLED_ITEMS), strict=False)]
    return sum(counts) / max(len(counts), 1)


def _adapted(base: str, variant: str) -> Recipe:
    return Recipe.of("pefa", base=base, variant=variant)


def _memories(dataset: Dataset) -> list[Candidate]:
    """Return memories of clicks with little and with much doubt, and with clicks that age where there are times."""
    found = [Candidate("memory", "memory", Recipe.of("click_memory"), True)]
    found.append(Candidate("memory_sure", "memory", Recipe.of("click_memory", prior=1.0), True))
    found.append(Candidate("memory_doubting", "memory", Recipe.of("click_memory", prior=10.0), True))
    if dataset.events is not None and len(dataset.events.times):
        days = float(dataset.events.times.max() - dataset.events.times.min()) / 86400
        for half_life in HALF_LIVES:
            if days > half_life:
                name = f"memory_{half_life:.0f}_days"
                found.append(Candidate(name, "memory", Recipe.of("click_memory", half_life=half_life), True))
    return found


def _vectors(dataset: Dataset, encoder: Encoder | None, clicked: bool) -> list[Candidate]:
    given = encoder is not None
    if encoder is None:
        if len(dataset.items) < LSA_DIMENSIONS:
            return []
        encoder = _lsa(dataset)
    found = [Candidate(VECTORS, "vectors", Recipe.of("dense", encoder=encoder))]
    if clicked:
        found.append(Candidate("vectors_clicks", "vectors", _adapted(VECTORS, "max"), True))
        found.append(Candidate("vectors_moved", "vectors", _adapted(VECTORS, "xs"), True))
    if given and clicked:
        for size in CODE_BYTES:
            found.append(Candidate(f"codes_{size}_clicks", "codes", Recipe.of("jpq", base=VECTORS, bytes=size), True))
    for size in CODE_BYTES if given else ():
        recipe = Recipe.of("dense", encoder=encoder, index="pq", bytes=size)
        found.append(Candidate(f"codes_{size}", "codes", recipe))
    return found


def _lsa(dataset: Dataset) -> LsaEncoder:
    return LsaEncoder.fit((item.default_text() for item in dataset.items), dim=LSA_DIMENSIONS)


def own_encoder(dataset: Dataset, candidates: Mapping[str, Candidate]) -> dict[str, Encoder]:
    """Return what candidates that need an encoder are bound to where none was given, fitted again to the items."""
    needed = any("encoder" in candidate.recipe.settings for candidate in candidates.values())
    return {"encoder": _lsa(dataset)} if needed and len(dataset.items) >= LSA_DIMENSIONS else {}


class Workshop:
    """Builds candidates over one dataset, each once.

    Parameters
    ----------
    dataset : Dataset
        The training data.
    candidates : mapping of str to Candidate
        What can be built.
    bindings : mapping, optional
        Live objects that recipes name.
    threads : int
        How many to use.
    """

    def __init__(
        self,
        dataset: Dataset,
        candidates: Mapping[str, Candidate],
        *,
        bindings: Mapping[str, Any] | None = None,
        threads: int = 1,
    ):
        self.dataset, self.candidates, self._threads = dataset, candidates, threads
        self.bindings = dict(bindings or {})
        self._built: dict[str, Retriever] = {}

    def built(self, name: str) -> Retriever:
        """Return a candidate, built over the dataset."""
        if name not in self._built:
            candidate = self.candidates[name]
            bases = {base: self.built(base) for base in candidate.bases}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ChoiceWarning)  # what learned nothing is seen by its quality
                self._built[name] = candidate.recipe.build(
                    self.dataset,
                    threads=self._threads,
                    members=bases,
                    bindings={key: value for key, value in self.bindings.items() if key in MODELS},
                )
        return self._built[name]

    def emptied(self) -> Workshop:
        """Return a workshop of the same that has built nothing yet, to travel to a worker."""
        return Workshop(self.dataset, self.candidates, bindings=self.bindings, threads=self._threads)

    def __contains__(self, name: str) -> bool:
        return name in self._built

    def settled(self, name: str) -> Recipe:
        """Return the recipe of a candidate with the settings that it has chosen for itself, bases still named."""
        given = self.candidates[name].recipe
        try:
            known = self.built(name).recipe
        except VizslaError:  # what has no recipe of its own keeps the one that it was built by
            return given
        chosen = {key: value for key, value in known.settings.items() if key not in (*NESTED_SETTINGS, "encoder")}
        return given.but(**chosen) if known.kind == given.kind else given
