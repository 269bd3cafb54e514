"""VectorMember: dense search that follows every change, over vectors or over codes of a settled codebook."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from vizsla.base.encoder import Encoder
from vizsla.base.index_retriever import only_rows
from vizsla.base.queries import Queries
from vizsla.base.recipe import Binding, Recipe
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.data.filter import Filter
from vizsla.encoders.batching import encode_items
from vizsla.encoders.cache import cached_encoder
from vizsla.engine.member import LiveMember, LiveView
from vizsla.errors import FormatError, InputError
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.flat import FlatIndex, Int8Prefilter
from vizsla.indexes.pq.codebook import Codebook, PqCodes
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.indexes.vectors import ItemVectors
from vizsla.methods.dense import explain_product
from vizsla.typing import BoolArray, Float32Array, Int32Array

FOLDER = "vectors"
"""What a segment calls its index."""
FLAT = {"encoder", "index", "storage", "guarded"}
CODED = {"encoder", "index", "bytes", "bits", "opq", "rounds", "seed", "memory_mb"}
STORAGES = (None, "float32", "float16")
"""What does not depend on other rows: bytes ("int8") stand for numbers between the least and the largest of all."""


class VectorMember(LiveMember):
    """Vectors of every row, found by their inner product with the query's.

    Takes `dense` over a flat index of float32 or float16, and over codes (`index="pq"`, or `pq` over such a base). The
    codebook is settled: trained once on the texts that were there, and new rows are coded by it. Where there were no
    texts yet, rows stay uncoded until the member is rebuilt. Segments hold an index each, mapped from the disk.

    Texts are encoded through an `EmbeddingCache` if there is one among the bindings, as "cache".
    """

    kinds: ClassVar[tuple[str, ...]] = ("dense", "pq")

    def __init__(self, recipe: Recipe, settled: dict[str, Any], bindings: dict[str, Any]):
        super().__init__(recipe, settled, bindings)
        self.encoder = _encoder_of(recipe, bindings)
        self._for_items = cached_encoder(self.encoder, bindings.get("cache"))
        self.storage, self._guarded = _flat_options(recipe)
        self._book = _read_book(settled)
        self._segments: dict[Path, DenseIndex] = {}
        self._parts: list[DenseIndex] = []
        self._memory = self._empty()

    @classmethod
    def accepts(cls, recipe: Recipe) -> bool:
        """Return whether the rows of the recipe do not depend on each other, once its codebook is settled."""
        settings = recipe.settings
        if recipe.kind == "pq":
            base = settings.get("base")
            if not isinstance(base, Recipe) or base.settings.get("index", "flat") != "flat" or not cls.accepts(base):
                return False
            return base.settings.get("storage") is None and set(settings) <= CODED | {"base"} - {"encoder", "index"}
        if recipe.kind != "dense" or not isinstance(settings.get("encoder"), Binding):
            return False
        if settings.get("index", "flat") == "flat":
            return set(settings) <= FLAT and settings.get("storage") in STORAGES
        return settings["index"] == "pq" and set(settings) <= CODED

    @classmethod
    def settle(cls, recipe: Recipe, texts: Iterable[str], bindings: dict[str, Any]) -> dict[str, Any]:
        """Train the codebook, where there is one and there are texts; vectors alone need nothing settled."""
        options = {name: value for name, value in recipe.settings.items() if name not in ("encoder", "index", "base")}
        if not _is_coded(recipe):
            return {}
        encoder = cached_encoder(_encoder_of(recipe, bindings), bindings.get("cache"))
        rows = encode_items(encoder, texts)
        return {} if not len(rows) else {"codebook": _write_book(PqIndex.build(rows, **options).codebook)}

    def open(self, folders: Sequence[Path], sizes: Sequence[int]) -> None:
        """Map the segments' vectors."""
        found = {folder: self._segments.get(folder) or self._loaded(folder) for folder in folders}
        for folder, size in zip(folders, sizes, strict=True):
            if len(found[folder]) != size:
                raise FormatError(f"{folder / FOLDER}: {len(found[folder])} vectors in place of {size}.")
        self._segments, self._parts = found, [found[folder] for folder in folders]
        self._memory = self._empty()

    def append(self, texts: Sequence[str]) -> None:
        """Encode the texts and keep their vectors."""
        rows = encode_items(self._for_items, texts)
        if self._book is not None:
            # Other processes append the same rows in other batches: a code must not depend on them.
            self._memory.append(self._book.assigned_alone(rows), 0.0)
            return
        stored = ItemVectors.of(rows, storage=self.storage)
        self._memory.append(stored.rows, stored.longest)

    def remove(self, slots: Int32Array, texts: Callable[[], Sequence[str]]) -> None:
        """Nothing is counted: a view is told which slots are left."""

    def view(self, live: BoolArray | None) -> VectorView:
        """Return what answers over the vectors as they are now; none of them is copied."""
        return VectorView(self.encoder, self._indexes(), live)

    def write(self, folder: Path, slots: Int32Array) -> None:
        """Write the vectors, or codes, of these slots as an index of their own."""
        parts = self._indexes()
        bounds = np.cumsum([0, *map(len, parts)])
        places = np.searchsorted(bounds, slots, side="right") - 1
        taken = [_stored_rows(part, slots[places == at] - bounds[at]) for at, part in enumerate(parts)]
        taken = taken or [self._empty().rows]
        self._index(np.concatenate(taken), None, guarded=self._guarded).save(folder / FOLDER)

    @property
    def memory_bytes(self) -> int:
        """Bytes of the vectors that are in no segment."""
        return int(self._memory.rows.nbytes)

    def _indexes(self) -> list[DenseIndex]:
        rows, longest = self._memory.rows, self._memory.longest
        return [*self._parts, self._index(rows, longest)] if len(rows) else list(self._parts)

    def _index(self, rows: Any, longest: float | None, *, guarded: bool = False) -> DenseIndex:
        if self._book is not None:
            return PqIndex(PqCodes.of(np.ascontiguousarray(rows), bits=self._book.bits), self._book)
        vectors = ItemVectors(rows, longest=longest)
        return FlatIndex(vectors, Int8Prefilter.of(vectors) if guarded and len(rows) else None)

    def _empty(self) -> GrowingRows:
        if self._book is not None:
            return GrowingRows(self._book.subspaces, np.dtype(np.uint8))
        return GrowingRows(self.encoder.dim, np.dtype(self.storage or "float32"))

    def _loaded(self, folder: Path) -> DenseIndex:
        index: DenseIndex = DenseIndex.load(folder / FOLDER, verify=False)
        if self._book is not None and isinstance(index, PqIndex):
            sound = _same_book(index.codebook, self._book)
        else:
            stored = index.stored.storage if isinstance(index, FlatIndex) else None
            sound = self._book is None and stored == (self.storage or "float32")
        if not sound or index.dim != self.encoder.dim:
            raise FormatError(f"{folder / FOLDER}: not what this member wrote. Rebuild the member.")
        return index


class GrowingRows:
    """Rows that only grow: an array of the first of them never changes, whatever is appended later.

    Parameters
    ----------
    width : int
        The length of a row.
    dtype : dtype
        Of its numbers.

    Examples
    --------
    >>> rows = GrowingRows(1, np.dtype("f"))
    >>> rows.append(np.ones((2, 1), "f"), 1.0)
    >>> before = rows.rows
    >>> rows.append(np.zeros((30, 1), "f"), 0.0)
    >>> before.ravel().tolist(), len(rows.rows)
    ([1.0, 1.0], 32)
    """

    def __init__(self, width: int, dtype: np.dtype[Any]):
        self._room = np.zeros((16, width), dtype)
        self._count = 0
        self.longest = 0.0

    @property
    def rows(self) -> Any:
        """All rows so far."""
        return self._room[: self._count]

    def append(self, rows: Any, longest: float) -> None:
        """Add rows, of which none is longer than `longest`."""
        end = self._count + len(rows)
        if end > len(self._room):
            room = np.zeros((max(end, 2 * len(self._room)), self._room.shape[1]), self._room.dtype)
            room[: self._count] = self.rows
            self._room = room
        if len(rows):
            self._room[self._count : end] = rows
        self._count, self.longest = end, max(self.longest, longest)


class VectorView(LiveView):
    """Indexes over ranges of slots, one after the other, searched as one.

    Parameters
    ----------
    encoder : Encoder
        Of queries.
    parts : list of DenseIndex
        Their items are the slots, in order.
    live : bool array, optional
        Which slots are left.
    """

    scale = "inner product"

    def __init__(self, encoder: Encoder, parts: list[DenseIndex], live: BoolArray | None):
        self.encoder, self.parts, self.live = encoder, parts, live
        self.bounds = np.cumsum([0, *map(len, parts)])
        self._last: tuple[BoolArray | None, list[Filter | None]] = (None, [None] * len(parts))

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors and of the encoder."""
        return self.encoder.nbytes + sum(part.nbytes for part in self.parts)

    def search(self, queries: Queries, k: int, allowed: BoolArray | None, threads: int) -> Candidates:
        """Search every part and merge what they find."""
        rows: Any = queries.encoded(self.encoder)
        filters = self._filters(self.live if allowed is None else allowed)
        found = [
            (start, part._search(rows, min(k, len(part)), filter, threads))
            for start, part, filter in zip(self.bounds.tolist(), self.parts, filters, strict=False)
            if len(part) and (filter is None or filter.count)
        ]
        merged = merged_parts(found, len(rows), k)
        return merged if (says := np.any(rows, axis=1)).all() else only_rows(merged, says)

    def score(self, queries: Queries, candidates: Candidates, threads: int) -> PairScores:
        """Score slots by the parts that they are in."""
        rows: Any = queries.encoded(self.encoder)
        scores, stats = np.zeros(len(candidates.items), np.float32), Stats()
        numbers = candidates.row_numbers()
        places = np.searchsorted(self.bounds, candidates.items, side="right") - 1
        for at in np.unique(places).tolist():
            chosen = np.flatnonzero(places == at)
            items = (candidates.items[chosen] - self.bounds[at]).astype(np.int32)
            scores[chosen] = self.parts[at]._pairs(rows, numbers[chosen], items)
            stats = stats + self.parts[at]._cost(len(chosen))
        return PairScores(scores, stats)

    def explain(self, queries: Queries, slot: int) -> Explanation:
        """Explain the inner product."""
        at = int(np.searchsorted(self.bounds, slot, side="right")) - 1
        one = Candidates.from_rows([np.array([slot], np.int32)])
        score = float(self.score(queries, one, 1).scores[0])
        return explain_product(score, queries.encoded(self.encoder), self.parts[at], int(slot - self.bounds[at]))

    def item_rows(self, slots: Int32Array) -> Float32Array:
        """Return the vectors of some slots, as far as they are kept."""
        rows = np.zeros((len(slots), self.encoder.dim), np.float32)
        places = np.searchsorted(self.bounds, slots, side="right") - 1
        for at in np.unique(places).tolist():
            chosen = places == at
            rows[chosen] = self.parts[at].take((slots[chosen] - self.bounds[at]).astype(np.int64))
        return rows

    def _filters(self, flags: BoolArray | None) -> list[Filter | None]:
        """Return what flags mean to each part; those of the last call are known."""
        last, filters = self._last
        if flags is not last:
            spans = zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True)
            made = [] if flags is None else [Filter(flags[start:end]) for start, end in spans]
            filters = [None if each.allows_everything else each for each in made] or [None] * len(self.parts)
            self._last = flags, filters
        return filters


def merged_parts(found: list[tuple[int, Candidates]], rows: int, k: int) -> Candidates:
    """Return the best `k` of each row among what parts have found, whose items begin at the given slots.

    Examples
    --------
    >>> one, other = Candidates([0, 2], [0, 1], [3.0, 1.0]), Candidates([0, 1], [0], [3.0])
    >>> merged = merged_parts([(0, one), (5, other)], 1, 2)
    >>> merged.items.tolist(), merged.scores.tolist()
    ([0, 5], [3.0, 3.0])
    """
    if len(found) == 1 and found[0][0] == 0:
        return found[0][1]
    stats = sum((each.stats for _, each in found), start=Stats(exact=True))
    numbers = np.concatenate([np.zeros(0, np.int64), *(each.row_numbers() for _, each in found)])
    items = np.concatenate([np.zeros(0, np.int32), *(each.items + np.int32(start) for start, each in found)])
    scores = np.concatenate([np.zeros(0, np.float32), *(each._required_scores() for _, each in found)])
    order = np.argsort(numbers, kind="stable")
    offsets = np.searchsorted(numbers[order], np.arange(rows + 1)).astype(np.int64)
    joined = Candidates.unchecked(offsets, items[order], None, None, stats)
    return joined.with_scores(PairScores(scores[order], stats), k=k)


def _stored_rows(part: DenseIndex, items: Any) -> Any:
    """Return vectors or codes of an index as it stores them."""
    if isinstance(part, PqIndex):
        return part.stored_codes.take(items.astype(np.int64))
    if not isinstance(part, FlatIndex):
        raise InputError(f"`part` must be an index over vectors or codes. Got {type(part).__name__}.")
    return part.stored.rows[items]


def _flat_options(recipe: Recipe) -> tuple[str | None, bool]:
    return recipe.settings.get("storage"), bool(recipe.settings.get("guarded", False))


def _is_coded(recipe: Recipe) -> bool:
    return recipe.kind == "pq" or recipe.settings.get("index", "flat") == "pq"


def _encoder_of(recipe: Recipe, bindings: dict[str, Any]) -> Encoder:
    """Return the encoder among the bindings, which must be the one that the recipe names."""
    inner = recipe.settings["base"] if recipe.kind == "pq" else recipe
    named: Binding = inner.settings["encoder"]
    encoder = bindings.get("encoder")
    if not isinstance(encoder, Encoder) or encoder.fingerprint != named.fingerprint or encoder.sparse:
        got = encoder.fingerprint if isinstance(encoder, Encoder) else type(encoder).__name__
        raise InputError(
            f"`encoder` must be the dense one that the member was made with ({named.fingerprint!r}). "
            f"Got {got!r}: give that one among the bindings, or rebuild the member."
        )
    return encoder


def _write_book(book: Codebook) -> dict[str, Any]:
    arrays = {"centroids": book.centroids, "rotation": book.rotation, "lost": book.lost}
    written = {
        name: {"shape": list(array.shape), "data": b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode()}
        for name, array in arrays.items()
        if array is not None
    }
    return {"dim": book.dim, **written}


def _read_book(settled: dict[str, Any]) -> Codebook | None:
    known = settled.get("codebook")
    if known is None:
        return None
    try:
        arrays = {
            name: np.frombuffer(b64decode(known[name]["data"]), "<f4").reshape(known[name]["shape"]).copy()
            for name in ("centroids", "rotation", "lost")
            if name in known
        }
        return Codebook(arrays["centroids"], arrays.get("rotation"), dim=known["dim"], lost=arrays.get("lost"))
    except (ValueError, TypeError, LookupError, InputError) as error:
        raise FormatError(f"The settled codebook of a member is damaged ({error}). Rebuild the member.") from error


def _same_book(one: Codebook, other: Codebook) -> bool:
    pairs = ((one.centroids, other.centroids), (one.rotation, other.rotation))
    return one.dim == other.dim and all(
        (a is None) == (b is None) and (a is None or b is None or np.array_equal(a, b)) for a, b in pairs
    )
