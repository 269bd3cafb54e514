"""HttpEncoder: vectors from an embedding service."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Self
from urllib.parse import urlsplit

import numpy as np

from vizsla._internal.terminal import abbreviate
from vizsla.base.encoder import Encoder, check_texts
from vizsla.core.linalg import unit_rows
from vizsla.core.validation import validate_args
from vizsla.errors import InputError, ServiceError, check_choice, check_positive
from vizsla.io.json_service import MAX_TIMEOUT_S, Deadline, JsonService, PartlyAnswered, backoff_s, call_all
from vizsla.typing import Float32Array

SHAPES = ("openai", "cohere", "tei")
MAX_BATCH_VALUES = 500_000
"""Numbers that an answer may hold: more do not fit into the bytes that are read of one."""
PAUSE_S, MOST_PAUSE_S = 0.5, 30.0
SERVICES_VARIABLE = "VIZSLA_SERVICES"
"""Which services an artifact may make this machine ask: their origins, with commas between them."""
QUERY, ITEM = "search_query", "search_document"
STORED = ("url", "model", "shape", "shorten", "key_variable", "headers", "query_prompt", "item_prompt", "normalize")


class HttpEncoder(Encoder):
    """Requests vectors from a service, in one of three API formats.

    "openai" sends `{model, input}` and reads `{data: [{index, embedding}]}` (`/v1/embeddings`: OpenAI, vLLM, Ollama);
    "cohere" sends `{model, texts, input_type}` and reads `{embeddings: {float: …}}` (`/v2/embed`); "tei" sends
    `{inputs}` and reads a list of vectors (`/embed`: Text Embeddings Inference).

    A text that comes several times in a call is sent once; an `EmbeddingCache` around the encoder sends no text twice.
    Answers that may pass (429, 500, …), broken connections and timeouts are asked for again, after what Retry-After
    says or a random pause that doubles. What fails for good raises ServiceError or InputError with the service's own
    message.

    Keys are read from the environment at every request, and neither kept, shown nor saved. An artifact holds address,
    model and the names of the variables. Loaded from an artifact, the encoder asks only services whose origin is in
    the environment variable `VIZSLA_SERVICES` (such as `https://api.openai.com`): otherwise an artifact of unknown
    origin could send the key of one service to another. `.with_encoder(HttpEncoder(…))` needs no such permission.

    Parameters
    ----------
    url : str
        Where to ask: https, or http on this machine; without a user, a password and a key.
    model : str
        Name of the model at the service; part of the fingerprint.
    dim : int
        The width of its vectors.
    shape : {"openai", "cohere", "tei"}
        How requests and answers look.
    shorten : bool
        Ask the service for vectors of `dim` numbers, where its model has longer ones ("openai" and "cohere").
    key_variable : str, optional
        The environment variable that holds the key, sent as a bearer token.
    headers : mapping of str to str, optional
        What else is sent. A value that begins with `$` names an environment variable: `{"api-key": "$AZURE_KEY"}`.
    query_prompt, item_prompt : str
        Put before every query or item text, as some models want: "query: ".
    normalize : bool
        Bring rows to length 1, so that an inner product is a cosine.
    batch : int
        Texts a request.
    concurrency : int
        Requests at a time.
    retries : int
        How often a failed request is repeated.
    timeout_s : float
        Seconds that one request may take, from looking the host up to the last byte of the answer.
    deadline_s : float
        Seconds that a whole call may take, with all requests and pauses.
    seed : int
        Fixes the jitter of pauses.

    Examples
    --------
    >>> HttpEncoder("https://api.openai.com/v1/embeddings", model="text-embedding-3-small", dim=1536)
    HttpEncoder(https://api.openai.com/v1/embeddings, text-embedding-3-small, 1,536 dimensions)
    """

    @validate_args
    def __init__(
        self,
        url: str,
        *,
        model: str,
        dim: int,
        shape: str = "openai",
        shorten: bool = False,
        key_variable: str | None = None,
        headers: Mapping[str, str] | None = None,
        query_prompt: str = "",
        item_prompt: str = "",
        normalize: bool = True,
        batch: int = 64,
        concurrency: int = 4,
        retries: int = 4,
        timeout_s: float = 60.0,
        deadline_s: float = 3600.0,
        seed: int = 0,
    ):
        self._service = JsonService(url, key_variable=key_variable, headers=headers)
        if self._service.holds_key:
            raise InputError("`url` must hold no key: it is saved. Got one: give it with `key_variable` or `headers`.")
        check_choice("shape", shape, SHAPES)
        if shorten and shape == "tei":
            raise InputError('`shorten` must be False for the shape "tei", which has no such option.')
        self.model, self.shape, self.shorten = model, shape, shorten
        self._dim, self.batch = check_positive("dim", dim), check_positive("batch", batch)
        if self._dim * self.batch > MAX_BATCH_VALUES:
            most = max(1, MAX_BATCH_VALUES // self._dim)
            raise InputError(f"`batch` must be at most {most} for vectors of {self._dim} numbers. Got {batch}.")
        self.query_prompt, self.item_prompt, self.normalize = query_prompt, item_prompt, normalize
        self.concurrency = check_positive("concurrency", concurrency)
        if type(retries) is not int or retries < 0:
            raise InputError(f"`retries` must be a whole number from 0 on. Got {retries!r:.40}.")
        for name, seconds in (("timeout_s", timeout_s), ("deadline_s", deadline_s)):
            if not 0 < seconds <= MAX_TIMEOUT_S:
                raise InputError(f"`{name}` must be above 0 and at most {MAX_TIMEOUT_S:g}. Got {seconds!r}.")
        self.retries, self.timeout_s, self.deadline_s = retries, timeout_s, deadline_s
        self._random, self._from_artifact = random.Random(seed), False
        self._sleep: Callable[[float], None] = time.sleep

    def __repr__(self) -> str:
        return abbreviate(f"HttpEncoder({self.url}, {self.model}", f", {self._dim:,} dimensions)")

    @property
    def url(self) -> str:
        """The address, without what stands behind its `?`."""
        return self._service.url

    @property
    def dim(self) -> int:
        """The width that was declared; answers of another width raise."""
        return self._dim

    @property
    def fingerprint(self) -> str:
        """Address, model and width, with the prompts: a service that changes its model should change its name."""
        told = (self.query_prompt, self.item_prompt, self.normalize)
        rules = "" if told == ("", "", True) else f":{told!r}"
        return f"http:{self.shape}:{self._service.identity}:{self.model}:{self._dim}{rules}"

    @property
    def reference(self) -> dict[str, Any]:
        """What an artifact remembers, to ask the service again: names of variables, and no key."""
        service = {"url": self._service.address, "key_variable": self._service.key_variable}
        prompts = {"query_prompt": self.query_prompt, "item_prompt": self.item_prompt, "normalize": self.normalize}
        asked = {"model": self.model, "shape": self.shape, "shorten": self.shorten, "headers": self._service.headers}
        return {"kind": "http", "options": {**service, **asked, **prompts}}

    @classmethod
    def restored(cls, description: dict[str, Any]) -> Self:
        """Return the encoder that an artifact describes; it asks only services that the environment allows."""
        options, dim = description.get("options"), description.get("dim")
        if not isinstance(options, dict) or set(options) != set(STORED) or type(dim) is not int:
            raise InputError("An artifact must describe its embedding service by known options. Got others.")
        headers, variable = options["headers"], options["key_variable"]
        texts = [options[name] for name in ("url", "model", "shape", "query_prompt", "item_prompt")]
        flags = [type(options[name]) is bool for name in ("shorten", "normalize")]
        if not all(isinstance(text, str) for text in texts) or not all(flags) or not isinstance(headers, dict):
            raise InputError("An artifact must describe its embedding service by options of their types. Got others.")
        if variable is not None and not isinstance(variable, str):
            raise InputError("An artifact must name the variable of a key by a text. Got another.")
        made = cls(**options, dim=dim, batch=max(1, min(64, MAX_BATCH_VALUES // max(1, dim))))
        if made.fingerprint != description.get("fingerprint"):
            raise InputError("An artifact must describe the service that its vectors came from. Got another.")
        made._from_artifact = True
        return made

    def queries(self, texts: Sequence[str]) -> Float32Array:
        """Ask for the vectors of query texts, each after the query prompt."""
        return self._rows([self.query_prompt + text for text in check_texts(texts)], QUERY)

    def items(self, texts: Sequence[str]) -> Float32Array:
        """Ask for the vectors of item texts, each after the item prompt."""
        return self._rows([self.item_prompt + text for text in check_texts(texts)], ITEM)

    def _rows(self, texts: list[str], side: str) -> Float32Array:
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return np.zeros((0, self._dim), np.float32)
        if self._from_artifact:
            self._check_allowed()
        parts = [distinct[start : start + self.batch] for start in range(0, len(distinct), self.batch)]
        try:
            answers = call_all(partial(self._patiently, side, Deadline(self.deadline_s)), parts, self.concurrency)
        except PartlyAnswered as partly:
            raise partly.cause from None
        rows = np.concatenate(answers)
        places = {text: at for at, text in enumerate(distinct)}
        made = rows[[places[text] for text in texts]]
        return unit_rows(made) if self.normalize else made

    def _patiently(self, side: str, deadline: Deadline, texts: list[str]) -> Float32Array:
        """Ask until there is an answer, the attempts are used up, or the next one would come too late."""
        for attempt in chain(range(self.retries), [None]):
            try:
                return self._asked(side, texts, min(self.timeout_s, deadline.left()))
            except ServiceError as failure:
                if attempt is None:
                    raise
                pause = backoff_s(attempt, PAUSE_S, MOST_PAUSE_S, self._random, failure.wait_s)
                try:
                    late = pause >= deadline.left()
                except TimeoutError:
                    late = True
                if late:
                    raise ServiceError(f"{failure} It was not answered within {self.deadline_s:g} s.") from None
                self._sleep(pause)
            except TimeoutError:
                raise ServiceError(f"{self.url} must answer within {self.deadline_s:g} s. Got no answer.") from None
        raise AssertionError("the last attempt returns or raises")  # pragma: no cover

    def _asked(self, side: str, texts: list[str], timeout_s: float) -> Float32Array:
        read = partial(_vectors, shape=self.shape, count=len(texts), dim=self._dim)
        expected = f"{len(texts)} vectors of {self._dim} finite numbers"
        return self._service.ask(self._body(side, texts), timeout_s, read, expected)

    def _body(self, side: str, texts: list[str]) -> dict[str, Any]:
        if self.shape == "tei":
            return {"inputs": texts, "truncate": True, "normalize": self.normalize}
        if self.shape == "cohere":
            body = {"model": self.model, "texts": texts, "input_type": side, "embedding_types": ["float"]}
            return body | ({"output_dimension": self._dim} if self.shorten else {})
        body = {"model": self.model, "input": texts, "encoding_format": "float"}
        return body | ({"dimensions": self._dim} if self.shorten else {})

    def _check_allowed(self) -> None:
        parts = urlsplit(self._service.address)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in [each.strip().rstrip("/") for each in os.environ.get(SERVICES_VARIABLE, "").split(",")]:
            raise InputError(
                f"An artifact's service is never asked unless you allow it. If you trust {origin}, set "
                f"{SERVICES_VARIABLE}={origin}, or give the encoder itself: `.with_encoder(HttpEncoder(…))`."
            )


def _vectors(answer: Any, *, shape: str, count: int, dim: int) -> Float32Array:
    """Return the vectors in the texts' order; there must be one for each, of finite numbers."""
    rows = answer
    if shape == "cohere":
        rows = answer["embeddings"]["float"]
    elif shape == "openai":
        found: dict[int, Any] = {}
        for each in answer["data"]:
            index = each["index"]
            if type(index) is not int or not 0 <= index < count or index in found:
                raise ValueError(f"an index must be one of {count} whole numbers, each once, not {index!r:.40}")
            found[index] = each["embedding"]
        rows = [found[index] for index in sorted(found)]
    if not isinstance(rows, list) or len(rows) != count:
        raise ValueError(f"{len(rows) if isinstance(rows, list) else 'no'} vectors came")
    widths = {len(row) if isinstance(row, list) else -1 for row in rows}
    if widths != {dim}:
        raise ValueError(f"a vector has {max(widths)} numbers" if -1 not in widths else "a vector is no list")
    matrix = np.array(rows)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fi":
        raise ValueError("a vector holds what is no number")
    with np.errstate(over="ignore"):
        vectors = np.ascontiguousarray(matrix, np.float32)
    if not np.isfinite(vectors).all():
        raise ValueError("a vector holds NaN, infinity or a number that float32 does not hold")
    return vectors
