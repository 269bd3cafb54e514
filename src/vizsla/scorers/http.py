"""HttpReranker: a re-ranking service as a scorer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla.base.scorer import Scorer
from vizsla.core.validation import validate_args
from vizsla.errors import InputError, ScorerError, ServiceError, check_choice, check_positive
from vizsla.io.json_service import MAX_TIMEOUT_S, JsonService, PartlyAnswered, call_all
from vizsla.scorers.text import TextScorer
from vizsla.typing import Float32Array

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset

MAX_FLOAT32 = float(np.finfo(np.float32).max)
SHAPES = ("cohere", "tei")


class HttpReranker(TextScorer):
    """Requests scores of texts from a service, in one of two API formats.

    "cohere" sends `{model, query, documents, top_n}` and reads `{results: [{index, relevance_score}]}`, as Cohere,
    Jina, vLLM and Vizsla's own service do; "tei" sends `{query, texts}` and reads `[{index, score}]`, as Hugging Face's
    Text Embeddings Inference does.

    A query's texts are sent in requests of at most `batch`. Answers that may pass (429, 500, …), broken connections and
    timeouts raise ScorerError: `Retrying(HttpReranker(…))` asks again, after what Retry-After says, for what was not
    answered yet. The key is read from the environment at every call; it is neither kept nor saved. Redirections are not
    followed. What stands behind the `?` of an address may be a secret: it is sent, and shown nowhere.

    Parameters
    ----------
    texts : mapping, Dataset, Retriever or Engine
        Item texts by id, or what keeps them.
    url : str
        Where to ask: https, or http on this machine; without a user and a password.
    model : str
        What the service calls its model; part of the fingerprint, so that cached scores belong to it.
    shape : {"cohere", "tei"}
        How requests and answers look.
    key_variable : str, optional
        The environment variable that holds the key, sent as a bearer token; None: none is sent.
    headers : mapping of str to str, optional
        What else is sent. A value that begins with `$` names an environment variable: `{"api-key": "$AZURE_KEY"}`.
    batch : int
        Texts a request.
    concurrency : int
        Requests at a time.
    timeout_s : float
        Seconds that a request may take, from looking the host up to the last byte of the answer.
    scale : str
        The name of what the scores measure.

    Examples
    --------
    >>> HttpReranker({"a": "fig"}, "https://rerank.example/v2/rerank", model="rerank-v3.5")
    HttpReranker(https://rerank.example/v2/rerank, rerank-v3.5, 1 items)
    """

    @validate_args
    def __init__(
        self,
        texts: Mapping[str, str] | Dataset | Scorer,
        url: str,
        *,
        model: str,
        shape: str = "cohere",
        key_variable: str | None = None,
        headers: Mapping[str, str] | None = None,
        batch: int = 100,
        concurrency: int = 1,
        timeout_s: float = 30.0,
        scale: str = "reranker",
    ):
        super().__init__(texts, scale=scale)
        if not 0 < timeout_s <= MAX_TIMEOUT_S:
            raise InputError(f"`timeout_s` must be above 0 and at most {MAX_TIMEOUT_S:g}. Got {timeout_s!r}.")
        check_choice("shape", shape, SHAPES)
        self._service = JsonService(url, key_variable=key_variable, headers=headers)
        self.model, self.shape, self.timeout_s = model, shape, timeout_s
        self.batch, self.concurrency = check_positive("batch", batch), check_positive("concurrency", concurrency)

    def __repr__(self) -> str:
        return f"HttpReranker({self.url}, {self.model}, {len(self.items):,} items)"

    @property
    def url(self) -> str:
        """The address, without what stands behind its `?`."""
        return self._service.url

    @property
    def fingerprint(self) -> str:
        """The address and the model's name: a service that changes its model should change its name.

        Of what stands behind the `?` of the address, parameters whose names say that they are keys (`api_key`, `token`,
        `sig`, …) are left out, so that scores stay valid when a key is replaced. Others are part of it as a digest.
        """
        return f"http:{self._service.identity}:{self.model}"

    def score_pairs(self, queries: list[str], texts: list[str]) -> Float32Array:
        """Ask for each query's texts."""
        requests = list(self._requests(queries, texts))
        try:
            answers = call_all(self._asked, requests, self.concurrency)
        except PartlyAnswered as partly:
            if not isinstance(partly.cause, ServiceError):
                raise partly.cause from None
            known = list(chain.from_iterable(partly.answered))
            sent = sum(len(some) for _, some in requests[: partly.begun])
            message, wait = f"{partly.cause} Retrying does that.", partly.cause.wait_s
            raise ScorerError(message, wait_s=wait, answered=known, sent=sent) from None
        return np.array(list(chain.from_iterable(answers)), np.float32)

    def _requests(self, queries: list[str], texts: list[str]) -> Iterator[tuple[str, list[str]]]:
        for query, run in groupby(zip(queries, texts, strict=True), key=lambda pair: pair[0]):
            row = [text for _, text in run]
            yield from ((query, row[start : start + self.batch]) for start in range(0, len(row), self.batch))

    def _asked(self, request: tuple[str, list[str]]) -> list[float]:
        query, texts = request
        if self.shape == "tei":
            body: dict[str, Any] = {"query": query, "texts": texts, "truncate": True}
        else:
            body = {"model": self.model, "query": query, "documents": texts, "top_n": len(texts)}
        read = partial(_scores, count=len(texts), tei=self.shape == "tei")
        name = "score" if self.shape == "tei" else "relevance_score"
        return self._service.ask(body, self.timeout_s, read, f"a {name} for each of {len(texts)} texts")


def _scores(answer: Any, count: int, *, tei: bool) -> list[float]:
    """Return the scores in the texts' order; there must be one for each, that float32 can hold."""
    found: dict[int, float] = {}
    for result in answer if tei else answer["results"]:
        index, score = result["index"], result["score" if tei else "relevance_score"]
        if type(index) is not int or not 0 <= index < count or index in found:
            raise ValueError(f"an index must be one of {count} whole numbers, each once, not {index!r}")
        if type(score) not in (int, float) or not abs(score) <= MAX_FLOAT32:
            raise ValueError(f"a score must be a number that float32 holds, not {score!r}")
        found[index] = float(score)
    if len(found) != count:
        raise ValueError("an index is missing")
    return [found[index] for index in range(count)]
