"""HttpReranker: a re-ranking service in Cohere's shape, as a scorer."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from itertools import groupby
from time import time
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import numpy as np

from vizsla.candidates import Scores
from vizsla.checked import checked
from vizsla.errors import InputError, ScorerError, check_positive
from vizsla.text_scorer import TextScorer

if TYPE_CHECKING:
    from vizsla.dataset import Dataset

PASSING = (408, 425, 429, 500, 502, 503, 504)
"""Answers after which it is worth to ask again."""
MOST_BYTES = 64 << 20
MOST_WAIT_S = 300.0


class HttpReranker(TextScorer):
    """Asks a service that takes `{model, query, documents, top_n}` and answers `{results: [{index, relevance_score}]}`.

    A query's texts are sent in requests of at most `batch`. Answers that may pass (429, 500, …), broken connections and
    timeouts raise ScorerError: `Retrying(HttpReranker(…))` asks again, after what Retry-After says, for what was not
    answered yet. The key is read from the environment at every call; it is neither kept nor saved. Redirections are not
    followed.

    Parameters
    ----------
    texts : mapping or Dataset
        Item texts by id.
    url : str
        Where to ask: https, or http on this machine.
    model : str
        What the service calls its model; part of the fingerprint, so that cached scores belong to it.
    key_variable : str, optional
        The environment variable that holds the key, sent as a bearer token; None: none is sent.
    batch : int
        Texts a request.
    timeout_s : float
        Seconds to wait for an answer.
    scale : str
        The name of what the scores measure.

    Examples
    --------
    >>> HttpReranker({"a": "fig"}, "https://rerank.example/v2/rerank", model="rerank-v3.5")
    HttpReranker(https://rerank.example/v2/rerank, rerank-v3.5, 1 items)
    """

    @checked
    def __init__(
        self,
        texts: Mapping[str, str] | Dataset,
        url: str,
        *,
        model: str,
        key_variable: str | None = None,
        batch: int = 100,
        timeout_s: float = 30.0,
        scale: str = "reranker",
    ):
        super().__init__(texts, scale=scale)
        parts = urlsplit(url)
        local = parts.hostname in ("127.0.0.1", "::1", "localhost")
        if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and local)):
            raise InputError(f"`url` must begin with https://, or http:// on this machine. Got {url!r}.")
        if not timeout_s > 0:
            raise InputError(f"`timeout_s` must be above 0. Got {timeout_s!r}.")
        self.url, self.model, self.key_variable = url, model, key_variable
        self.batch, self.timeout_s = check_positive("batch", batch), timeout_s

    def __repr__(self) -> str:
        return f"HttpReranker({self.url}, {self.model}, {len(self._items):,} items)"

    @property
    def fingerprint(self) -> str:
        """The address and the model's name: a service that changes its model should change its name."""
        return f"http:{self.url}:{self.model}"

    def score_pairs(self, queries: list[str], texts: list[str]) -> Scores:
        """Ask for each query's texts."""
        scores: list[float] = []
        for query, some in self._requests(queries, texts):
            try:
                scores += self._asked(query, some)
            except ScorerError as failure:
                failure.answered, failure.sent = scores, len(scores) + len(some)
                raise
        return np.array(scores, np.float32)

    def _requests(self, queries: list[str], texts: list[str]) -> Iterator[tuple[str, list[str]]]:
        for query, run in groupby(zip(queries, texts, strict=True), key=lambda pair: pair[0]):
            row = [text for _, text in run]
            yield from ((query, row[start : start + self.batch]) for start in range(0, len(row), self.batch))

    def _asked(self, query: str, texts: list[str]) -> list[float]:
        body = {"model": self.model, "query": query, "documents": texts, "top_n": len(texts)}
        answer = self._sent(json.dumps(body).encode())
        try:
            return _scores(json.loads(answer), len(texts))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f"{self.url} must answer with a relevance_score for each of {len(texts)} texts. Got another: {error}."
            ) from error

    def _sent(self, body: bytes) -> bytes:
        request = Request(self.url, data=body, headers=self._headers(), method="POST")
        try:
            with build_opener(_NoRedirect).open(request, timeout=self.timeout_s) as answer:
                read: bytes = answer.read(MOST_BYTES + 1)
                broken = bool(answer.length) and len(read) <= MOST_BYTES
        except HTTPError as error:
            raise self._refused(error) from None  # its cause holds the request, and so the key
        except (URLError, OSError, HTTPException) as error:
            said = getattr(error, "reason", None) or str(error) or type(error).__name__
            raise ScorerError(f"{self.url} must answer. Got {said}.") from None
        if broken:
            raise ScorerError(f"{self.url} must answer. Got a connection that broke after {len(read)} bytes.")
        if len(read) > MOST_BYTES:
            raise InputError(f"{self.url} must answer with at most {MOST_BYTES} bytes. Got more.")
        return read

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key_variable is None:
            return headers
        key = os.environ.get(self.key_variable)
        if not key or not key.isascii() or not key.isprintable():
            raise InputError(f"The environment variable {self.key_variable} must hold the service's key. Got none.")
        return headers | {"Authorization": f"Bearer {key}"}

    def _refused(self, error: HTTPError) -> Exception:
        said = f"{self.url} must accept the request. Got HTTP {error.code}"
        wait = _wait_s(error.headers.get("Retry-After"))
        error.close()
        if error.code in PASSING:
            return ScorerError(f"{said}: ask again later, as Retrying does.", wait_s=wait)
        return InputError(f"{said}: look at the address, the model's name and the key.")


class _NoRedirect(HTTPRedirectHandler):
    """A key must not follow a redirection to another host."""

    def redirect_request(self, *given: Any) -> None:
        return None


def _scores(answer: Any, count: int) -> list[float]:
    """Return the scores in the texts' order; one must be there for each."""
    found = {int(result["index"]): float(result["relevance_score"]) for result in answer["results"]}
    if set(found) != set(range(count)) or not all(map(math.isfinite, found.values())):
        raise ValueError("an index or a score is missing")
    return [found[index] for index in range(count)]


def _wait_s(said: str | None) -> float | None:
    """Read Retry-After, in seconds or as a date; None where it says nothing useful.

    Examples
    --------
    >>> _wait_s("7"), _wait_s("soon"), _wait_s("Wed, 21 Oct 2015 07:28:00 GMT")
    (7.0, None, 0.0)
    """
    if said is None:
        return None
    try:
        seconds = float(said) if said.strip().isdigit() else parsedate_to_datetime(said).timestamp() - time()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(0.0, seconds), MOST_WAIT_S)
