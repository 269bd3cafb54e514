"""Models that read a query and an item together: in torch, in ONNX, and inside an artifact."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.forking import ForkLock
from vizsla._internal.lazy import (
    cached_property,
    files_state,
    import_extra,
    shared_model,
    stored_model,
    typed_errors,
)
from vizsla._internal.terminal import abbreviate, progress
from vizsla.artifacts import strict_json
from vizsla.core.validation import validate_args
from vizsla.encoders.batching import batch_for, by_length, same_length_batches
from vizsla.encoders.onnx import MODEL, TOKENIZER, OnnxTokenizer, files_checksum, onnx_bytes, onnx_run, onnx_session
from vizsla.encoders.persistence import (
    PAIR_SETTINGS as SETTINGS,
)
from vizsla.encoders.persistence import (
    STORED_MODEL_NAME,
    check_path,
    config_checksum,
    download_allowed,
    files_to_store,
    from_here,
    from_root,
    recorded_bytes,
    tokenizer_checksum,
    unpacked,
    weights_bytes,
    weights_checksum,
)
from vizsla.errors import FormatError, InputError, check_choice, check_positive
from vizsla.io.atomic import writing_folder
from vizsla.typing import Float32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

FORMS = ("head", "dot")
"""What makes a number of the last layer: a head over the first token, or the inner product of first and last token."""


class PairModel(ABC):
    """Scores pairs of texts, batch by batch, pairs of like length together.

    Attributes
    ----------
    batch : int
        Pairs that go through the model at once.
    """

    batch: int

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Changes whenever a pair would be scored differently."""

    @property
    def nbytes(self) -> int:
        """Bytes of the weights; 0 where nothing is known of them."""
        return 0

    @property
    @abstractmethod
    def reference(self) -> dict[str, Any]:
        """What an artifact remembers, to load the model again: kind, name, options."""

    @abstractmethod
    def score_batch(self, queries: list[str], texts: list[str]) -> Float32Array:
        """Score a few pairs."""

    def scores(self, queries: Sequence[str], texts: Sequence[str]) -> Float32Array:
        """Score pair after pair: `queries[i]` with `texts[i]`."""
        if len(queries) != len(texts):
            raise InputError(f"`texts` must be as many as the queries ({len(queries)}). Got {len(texts)}.")
        found = np.zeros(len(texts), np.float32)
        joined = [query + text for query, text in zip(queries, texts, strict=True)]
        batches = list(by_length(joined, self.batch))
        for chosen in progress(batches, what=f"scoring, {self.batch} pairs a step"):
            found[chosen] = self.score_batch([queries[at] for at in chosen], [texts[at] for at in chosen])
        return found


def checksum_of(rules: object, seen: int = 0) -> int:
    """Return a checksum of what a `repr` says, after another."""
    return int(_native.checksum(np.frombuffer(repr(rules).encode(), np.uint8), seen))


__all__ = [
    "FORMS",
    "FORM_KEY",
    "OPTIONS",
    "SETTINGS",
    "Files",
    "OnnxPairModel",
    "PairModel",
    "PairSettings",
    "StoredPairModel",
    "TorchPairModel",
    "check_form",
    "checksum_of",
    "open_pair_model",
    "pair_scores",
    "read_pair_model",
    "write_pair_model",
]


@dataclass(frozen=True)
class PairSettings:
    """What the model's file does not say.

    Parameters
    ----------
    max_tokens : int
        Maximum number of tokens per pair; longer pairs are cut.

    Examples
    --------
    >>> PairSettings(max_tokens=128)
    PairSettings(max_tokens=128)
    """

    max_tokens: int = 512

    def __post_init__(self) -> None:
        check_positive("max_tokens", self.max_tokens)

    @classmethod
    def read(cls, file: Path, *, max_tokens: int | None = None) -> Self:
        """Return what the file says, if it is there; what is given goes before it."""
        if max_tokens is not None or not file.exists():
            return cls() if max_tokens is None else cls(max_tokens)
        try:
            stored = strict_json.read(file)
        except ValueError:
            stored = None
        if not isinstance(stored, dict) or type(stored.get("max_tokens")) is not int:
            raise InputError(f"{file} must hold max_tokens as JSON. Got something else.")
        return cls(stored["max_tokens"])

    def write(self, file: Path) -> None:
        """Write the file that `read` reads."""
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")


class OnnxPairModel(PairModel):
    """A folder with `model.onnx`, `tokenizer.json` and, from `export_pair_model`, `pairs.json` (extra `onnx`).

    The model's first output must be one number a pair.

    Parameters
    ----------
    path : path
        The folder.
    max_tokens : int, optional
        Maximum number of tokens per pair; the longer text is cut. Defaults to that of `pairs.json`, or 512.
    batch : int
        Pairs of one length that go through the model at once; one by one where the model would round them by each
        other, as int8 models from elsewhere do.
    threads : int
        Threads of ONNX Runtime.
    """

    @validate_args
    def __init__(self, path: str | Path, *, max_tokens: int | None = None, batch: int = 16, threads: int = 1):
        self.path, self.batch = Path(path), check_positive("batch", batch)
        self.threads = check_positive("threads", threads)
        self.settings = PairSettings.read(self.path / SETTINGS, max_tokens=max_tokens)
        self._tokenizer = OnnxTokenizer(self.path / TOKENIZER, self.settings.max_tokens)
        self._session = onnx_session(self.path / MODEL, self.threads)
        self._bytes = onnx_bytes(self.path)
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        self._together = batch_for(np.fromfile(self.path / MODEL, np.uint8), self.batch)

    def __repr__(self) -> str:
        return abbreviate(f"OnnxPairModel({self.path}", ")")

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the model's files, the tokenizer and the limit of tokens."""
        return f"onnx-pairs:{checksum_of(self.settings.max_tokens, files_checksum(self.path)):016x}"

    @property
    def nbytes(self) -> int:
        """Bytes of the model's file."""
        return self._bytes

    @property
    def reference(self) -> dict[str, Any]:
        """What an artifact remembers, to load the model again."""
        options = {"max_tokens": self.settings.max_tokens}
        return {"kind": "onnx", "name": str(self.path.absolute()), "options": options, "bytes": self.nbytes}

    def score_batch(self, queries: list[str], texts: list[str]) -> Float32Array:
        """Score a few pairs, those of one length together."""
        cut = self._tokenizer.encode_batch(list(zip(queries, texts, strict=True)))
        found = np.zeros(len(texts), np.float32)
        for chosen in same_length_batches([len(pair.ids) for pair in cut], self._together):
            found[chosen] = self._run([cut[place] for place in chosen])
        return found

    def _run(self, cut: list[Any]) -> Float32Array:
        scores = onnx_run(self._session, self._inputs, cut, self.path / MODEL)
        if scores.shape not in ((len(cut),), (len(cut), 1)):
            raise InputError(f"{self.path / MODEL} must give one number a pair. Got shape {scores.shape}.")
        return scores.reshape(-1)


FORM_KEY = "vizsla_form"
"""Where a saved model's configuration says what makes a number of its last layer."""


class TorchPairModel(PairModel):
    """A cross-encoder as transformers loads it. Code from the hub is never run.

    Parameters
    ----------
    name : str
        A hub id, or the folder of a model.
    form : {"head", "dot"}, optional
        "head": a model for sequence classification with one number. "dot": the inner product of the first and the
        last token's vectors, by the root of their dimensions ([EMB]-CE). What the model says, or "head", unless given.
    layers : int, optional
        Keep only this number of its first layers.
    max_tokens : int, optional
        Maximum number of tokens per pair; the longer text is cut. Defaults to, and cannot exceed, the model's limit.
    batch : int
        Pairs that go through the model at once.
    device : str, optional
        Where to compute; the CPU unless given.
    download : bool
        Fetch a model from the hub that is not on this machine yet.
    untrained : bool
        Take a model that brings no head for one number, to train it; it would rank at random, so it is refused else.
    seed : int
        Fixes the weights of such a head.
    """

    @validate_args
    def __init__(
        self,
        name: str | Path,
        *,
        form: str | None = None,
        layers: int | None = None,
        max_tokens: int | None = None,
        batch: int = 32,
        device: str | None = None,
        download: bool = True,
        untrained: bool = False,
        seed: int = 0,
    ):
        self.name, self.batch = str(name), check_positive("batch", batch)
        self.layers = None if layers is None else check_positive("layers", layers)
        if form is not None:
            check_form(form)
        self.torch = import_extra("torch", f"Scoring with {self.name!r}", "neural")
        self.tokenizer, self.model, self.form, new = _load(self.name, form, layers, download=download, seed=seed)
        if new and not untrained:
            raise InputError(
                f"`name` must be a model with a trained head. Got {self.name!r}, which brings no {', '.join(new)}: "
                'train one with `train_cross_encoder`, or let its tokens\' vectors score with form="dot".'
            )
        self.model.eval().to(device or "cpu")
        wanted = (
            int(self.tokenizer.model_max_length) if max_tokens is None else check_positive("max_tokens", max_tokens)
        )
        self.max_tokens = min(wanted, _positions(self.model))

    def __repr__(self) -> str:
        return abbreviate(f"TorchPairModel({self.name}", f", {self.form})")

    @property
    def fingerprint(self) -> str:
        """Changes with the weights, the tokenizer, the form and the limit of tokens."""
        return f"pairs:{checksum_of((self.form, self.max_tokens), self._weights):016x}"

    @cached_property
    def _weights(self) -> int:
        seen = tokenizer_checksum(self.tokenizer, weights_checksum(self.model))
        return config_checksum(self.model.config, seen)

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return weights_bytes(self.model)

    @property
    def reference(self) -> dict[str, Any]:
        """What an artifact remembers, to load the model again."""
        name = str(Path(self.name).absolute()) if Path(self.name).is_dir() else self.name
        options = {"form": self.form, "max_tokens": self.max_tokens}
        kept = {} if self.layers is None else {"layers": self.layers}
        return {"kind": "torch", "name": name, "options": options | kept, "bytes": self.nbytes}

    def score_batch(self, queries: list[str], texts: list[str]) -> Float32Array:
        """Score a few pairs."""
        with self.torch.inference_mode():
            return np.asarray(self.forward(queries, texts).float().cpu().numpy(), np.float32)

    def forward(self, queries: list[str], texts: list[str]) -> Any:
        """Return the scores of a few pairs as a tensor that knows how it was made."""
        device = next(self.model.parameters()).device
        cut = {"truncation": True, "max_length": self.max_tokens, "padding": True, "return_tensors": "pt"}
        given = self.tokenizer(queries, texts, **cut).to(device)
        return pair_scores(self.model, dict(given), self.form)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> TorchPairModel:
        """Write weights and tokenizer to a folder, and return the model of it."""
        setattr(self.model.config, FORM_KEY, self.form)
        self.tokenizer.model_max_length = self.max_tokens
        with writing_folder(folder, overwrite=overwrite) as made:
            self.model.save_pretrained(str(made), safe_serialization=True)
            self.tokenizer.save_pretrained(str(made))
        return TorchPairModel(folder, batch=self.batch, download=False, max_tokens=self.max_tokens)


def pair_scores(model: Any, given: dict[str, Any], form: str) -> Any:
    """Return the scores of tokenized pairs: the head's only number, or the inner product of first and last token."""
    if form == "head":
        return model(**given).logits[:, 0]
    states = model(**given).last_hidden_state
    last = given["attention_mask"].sum(dim=1, keepdim=True) - 1
    ends = states.gather(1, last.unsqueeze(2).expand(-1, -1, states.shape[2]))[:, 0]
    return (states[:, 0] * ends).sum(dim=1) / float(states.shape[2]) ** 0.5


def _load(
    name: str, form: str | None, layers: int | None, *, download: bool, seed: int
) -> tuple[Any, Any, str, list[str]]:
    """Return tokenizer, model, form, and the weights of a head that the model does not bring."""
    package = import_extra("transformers", f"Scoring with {name!r}", "neural")
    package.utils.logging.disable_progress_bar()
    package.utils.logging.set_verbosity_error()  # it warns of a new head, which is what training wants
    options: dict[str, Any] = {"trust_remote_code": False, "local_files_only": not download}
    with typed_errors(f"`name` must be a cross-encoder's hub id or folder; {name!r} is not"):
        return _loaded(package, name, form, layers, options, seed)


def _loaded(
    package: Any, name: str, form: str | None, layers: int | None, options: dict[str, Any], seed: int
) -> tuple[Any, Any, str, list[str]]:
    config = package.AutoConfig.from_pretrained(name, **options)
    form = check_form(form or str(getattr(config, FORM_KEY, "head")))
    config.num_labels = 1 if form == "head" else config.num_labels
    config.num_hidden_layers = min(layers or config.num_hidden_layers, config.num_hidden_layers)
    import_extra("torch", f"Scoring with {name!r}", "neural").manual_seed(seed)
    kind = package.AutoModelForSequenceClassification if form == "head" else package.AutoModel
    tokenizer = package.AutoTokenizer.from_pretrained(name, **options)
    model, report = kind.from_pretrained(name, config=config, output_loading_info=True, **options)
    return tokenizer, model, form, sorted(report["missing_keys"]) if form == "head" else []


def check_form(form: str) -> str:
    """Return the form if it is one."""
    check_choice("form", form, FORMS)
    return form


def _positions(model: Any) -> int:
    """Return how many tokens the model has places for: more would be none of its input."""
    return int(getattr(model.config, "max_position_embeddings", 512))


@validate_args
def open_pair_model(name: str | Path, **options: Any) -> PairModel:
    """Return the cross-encoder that a folder holds, or the one with this hub id; opened twice, it is in memory once.

    Parameters
    ----------
    name : str or path
        A folder with `model.onnx`, or what transformers can load.
    **options
        Options of `OnnxPairModel` or `TorchPairModel`.
    """
    kind: Callable[..., PairModel] = OnnxPairModel if (Path(name) / MODEL).exists() else TorchPairModel
    key = ("pairs", files_state(Path(name)), repr(sorted(options.items())))
    return shared_model(key, lambda: kind(name, **options))


Files = dict[str, NDArray[np.uint8]]
OPTIONS: dict[str, dict[str, type]] = {
    "onnx": {"max_tokens": int},
    "torch": {"max_tokens": int, "form": str, "layers": int},
}


def write_pair_model(writer: ArtifactWriter, model: PairModel) -> None:
    """Store the model's files where that is wanted, and how to find the model in any case."""
    described = {**model.reference, "fingerprint": model.fingerprint}
    files = model.files if isinstance(model, StoredPairModel) and model.files else _files(model, described, writer)
    names = {path: path.replace("/", ".") for path in files}
    if len(set(names.values())) < len(names):
        raise InputError("A model's files must have names that differ by more than '/' and '.'. Got others.")
    if files:
        described = described | {"name": ""}
    writer.parameters(model=from_here(described, writer.saving, kinds=tuple(OPTIONS)), files=names)
    for path, data in files.items():
        writer.raw(names[path], data)


def read_pair_model(reader: ArtifactReader) -> StoredPairModel:
    """Return the model, which is loaded when the first pair comes."""
    names = reader.parameter("files", dict)
    if not all(isinstance(path, str) and isinstance(name, str) for path, name in names.items()):
        raise FormatError(f"{reader.path}: the names of a model's files must be texts.")
    described = from_root(reader.parameter("model", dict), reader.loading.root.path)
    return StoredPairModel(described, {path: reader.raw(name) for path, name in names.items()})


class StoredPairModel(PairModel):
    """A cross-encoder that an artifact holds or names; only used if it is the one that was saved.

    Nothing is downloaded because an artifact says so, unless `VIZSLA_DOWNLOAD=1` is in the environment.

    Parameters
    ----------
    described : dict
        Kind ("onnx" or "torch"), name, options and fingerprint.
    files : mapping of str to uint8 array
        The model's files by their path; none where it lies outside.
    """

    def __init__(self, described: dict[str, Any], files: Files):
        kind, options = described.get("kind"), described.get("options")
        known = OPTIONS.get(kind) if isinstance(kind, str) else None
        if known is None or not isinstance(options, dict) or set(options) - set(known):
            raise InputError("A cross-encoder's record must have kind and options that are known. Got others.")
        if any(type(value) is not known[name] for name, value in options.items()):
            raise InputError("A cross-encoder's options must be of their types. Got others.")
        if not isinstance(described.get("name"), str) or not isinstance(described.get("fingerprint"), str):
            raise InputError("A cross-encoder's record must have a name and a fingerprint. Got another.")
        if "\0" in described["name"]:
            raise InputError("A model's name must be one that a folder can have. Got a NUL character in it.")
        for path in files:
            check_path(path)
        self._described, self.files, self._bytes = described, files, recorded_bytes(described)
        self._model: PairModel | None = None
        self._lock = ForkLock()

    def __repr__(self) -> str:
        where = "inside the artifact" if self.files else self._described["name"]
        return abbreviate(f"StoredPairModel({self._described['kind']}, {where}", ")")

    @property
    def fingerprint(self) -> str:
        """That of the model which was saved."""
        return str(self._described["fingerprint"])

    @property
    def nbytes(self) -> int:
        """Bytes of the model, as they were recorded; 0 where they were not."""
        return self._bytes

    @property
    def reference(self) -> dict[str, Any]:
        """What an artifact remembers."""
        return {name: self._described[name] for name in ("kind", "name", "options", "bytes") if name in self._described}

    def scores(self, queries: Any, texts: Any) -> Float32Array:
        """Let the model itself score the pairs."""
        model = self.loaded()
        with stored_model(STORED_MODEL_NAME) if self.files else nullcontext():
            return model.scores(queries, texts)

    def score_batch(self, queries: list[str], texts: list[str]) -> Float32Array:
        """Let the model itself score a few pairs."""
        model = self.loaded()
        with stored_model(STORED_MODEL_NAME) if self.files else nullcontext():
            return model.score_batch(queries, texts)

    def loaded(self) -> PairModel:
        """Return the model itself."""
        with self._lock:
            if self._model is None:
                self._model = shared_model(self.fingerprint, self._checked)
            return self._model

    def _checked(self) -> PairModel:
        if not self.files:
            return self._same(self._made(self._described["name"], download=download_allowed()))
        with stored_model(STORED_MODEL_NAME), unpacked(self.files) as folder:
            return self._same(self._made(folder, download=False))  # the fingerprint is taken before the files go

    def _same(self, model: PairModel) -> PairModel:
        if model.fingerprint != self.fingerprint:
            raise InputError(
                f"The model must be the one that was saved ({self.fingerprint!r}). Got {model.fingerprint!r}."
            )
        return model

    def _made(self, name: str, *, download: bool) -> PairModel:
        options = self._described["options"]
        if self._described["kind"] == "onnx":
            return OnnxPairModel(name, **options)

        return TorchPairModel(name, download=download, **options)


def _files(model: PairModel, described: dict[str, Any], writer: ArtifactWriter) -> Files:
    """Return the files to be stored inside: those of small ONNX models, unless the user says otherwise."""
    kind, named = described["kind"], isinstance(model, StoredPairModel)
    reads = "onnx" if kind == "onnx" else "sentence"
    files = files_to_store(reads, described["name"], writer.saving, named_by_artifact=named)
    if files:  # the folder may have changed since the model was loaded, or while it was copied
        try:
            StoredPairModel(described, files).loaded()
        except FormatError as error:
            raise InputError(f"The model's files must be those of the saved one. Got others. {error}") from None
    return files or {}
