"""OnnxEncoder: sentence embeddings by ONNX Runtime, without torch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property, import_extra, typed_errors
from vizsla._internal.terminal import abbreviate
from vizsla.artifacts import strict_json
from vizsla.artifacts.manifest import NAME
from vizsla.base.encoder import check_texts
from vizsla.core.linalg import unit_rows
from vizsla.core.validation import validate_args
from vizsla.encoders.batching import batch_for, by_length, same_length_batches
from vizsla.encoders.token_encoder import TokenEncoder, TokenRows
from vizsla.errors import InputError, check_choice, check_positive
from vizsla.typing import Float32Array

POOLINGS = ("mean", "cls")


@dataclass(frozen=True)
class OnnxSettings:
    """What turns the model's output into vectors.

    Parameters
    ----------
    query_prompt, item_prompt : str
        Put before every query or item text.
    normalize : bool
        Bring rows to length 1.
    max_tokens : int
        Maximum number of tokens per text.
    pooling : {"mean", "cls"}
        How the tokens' vectors are pooled.

    Examples
    --------
    >>> OnnxSettings(max_tokens=128).pooling
    'mean'
    """

    query_prompt: str = ""
    item_prompt: str = ""
    normalize: bool = True
    max_tokens: int = 512
    pooling: str = "mean"

    def __post_init__(self) -> None:
        check_positive("max_tokens", self.max_tokens)
        check_choice("pooling", self.pooling, POOLINGS)
        for name in ("query_prompt", "item_prompt"):
            if not isinstance(getattr(self, name), str):
                raise InputError(f"`{name}` must be a str. Got {getattr(self, name)!r}.")

    @classmethod
    def read(cls, file: Path, given: Mapping[str, Any]) -> Self:
        """Return what the file says, if it is there; what is given and not None goes before it."""
        stored = _stored(file) if file.exists() else {}
        return cls(**stored | {name: value for name, value in given.items() if value is not None})

    def write(self, file: Path) -> None:
        """Write the file that `read` reads."""
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as options of `OnnxEncoder`."""
        return asdict(self)


def _stored(file: Path) -> dict[str, Any]:
    types: dict[str, type] = {"query_prompt": str, "item_prompt": str, "normalize": bool, "pooling": str}
    types["max_tokens"] = int
    try:
        stored = strict_json.read(file)
    except ValueError:
        stored = None
    if not isinstance(stored, dict) or any(type(stored.get(n, t())) is not t for n, t in types.items()):
        raise InputError(f"{file} must hold {', '.join(types)} as JSON. Got something else.")
    return {name: stored[name] for name in types if name in stored}


MODEL, TOKENIZER, SETTINGS = "model.onnx", "tokenizer.json", "encoder.json"
_LOCATION = re.compile(rb"\n\x08location\x12([\x00-\xff])(?=([\x00-\xff]{0,127}))", re.DOTALL)
BATCHES_TOKENIZED_TOGETHER = 32
"""How many batches of texts are cut into tokens together, to find those of one length."""


class OnnxEncoder(TokenEncoder):
    """A folder with `model.onnx`, `tokenizer.json` and, from `export_onnx`, `encoder.json` (extra `onnx`).

    The model's first output must be one vector a token; they are pooled here.

    Parameters
    ----------
    path : path
        The folder.
    query_prompt, item_prompt : str, optional
        Put before every query or item text; what `encoder.json` says, or nothing, unless given.
    normalize : bool, optional
        Bring rows to length 1; what `encoder.json` says, or True, unless given.
    max_tokens : int, optional
        Maximum number of tokens per text. Defaults to that of `encoder.json`, or 512.
    pooling : {"mean", "cls"}, optional
        How the tokens' vectors are pooled. Defaults to that of `encoder.json`, or "mean".
    batch : int
        Texts of one length that go through the model at once; one by one where the model would round them by each
        other, as int8 models from elsewhere do.
    threads : int
        Threads of ONNX Runtime.
    """

    @validate_args
    def __init__(
        self,
        path: str | Path,
        *,
        query_prompt: str | None = None,
        item_prompt: str | None = None,
        normalize: bool | None = None,
        max_tokens: int | None = None,
        pooling: str | None = None,
        batch: int = 8,
        threads: int = 1,
    ):
        self.path, self._batch = Path(path), check_positive("batch", batch)
        self.threads = check_positive("threads", threads)
        given: dict[str, Any] = {"query_prompt": query_prompt, "item_prompt": item_prompt, "normalize": normalize}
        given |= {"max_tokens": max_tokens, "pooling": pooling}
        self.settings = OnnxSettings.read(self.path / SETTINGS, given)
        self._tokenizer = OnnxTokenizer(self.path / TOKENIZER, self.settings.max_tokens)
        self._session = onnx_session(self.path / MODEL, self.threads)
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        self._bytes = onnx_bytes(self.path)  # now: a model that was stored inside an artifact leaves its folder
        self._together = batch_for(np.fromfile(self.path / MODEL, np.uint8), self._batch)

    def __repr__(self) -> str:
        return abbreviate(f"OnnxEncoder({self.path}", ")")

    @cached_property
    def dim(self) -> int:
        """The width of the model's vectors."""
        return int(self._run(self._tokenizer.encode_batch(["a"])).shape[2])

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the model's files, the tokenizer, the limit of tokens, pooling, prompts and normalization."""
        seen, one = files_checksum(self.path), self.settings
        rules = repr((one.query_prompt, one.item_prompt, one.normalize, one.max_tokens, one.pooling)).encode()
        return f"onnx:{_native.checksum(np.frombuffer(rules, np.uint8), seen):016x}"

    @property
    def nbytes(self) -> int:
        """Bytes of the model's file."""
        return self._bytes

    @property
    def reference(self) -> dict[str, Any]:
        """What an artifact remembers, to load the model again."""
        return {"kind": "onnx", "name": str(self.path.absolute()), "options": self.options, "bytes": self.nbytes}

    @property
    def options(self) -> dict[str, Any]:
        """What else than the folder makes this encoder."""
        return self.settings.to_dict()

    def queries(self, texts: Sequence[str]) -> Float32Array:
        """Encode query texts, each after the query prompt."""
        return self._encode([self.settings.query_prompt + text for text in check_texts(texts)])

    def items(self, texts: Sequence[str]) -> Float32Array:
        """Encode item texts, each after the item prompt."""
        return self._encode([self.settings.item_prompt + text for text in check_texts(texts)])

    def query_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Return the vectors of the queries' tokens."""
        return self._tokens([self.settings.query_prompt + text for text in check_texts(texts)])

    def item_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Return the vectors of the items' tokens."""
        return self._tokens([self.settings.item_prompt + text for text in check_texts(texts)])

    def query_words(self, text: str) -> list[str]:
        """Return the pieces that a query is cut into."""
        tokens: list[str] = self._tokenizer.encode(self.settings.query_prompt + text).tokens
        return tokens

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has, without those that begin and end every text; a long one is cut."""
        return len(self._tokenizer.encode(text, special=False).ids)

    def _encode(self, texts: list[str]) -> Float32Array:
        rows = np.zeros((len(texts), self.dim), np.float32)
        for chosen, states in self._states(texts):
            rows[chosen] = states[:, 0] if self.settings.pooling == "cls" else states.mean(axis=1)
        return unit_rows(rows) if self.settings.normalize else rows

    def _tokens(self, texts: list[str]) -> TokenRows:
        parts: list[Float32Array] = [np.zeros((0, self.dim), np.float32)] * len(texts)
        for chosen, states in self._states(texts):
            for number, vectors in zip(chosen, states, strict=True):
                parts[number] = unit_rows(vectors) if self.settings.normalize else vectors
        return TokenRows.of(parts, dim=self.dim)

    def _states(self, texts: list[str]) -> Iterator[tuple[list[int], Float32Array]]:
        """Yield texts of equally many tokens, and the vectors of these: texts × tokens × dimensions."""
        for some in by_length(texts, BATCHES_TOKENIZED_TOGETHER * self._batch):
            cut = self._tokenizer.encode_batch([texts[number] for number in some])
            for chosen in same_length_batches([len(text.ids) for text in cut], self._together):
                if cut[chosen[0]].ids:  # a text without tokens has no vectors
                    yield [some[place] for place in chosen], self._run([cut[place] for place in chosen])

    def _run(self, cut: list[Any]) -> Float32Array:
        states = onnx_run(self._session, self._inputs, cut, self.path / MODEL)
        if states.ndim != 3 or states.shape[:2] != (len(cut), len(cut[0].ids)) or not states.shape[2]:
            raise InputError(f"{self.path / MODEL} must give one vector a token. Got shape {states.shape}.")
        return states


def external_files(folder: Path) -> list[str]:
    """Return the files beside a folder's model that hold weights of it, sorted; one that lies elsewhere raises.

    Large models keep weights in other files, which the model names. The entries are found as they are written in the
    file: a key and a value, each behind its length.
    """
    data = _contents(folder / MODEL)
    # A length of 128 or more takes two bytes; no plain name is as long.
    named = {found[2][: found[1][0]] if found[1][0] < 128 else b"" for found in _LOCATION.finditer(data)}
    try:
        names = {name.decode().removeprefix("./") for name in named}
    except UnicodeDecodeError:
        names = {""}
    if not all(NAME.fullmatch(name) for name in names):
        raise InputError(f"{folder / MODEL} must keep its weights in files beside it. Got one that names others.")
    return sorted((names | {file.name for file in folder.glob(f"{MODEL}*")}) - {MODEL})


def files_checksum(folder: Path) -> int:
    """Return a number that changes with every byte of a folder's model, its weights beside it, and its tokenizer."""
    seen = 0
    for name in (MODEL, TOKENIZER):
        seen = int(_native.checksum(np.frombuffer(_contents(folder / name), np.uint8), seen))
    for name in external_files(folder):
        seen = int(_native.checksum(np.frombuffer(name.encode(), np.uint8), seen))
        seen = int(_native.checksum(np.frombuffer(_contents(folder / name), np.uint8), seen))
    return seen


def onnx_bytes(folder: Path) -> int:
    """Return the bytes of a folder's model, with its weights beside it."""
    return sum((folder / name).stat().st_size for name in (MODEL, *external_files(folder)))


def _contents(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"`path` must hold {file.name}. Got {file.parent}: {error.strerror}.") from error


def onnx_run(session: Any, inputs: list[str], cut: list[Any], file: Path) -> Float32Array:
    """Return a model's first output for tokenized texts of one length; a length that it cannot read raises."""
    known = onnx_inputs(cut)
    rule = f"{file} must read {len(cut[0].ids)} tokens (give a smaller `max_tokens`, if the model ends before)"
    with typed_errors(rule):
        return np.asarray(session.run(None, {name: known[name] for name in inputs})[0], np.float32)


def onnx_inputs(encoded: list[Any]) -> dict[str, NDArray[np.int64]]:
    """Return what a model may ask of tokenized texts, by name."""
    parts = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
    return {name: np.array([getattr(text, part) for text in encoded], np.int64) for name, part in parts.items()}


class OnnxTokenizer:
    """A folder's tokenizer, which cuts after a number of tokens.

    Parameters
    ----------
    file : Path
        A `tokenizer.json`.
    max_tokens : int
        Where texts are cut.
    """

    def __init__(self, file: Path, max_tokens: int):
        package = import_extra("tokenizers", f"Encoding with {file.parent}", "onnx")
        self._rule = f"`path` must hold a sound {TOKENIZER}; {file.parent} does not"
        with typed_errors(self._rule):
            self._tokenizer = package.Tokenizer.from_file(str(file))
            self._tokenizer.enable_truncation(max_tokens)
            self._tokenizer.no_padding()

    def encode(self, text: str, *, special: bool = True) -> Any:
        """Return the tokens of a text, and those that begin and end every text if `special`."""
        with typed_errors(self._rule):
            return self._tokenizer.encode(text, add_special_tokens=special)

    def encode_batch(self, texts: list[Any]) -> list[Any]:
        """Return the tokens of texts, or of pairs of texts."""
        with typed_errors(self._rule):
            cut: list[Any] = self._tokenizer.encode_batch(texts)
            return cut


def onnx_session(file: Path, threads: int) -> Any:
    """Return a folder's model with an inference session of a number of threads."""
    onnxruntime = import_extra("onnxruntime", f"Encoding with {file.parent}", "onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    external_files(file.parent)
    with typed_errors(f"`path` must hold a sound {MODEL}; {file.parent} does not"):
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        unknown = {entry.name for entry in session.get_inputs()} - {"input_ids", "attention_mask", "token_type_ids"}
    if unknown:
        raise InputError(f"{file} must take token ids, mask and types only. Got also {', '.join(sorted(unknown))}.")
    return session
