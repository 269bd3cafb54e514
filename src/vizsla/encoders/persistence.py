"""How an artifact remembers its encoder: model files inside it, or a name and a fingerprint."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.forking import ForkLock
from vizsla._internal.lazy import import_extra, shared_model, stored_model
from vizsla._internal.terminal import abbreviate
from vizsla.artifacts import strict_json
from vizsla.artifacts.artifact import Artifact
from vizsla.artifacts.folder import Folder
from vizsla.artifacts.manifest import MANIFEST, NAME
from vizsla.base.encoder import Encoder, check_texts
from vizsla.base.scorer import Scorer
from vizsla.encoders.http import HttpEncoder
from vizsla.encoders.onnx import MODEL, SETTINGS, TOKENIZER, external_files
from vizsla.encoders.token_encoder import TokenEncoder, TokenRows
from vizsla.errors import FormatError, InputError

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter, Saving

T = TypeVar("T")


def given_encoder(part: Scorer, encoder: Encoder) -> Any:
    """Return the part with the encoder where it was built with it; any other part as it is."""
    return part._given_encoder(encoder) if encoder.fingerprint in fingerprints(part) else part


def check_wanted(part: Scorer, encoder: Encoder) -> None:
    """Raise unless something in the part was built with an encoder of this fingerprint."""
    wanted = list(dict.fromkeys(fingerprints(part)))
    if encoder.fingerprint not in wanted:
        raise InputError(
            f"`encoder` must be one that {part!r} was built with ({', '.join(map(repr, wanted)) or 'it has none'}). "
            f"Got {encoder.fingerprint!r}: build anew for another encoder."
        )


def fingerprints(part: Scorer) -> Iterator[str]:
    """Yield the fingerprints of the encoders of a retriever and of its parts.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> search = bm25(["a fig tree"])
    >>> set(fingerprints(search % 5)) == {search.encoder.fingerprint}
    True
    """
    if part.encoder is not None:
        yield part.encoder.fingerprint
    for each in part.children():
        yield from fingerprints(each)


DOWNLOAD_VARIABLE = "VIZSLA_DOWNLOAD"


def download_allowed() -> bool:
    """Say whether the environment allows what an artifact asks for: `VIZSLA_DOWNLOAD=1`, and nothing else.

    An artifact may come from anywhere. Without this, it would choose what this machine downloads.
    """
    return os.environ.get(DOWNLOAD_VARIABLE, "") == "1"


UNFINGERPRINTED_SETTINGS = frozenset(
    {"transformers_version", "torch_dtype", "dtype", "architectures", "use_cache", "name_or_path", "problem_type"}
    | {"id2label", "label2id", "vizsla_form", "gradient_checkpointing"}
)
"""Settings that say where a model came from or what it is used for, not what it computes."""


def weights_checksum(model: Any) -> int:
    """Return a number that changes with every bit of every weight, and with every weight's name, type and shape."""
    seen, torch = 0, import_extra("torch", "Reading weights", "neural")
    for name, weights in sorted(model.state_dict().items()):
        # Byte by byte: half and whole numbers of 64 bits would lose digits as float32.
        values = weights.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
        about = f"{name} {weights.dtype} {tuple(weights.shape)}"
        seen = text_checksum(about, int(_native.checksum(values, seen)))
    return int(seen)


def tokenizer_checksum(tokenizer: Any, seen: int = 0) -> int:
    """Return a number that changes with a tokenizer's vocabulary and its rules, but not with what it was used for."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        state = json.loads(backend.to_str())
        rules = {name: value for name, value in state.items() if name not in ("truncation", "padding")}
    else:
        special = {name: str(token) for name, token in tokenizer.special_tokens_map.items()}
        rules = {"vocabulary": tokenizer.get_vocab(), "special": special}
    sides = [str(getattr(tokenizer, name, "")) for name in ("truncation_side", "padding_side")]
    return text_checksum(json.dumps([rules, sides], sort_keys=True), seen)


def config_checksum(config: Any, seen: int = 0) -> int:
    """Return a number that changes with what a transformer's configuration says beside its defaults."""
    told = config.to_diff_dict() if hasattr(config, "to_diff_dict") else {}
    kept = {
        name: value for name, value in told.items() if not name.startswith("_") and name not in UNFINGERPRINTED_SETTINGS
    }
    return text_checksum(json.dumps(kept, sort_keys=True, default=str), seen)


def modules_checksum(model: Any, seen: int = 0) -> int:
    """Return a number that changes with the kinds and settings of a sentence-transformers model's modules."""
    for module in model:
        about = [type(module).__name__, _settings(module)]
        seen = text_checksum(json.dumps(about, sort_keys=True, default=str), seen)
        inner: Any = getattr(module, "auto_model", None) or getattr(module, "model", None)
        seen = config_checksum(inner.config, seen) if hasattr(inner, "config") else seen
    return seen


def _settings(module: Any) -> Any:
    """Return what a module computes by, in words that do not change with the version of sentence-transformers."""
    kind = type(module).__name__
    if kind == "Transformer":
        return bool(getattr(module, "do_lower_case", False))
    if kind == "Pooling":
        mode = module.get_pooling_mode_str() if hasattr(module, "get_pooling_mode_str") else module.pooling_mode
        return [mode if isinstance(mode, str) else "+".join(mode), bool(getattr(module, "include_prompt", True))]
    return module.get_config_dict() if hasattr(module, "get_config_dict") else {}


def text_checksum(text: str, seen: int = 0) -> int:
    """Return a checksum of a text, after another."""
    return int(_native.checksum(np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8), seen))


def weights_bytes(model: Any) -> int:
    """Return the bytes of all weights."""
    return sum(int(weights.numel() * weights.element_size()) for weights in model.state_dict().values())


MODULES_FILE = "modules.json"


def module_paths(folder: Path) -> list[str]:
    """Return the folders of a model's modules inside its own, without the folder itself; one outside raises."""
    paths = [str(path) for module in _modules(folder) if (path := PurePosixPath(module["path"])).parts]
    outside = [path for path in paths if path.startswith("/") or ".." in PurePosixPath(path).parts]
    if outside:
        raise InputError(f"{folder / MODULES_FILE} must name folders inside the model's own. Got {outside[0]!r}.")
    return paths


def refuse_own_code(folder: Path) -> None:
    """Raise if a model names classes of its own, which sentence-transformers before 6.0 would import, or a way out."""
    modules = _modules(folder)
    foreign = [module["type"] for module in modules if not module["type"].startswith("sentence_transformers.")]
    if foreign:
        raise InputError(
            f"{folder / MODULES_FILE} must name modules of sentence-transformers only. Got {foreign[0]!r}."
        )
    module_paths(folder)


def _modules(folder: Path) -> list[dict[str, Any]]:
    file = folder / MODULES_FILE
    if not file.is_file():
        return []
    try:
        listed = strict_json.read(file)
        return [{"type": str(module["type"]), "path": str(module["path"])} for module in listed]
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{file} must list the model's modules. Got something else.") from None


STORED_MODEL_NAME = "The model inside the artifact"
Files = dict[str, NDArray[np.uint8]]
MAX_BUNDLED_BYTES = 128_000_000
"""ONNX models of at most this size are stored in the artifact unless `bundle_models` is given."""

STORED_SUFFIXES = (".safetensors", ".onnx", ".onnx_data", ".onnx.data", ".json", ".txt", ".model")
"""How names of stored files end. The last two are vocabularies of tokenizers."""
PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
MAX_PATH_PARTS = 4
PAIR_SETTINGS = "pairs.json"
"""What a cross-encoder has instead of an encoder's settings."""


def model_files(kind: str, name: str) -> dict[str, Path]:
    """Return a model's files by their path within its folder.

    Parameters
    ----------
    kind : {"onnx", "sentence"}
        The reader of the model.
    name : str
        Its folder, or its hub id if it is in the local cache.
    """
    if kind == "onnx":
        found = dict(_onnx_files(Path(name)))
    else:
        folder = Path(name) if Path(name).is_dir() else _snapshot(name)
        found = {key: file for path in ("", *module_paths(folder)) for key, file in _sentence_files(folder, path)}
    for path in found:
        check_path(path)
    return found


def files_to_store(kind: str, name: str, saving: Saving, *, named_by_artifact: bool) -> Files | None:
    """Return copies of a model's files that are to be stored inside an artifact; None where the model stays outside.

    Parameters
    ----------
    kind, name : str
        As for `model_files`.
    saving : Saving
        The options of the save, and the models that the caller names.
    named_by_artifact : bool
        Whether only an artifact names the model. Then it is copied if the caller names it in this call, and never else.
    """
    given = saving.may_copy(name)
    if given is not None:
        return read_files(kind, given)
    if named_by_artifact:
        if saving.bundle_models is True:
            raise InputError(
                f"A model that only an artifact names must be named again to be stored inside. Got {name!r}: if you "
                f"trust it, pass bundle_models={name!r}, or give the model with `.with_encoder(encoder)`."
            )
        return None
    if saving.bundle_models is False:
        return None
    if saving.bundle_models is True:
        return read_files(kind, name)
    if kind != "onnx":
        return None
    try:
        return read_files(kind, name, most=MAX_BUNDLED_BYTES)
    except LinkError:
        return None  # unasked, only what is plainly there goes in


def read_files(kind: str, name: str, *, most: int | None = None) -> Files | None:
    """Return copies of a model's files, opened one folder at a time without following a link.

    Parameters
    ----------
    kind, name : str
        As for `model_files`.
    most : int, optional
        Return None if the files have more bytes, or if there are none.
    """
    paths = model_files(kind, name)
    hub = kind != "onnx" and not Path(name).is_dir()
    opened = {path: _opened(file, path, hub=hub) for path, file in paths.items()}
    sizes = [_readable(folder.size, file) for folder, file in opened.values()]
    if most is not None and not 0 < sum(sizes) <= most:
        return None
    if not paths:
        raise InputError(f"The model must be there to be stored inside. Got {name!r}, which holds none.")
    return {path: _readable(partial(folder.read, mmap=False), file) for path, (folder, file) in opened.items()}


class LinkError(InputError):
    """A file of a model that is to be copied is a link, or lies behind one."""


def _opened(file: Path, path: str, *, hub: bool) -> tuple[Folder, str]:
    """Return the folder that holds a file, and the file's name there.

    The hub's local cache keeps files as links to blobs of the same model; any other link could lead anywhere.
    """
    names = path.split("/")
    if hub and file.is_symlink():
        blob = file.resolve()
        around = file.parents[len(names)]  # "snapshots", which holds a folder for every revision
        if around.name != "snapshots" or blob.parent != (around.parent / "blobs").resolve():
            raise LinkError(f"A model's files must not be links to be stored inside. Got {file}.")
        return Folder(blob.parent), blob.name
    root = file.parents[len(names) - 1]
    folder = _readable(Folder, str(root))
    for name in names[:-1]:
        folder = _readable(folder.inner, name)
    return folder, names[-1]


def _readable(act: Callable[[str], T], name: str) -> T:
    try:
        return act(name)
    except FormatError as error:
        raise LinkError(f"A model's files must be plain files to be stored inside, no links. Got {error}") from error


@contextmanager
def unpacked(files: Mapping[str, NDArray[np.uint8]]) -> Iterator[str]:
    """Put a model's files into a temporary folder, where nothing else lies, for as long as it is being loaded."""
    with TemporaryDirectory(prefix="vizsla.") as folder:
        for path, data in files.items():
            file = Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            data.tofile(file)
        yield folder


@contextmanager
def own_files(folder: Path) -> Iterator[Path]:
    """Put copies of an ONNX folder's files, with weights that lie beside the model, into a temporary folder.

    What is written from there holds nothing but what lies in the folder itself: links are refused.
    """
    with unpacked(read_files("onnx", str(folder)) or {}) as copied:
        yield Path(copied)


def check_path(path: str) -> None:
    """Raise ValueError unless a stored file may lie at this path of a model's folder.

    Examples
    --------
    >>> check_path("1_Pooling/config.json")
    >>> check_path("pytorch_model.bin")
    Traceback (most recent call last):
    vizsla.errors.InputError: A model's file must be one of .safetensors, ... Got 'pytorch_model.bin'.
    """
    parts = path.split("/")
    if not path.endswith(STORED_SUFFIXES):
        raise InputError(f"A model's file must be one of {', '.join(STORED_SUFFIXES)}. Got {path!r}.")
    if len(parts) > MAX_PATH_PARTS or not all(NAME.fullmatch(part) for part in parts) or parts[-1] == MANIFEST:
        raise InputError(f"A model's file must have a plain name. Got {path!r:.100}.")


def _onnx_files(folder: Path) -> Iterator[tuple[str, Path]]:
    if not (folder / MODEL).exists():
        return
    for name in (MODEL, *external_files(folder)):
        yield name, folder / name
    for name in (TOKENIZER, SETTINGS, PAIR_SETTINGS):
        if (folder / name).exists():
            yield name, folder / name


def _sentence_files(folder: Path, path: str) -> Iterator[tuple[str, Path]]:
    files = [file for file in sorted((folder / path).glob("*")) if file.is_file()]
    pickles = [file for file in files if file.suffix in PICKLE_SUFFIXES]
    if pickles and not any(file.suffix == ".safetensors" for file in files):
        raise InputError(
            f"A model must keep its weights as safetensors to be stored inside an artifact. Got {pickles[0]}, a "
            "pickle, which can run code when it is loaded: save the model anew as safetensors, export it to ONNX, or "
            "leave it outside with bundle_models=False."
        )
    for file in files:
        if file.name.endswith(STORED_SUFFIXES) and ".onnx" not in file.name and file.name != MANIFEST:
            yield str(PurePosixPath(path) / file.name), file


def _snapshot(name: str) -> Path:
    hub: Any = import_extra("huggingface_hub", f"Storing {name!r} inside an artifact", "neural")
    try:
        return Path(hub.snapshot_download(name, local_files_only=True))
    except (OSError, ValueError) as error:
        raise InputError(f"The model {name!r} must be on this machine to be stored inside. Got {error}.") from error


MAX_DIMENSIONS = 2**31 - 1
"""What column numbers can count."""


class MissingEncoder(TokenEncoder):
    """Stands in for an encoder that could not be loaded; encoding a text raises an error that describes it.

    Parameters
    ----------
    description : dict
        Kind, dim and fingerprint of the encoder.

    Examples
    --------
    >>> MissingEncoder({"kind": "FunctionEncoder", "dim": 3, "fingerprint": "function:mine:3"}).queries(["fig"])
    Traceback (most recent call last):
    vizsla.errors.InputError: The encoder 'function:mine:3' must be given ... `.with_encoder(encoder)`.
    """

    def __init__(self, description: dict[str, Any]):
        self.description = description
        dim, fingerprint = description.get("dim"), description.get("fingerprint")
        if type(dim) is not int or not 1 <= dim <= MAX_DIMENSIONS or not isinstance(fingerprint, str):
            raise InputError(
                f"An encoder's record must have a `fingerprint` and a `dim` from 1 to {MAX_DIMENSIONS}. Got others."
            )
        self._dim, self._fingerprint, self._bytes = dim, fingerprint, recorded_bytes(description)

    def __repr__(self) -> str:
        return abbreviate(f"{type(self).__name__}({self._fingerprint}", f", {self._dim:,} dimensions)")

    @property
    def dim(self) -> int:
        """The width of the absent encoder's rows."""
        return self._dim

    @property
    def fingerprint(self) -> str:
        """The absent encoder's fingerprint."""
        return self._fingerprint

    @property
    def nbytes(self) -> int:
        """Bytes of the model, as they were recorded; 0 where they were not."""
        return self._bytes

    def queries(self, texts: Sequence[str]) -> NoReturn:
        """Raise: a text cannot be encoded."""
        raise InputError(
            f"The encoder {self._fingerprint!r} must be given before texts can be encoded: it is not part of the "
            "artifact. Give it with `.with_encoder(encoder)`."
        )

    def query_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Raise, as `queries` does."""
        self.queries(texts)

    def item_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Raise, as `queries` does."""
        self.queries(texts)

    def query_words(self, text: str) -> list[str]:
        """Raise, as `queries` does."""
        self.queries([text])


def recorded_bytes(description: dict[str, Any]) -> int:
    """Return how many bytes a model's record says that it has; 0 where it says nothing.

    Examples
    --------
    >>> recorded_bytes({"kind": "onnx", "bytes": 90_000_000})
    90000000
    """
    size = description.get("bytes", 0)
    if type(size) is not int or not 0 <= size < 2**63:
        raise InputError(f"A model's record must have a whole number of `bytes`. Got {size!r:.50}.")
    return size


MODEL_KINDS = ("sentence", "onnx")
STORED_OPTIONS = {"query_prompt", "item_prompt", "normalize", "max_tokens", "pooling"}
"""What an artifact may say about its model; anything else, such as `download`, is the user's to say."""


class LazyEncoder(MissingEncoder):
    """Loads the named model at the first text, and only uses it if it is the one that the vectors were made with.

    Nothing is downloaded because an artifact says so: the model must be a folder or in the local cache, unless
    `VIZSLA_DOWNLOAD=1` is in the environment.

    Parameters
    ----------
    description : dict
        Kind ("sentence" or "onnx"), dim, fingerprint, name and options of the encoder.
    """

    def __init__(self, description: dict[str, Any]):
        super().__init__(description)
        name, options = description.get("name"), description.get("options")
        if description.get("kind") not in MODEL_KINDS or not isinstance(name, str) or not isinstance(options, dict):
            raise InputError("A model's description must have kind, name and options. Got another.")
        if "\0" in name:
            raise InputError("A model's name must be one that a folder can have. Got a NUL character in it.")
        self._encoder: Encoder | None = None
        self._lock = ForkLock()

    def queries(self, texts: Sequence[str]) -> Any:
        """Encode query texts."""
        return self._run(self.loaded().queries, texts)

    def items(self, texts: Sequence[str]) -> Any:
        """Encode item texts."""
        return self._run(self.loaded().items, texts)

    def query_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Return the vectors of the queries' tokens."""
        return self._run(self._with_tokens().query_tokens, texts)

    def item_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Return the vectors of the items' tokens."""
        return self._run(self._with_tokens().item_tokens, texts)

    def query_words(self, text: str) -> list[str]:
        """Return the pieces that a query is cut into."""
        return self._with_tokens().query_words(text)

    def _run(self, act: Callable[[Sequence[str]], T], texts: Sequence[str]) -> T:
        return act(texts)

    def _with_tokens(self) -> TokenEncoder:
        model = self.loaded()
        if not isinstance(model, TokenEncoder):
            raise InputError(f"`encoder` must give a vector for every token. Got {model!r}, which gives none.")
        return model

    def loaded(self) -> Encoder:
        """Return the model itself."""
        with self._lock:
            if self._encoder is None:
                self._encoder = shared_model(self.fingerprint, self._load)
            return self._encoder

    def _load(self) -> Encoder:
        name = self.description["name"]
        return self._checked(self._make(name, download=download_allowed()), repr(name))

    def _checked(self, encoder: Encoder, where: str) -> Encoder:
        if encoder.fingerprint != self.fingerprint:
            raise InputError(
                f"The model {where} must be the one that the vectors were made with ({self.fingerprint!r}). "
                f"Got {encoder.fingerprint!r}: bring that model back, or build the retriever anew."
            )
        return encoder

    def _make(self, name: str, *, download: bool) -> Encoder:
        options = dict(self.description["options"])
        if set(options) - STORED_OPTIONS:
            raise InputError(f"The artifact must describe its encoder. Got the options {sorted(options)}.")
        try:
            if self.description["kind"] == "onnx":
                from vizsla.encoders.onnx import OnnxEncoder

                return OnnxEncoder(name, **options)
            return _sentence(name, options, download=download)
        except TypeError as error:
            raise InputError(f"The artifact must describe its encoder. Got other options: {error}.") from error


def _sentence(name: str, options: dict[str, Any], *, download: bool) -> Encoder:
    from vizsla.encoders.sentence import SentenceEncoder

    if download:
        return SentenceEncoder(name, **options)
    try:
        return SentenceEncoder(name, download=False, **options)
    except InputError as error:
        raise InputError(
            f"{error} An artifact's model is never downloaded unasked. If you trust {name!r}, set "
            f"{DOWNLOAD_VARIABLE}=1, or give the model itself: `.with_encoder(SentenceEncoder({name!r}))`."
        ) from error


ENCODER_NAME = "encoder"


def write_encoder(writer: ArtifactWriter, encoder: Encoder, *, name: str = ENCODER_NAME) -> None:
    """Store an encoder that is an artifact as a child, and a model if that is wanted; of any other, how to find it."""
    encoder = encoder.stored_form
    inside = encoder if isinstance(encoder, Artifact) else _bundled(encoder, writer.saving)
    if inside is None:
        writer.parameters(**{name: from_here(describe(encoder), writer.saving), f"{name}_saved": False})
        return
    writer.parameters(**{name: describe(inside), f"{name}_saved": True})
    writer.child(name, inside)


def describe(encoder: Any) -> dict[str, Any]:
    """Return kind, width, fingerprint, and whatever else the encoder says is needed to make it again.

    Examples
    --------
    >>> from vizsla.base.encoder import FunctionEncoder
    >>> describe(FunctionEncoder(lambda texts: [[1.0] for _ in texts], dim=1, name="ones"))
    {'kind': 'FunctionEncoder', 'dim': 1, 'fingerprint': 'function:ones:1'}
    """
    if isinstance(encoder, MissingEncoder):
        return encoder.description
    basics = {"kind": type(encoder).__name__, "dim": encoder.dim, "fingerprint": encoder.fingerprint}
    reference: dict[str, Any] = getattr(encoder, "reference", {})
    return {**basics, **reference}


def restored_encoder(description: dict[str, Any]) -> Encoder:
    """Return the encoder that is described; a model is loaded at the first text."""
    if description.get("kind") == "http":
        return HttpEncoder.restored(description)
    return LazyEncoder(description) if description.get("kind") in MODEL_KINDS else MissingEncoder(description)


def read_encoder(reader: ArtifactReader, *, name: str = ENCODER_NAME) -> Encoder:
    """Return the encoder, or one that only knows its name and raises when it is asked to encode."""
    description = reader.parameter(name, dict)
    if reader.parameter(f"{name}_saved", bool):
        child = reader.child(name)
        if not isinstance(child, Encoder) or describe(child) != description:
            raise FormatError(f"{reader.path / name}: not the encoder that the manifest describes.")
        return child
    return restored_encoder(from_root(description, reader.loading.root.path))


def _bundled(encoder: Encoder, saving: Saving) -> Artifact | None:
    """Return the encoder's model as an artifact, if it is one and is to be stored inside."""
    description = describe(encoder)
    kind, name = description.get("kind"), description.get("name")
    if kind not in MODEL_KINDS or not isinstance(name, str):
        return None
    files = files_to_store(kind, name, saving, named_by_artifact=isinstance(encoder, LazyEncoder))
    return None if files is None else saving.stand_in(encoder, lambda: BundledModel.of(description, files))


def from_here(description: dict[str, Any], saving: Saving, kinds: tuple[str, ...] = MODEL_KINDS) -> dict[str, Any]:
    """Name a model's folder by the way from the artifact, where some folder is around both."""
    name = description.get("name")
    if description.get("kind") not in kinds or not isinstance(name, str) or not Path(name).is_absolute():
        return description
    root = os.path.realpath(saving.root)
    if not saving.lasting or os.path.commonpath([root, os.path.realpath(name)]) == os.sep:
        return description
    others = {key: value for key, value in description.items() if key != "name"}
    return {**others, "path": os.path.relpath(os.path.realpath(name), root)}


def from_root(description: dict[str, Any], root: Path) -> dict[str, Any]:
    """Return a description that `from_here` made, with the name of the model's folder on this machine."""
    path = description.get("path")
    if not isinstance(path, str) or "\0" in path:
        return description
    others = {key: value for key, value in description.items() if key != "path"}
    return {**others, "name": os.path.normpath(Path(os.path.realpath(root), path))}


class BundledModel(LazyEncoder, Artifact):
    """An ONNX or sentence-transformers model with its files; no pickle is among them, and no code.

    At the first text the files are put into a temporary folder, where nothing else lies, the model is loaded from
    there, and the folder is removed. So it makes no difference what becomes of the artifact's folder meanwhile.

    Parameters
    ----------
    description : dict
        Kind ("sentence" or "onnx"), dim, fingerprint and options of the encoder.
    files : mapping of str to uint8 array
        The files' bytes by their path within the model's folder.
    """

    kind = "model"

    def __init__(self, description: dict[str, Any], files: Mapping[str, NDArray[np.uint8]]):
        super().__init__({"name": "", **description})
        self.description = {key: value for key, value in description.items() if key != "name"}
        self.files = dict(files)
        for path in self.files:
            check_path(path)

    @classmethod
    def of(cls, description: dict[str, Any], files: Mapping[str, NDArray[np.uint8]]) -> Self:
        """Take copies of a model's files, which must be those of the model that is described."""
        made = cls(description, files)
        try:
            made._load()  # the folder may have changed since the model was loaded, or while it was copied
        except FormatError as error:
            raise InputError(f"The model's files must be those of the saved one. Got others. {error}") from None
        return made

    def __repr__(self) -> str:
        size = sum(len(data) for data in self.files.values())
        return f"BundledModel({self.description['kind']}, {self.dim:,} dimensions, {size / 1e6:,.1f} MB)"

    def _run(self, act: Callable[[Sequence[str]], T], texts: Sequence[str]) -> T:
        texts = check_texts(texts)
        with stored_model(STORED_MODEL_NAME):  # damage that shows only now is the artifact's too
            return act(texts)

    def _load(self) -> Encoder:
        with stored_model(STORED_MODEL_NAME), unpacked(self.files) as folder:
            encoder = self._make(folder, download=False)
            if encoder.dim != self.dim:
                raise InputError(f"The model inside the artifact must give {self.dim} numbers. Got {encoder.dim}.")
            return self._checked(encoder, "inside the artifact")  # the fingerprint is taken before the files go

    def _write(self, writer: ArtifactWriter) -> None:
        names = {path: path.replace("/", ".") for path in self.files}
        if len(set(names.values())) < len(names):
            raise InputError("A model's files must have names that differ by more than '/' and '.'. Got others.")
        writer.parameters(encoder=self.description, files=names)
        for path, data in self.files.items():
            writer.raw(names[path], data)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        names = reader.parameter("files", dict)
        if set(reader.manifest.files) != {f"{name}.raw" for name in names.values()} or reader.manifest.parents:
            raise FormatError(f"{reader.path}: expected the model's files and nothing else.")
        return cls(reader.parameter("encoder", dict), {path: reader.raw(name) for path, name in names.items()})
