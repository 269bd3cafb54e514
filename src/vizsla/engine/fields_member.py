"""BM25F as a live member: title and text weighed apart, after every change as an index built of the live rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.base.recipe import Recipe
from vizsla.core.explanation import Explanation
from vizsla.core.sparse import row_numbers
from vizsla.core.strings import Strings
from vizsla.data.dataset import Dataset
from vizsla.engine.lexical_member import Bm25Member, Bm25View
from vizsla.engine.live_items import joined_text
from vizsla.engine.word_member import WordMember, stretches_of
from vizsla.engine.word_segments import (
    ARRAYS,
    WordSegment,
    by_language,
    list_name,
    native_segment,
    read_segment,
    rows_of_texts,
    totals,
    unsound,
    write_segment,
)
from vizsla.engine.word_segments import merged as merged_words
from vizsla.errors import FormatError, InputError
from vizsla.methods.bm25 import DEFAULT_B
from vizsla.methods.bm25_fields import HALF_COUNT, Field, FieldCounts, describe_fields, field_frequencies, field_scales
from vizsla.methods.bm25_statistics import Weighting
from vizsla.text.analyzers import Analyzer, analyzer_of, surface_of
from vizsla.text.fields import TEXT, TITLE, FieldWeights
from vizsla.text.streams import batches, call_with
from vizsla.typing import BoolArray, Float64Array, Int32Array, Int64Array, Uint8Array

KIND = "live-fields"
PAIR_COUNTS, PAIR_LENGTHS, SLOT_LENGTHS = "pair_field_counts", "pair_field_lengths", "slot_field_lengths"
FIELD_ARRAYS = ARRAYS | dict.fromkeys((PAIR_COUNTS, PAIR_LENGTHS, SLOT_LENGTHS), np.uint32)
"""The arrays of a segment: a pair is of a word's counts in all fields and of the lengths of these, in halves."""
MAX_KEY = 2**62
NO_FIELDS = FieldCounts((), np.zeros((1, 0), np.int64), np.zeros((1, 0)))


class FieldsMember(Bm25Member):
    """BM25 over the title and the text of items, which have weights and length norms of their own (BM25F).

    The segments are those of BM25 over both texts joined, but that a posting's number stands for its count in each
    field and the length of each field. The frequency that the fields give together is computed for each such number
    when a view is made, from the mean lengths of the live items. Weights and norms that are learned are settled on the
    clicks that are there when the member is made or rebuilt.
    """

    reads_fields: ClassVar[bool] = True

    def __init__(self, recipe: Recipe, settled: dict[str, Any], bindings: dict[str, Any]):
        if not self.accepts(recipe):
            raise InputError(f"`recipe` must be of BM25 over title and text. Got {recipe!r}.")
        WordMember.__init__(self, recipe, settled, bindings, analyzer_of(settled["analyzer"]))
        self.fields = _settled_fields(settled)
        chosen = {name: recipe.settings[name] for name in ("variant", "k1", "delta") if name in recipe.settings}
        self.weighting = Weighting(b=_shared_b(recipe), fields=self.fields, **chosen)
        self._places = [(TITLE, TEXT).index(field.name) for field in self.fields]

    @classmethod
    def accepts(cls, recipe: Recipe) -> bool:
        """Return whether the recipe weighs title and text, by weights that are given or learned."""
        fields, settings = recipe.settings.get("fields"), recipe.settings
        if recipe.kind not in cls.kinds or fields is None or settings.get("statistics") is not None:
            return False
        analyzer = settings.get("analyzer")
        plain = analyzer is None or (isinstance(analyzer, Analyzer) and analyzer.vocabulary is None)
        return plain and set(FieldWeights.of(fields).names) <= {TITLE, TEXT}

    @classmethod
    def settle(cls, recipe: Recipe, texts: Iterable[str], bindings: dict[str, Any]) -> dict[str, Any]:
        """Return the analyzer, and fields of the given weights; those that clicks would have to tell weigh 1."""
        given = FieldWeights.of(recipe.settings["fields"])
        names = given.names or (TITLE, TEXT)
        weights = given.weights or (1.0,) * len(names)
        norms = recipe.settings.get("b")
        each = norms if isinstance(norms, dict) else dict.fromkeys(names, _shared_b(recipe))
        rows = [[name, weight, each.get(name, DEFAULT_B)] for name, weight in zip(names, weights, strict=True)]
        return {"fields": rows} | super().settle(recipe, texts, bindings)

    @classmethod
    def settle_on(cls, recipe: Recipe, dataset: Dataset, bindings: dict[str, Any]) -> dict[str, Any]:
        """Choose weights on the clicks that are there, unless the recipe has them."""
        settled = super().settle_on(recipe, dataset, bindings)
        if FieldWeights.of(recipe.settings["fields"]).weights is None and len(dataset.items) and dataset.clicks.nnz:
            built: Any = recipe.build(dataset, bindings=bindings)
            settled["fields"] = [[field.name, field.weight, field.b] for field in built.fields]
        return settled

    def rows(self, texts: Sequence[Any]) -> dict[str, NDArray[Any]]:
        """Return the arrays of a segment of titles and texts."""
        return rows_of_fields(self.analyzer, [tuple(row[place] for place in self._places) for row in texts])

    def read(self, folder: Path) -> dict[str, NDArray[Any]]:
        """Map the arrays of a stored segment."""
        return read_segment(folder, KIND, FIELD_ARRAYS)

    def store(self, folder: Path, arrays: dict[str, NDArray[Any]]) -> None:
        """Write the arrays of a segment into a new folder."""
        write_segment(folder, arrays, KIND)

    def merged(self, parts: Sequence[tuple[Any, Int32Array]]) -> dict[str, NDArray[Any]]:
        """Return the arrays of one segment with the given slots of each."""
        return merged(parts, len(self.fields))

    def view(self, live: BoolArray | None) -> FieldsView:
        """Return what answers over the slots as they are now."""
        return FieldsView(self, tuple(self._segments))

    def field_counts(self, segments: Sequence[Any]) -> FieldCounts:
        """Return how many live items have each field, and how long it is in all of them."""
        total = FieldCounts(
            tuple(field.name for field in self.fields),
            np.zeros((self._languages, len(self.fields)), np.int64),
            np.zeros((self._languages, len(self.fields))),
        )
        for segment in segments:
            total = total.merged(segment.held)
        return total

    def frequencies(
        self, counts: NDArray[Any], lengths: NDArray[Any], spoken: Uint8Array, means: Float64Array
    ) -> Float64Array:
        """Return what the counts of pairs give together, by the arithmetic of a plain index."""
        average = means[spoken]
        scales = (field_scales(each, lengths[:, at], average[:, at]) for at, each in enumerate(self.fields))
        return field_frequencies(self.fields, counts, scales).astype(np.float64)

    def _segment(
        self, arrays: dict[str, NDArray[Any]], before: Sequence[WordSegment], folder: Path | None = None
    ) -> WordSegment:
        there = self.field_counts(before)

        def weighed(held: FieldCounts) -> tuple[Float64Array, Float64Array, Float64Array]:
            means = there.merged(held).means
            spoken = arrays["pair_languages"]
            if spoken.max(initial=0) >= self._languages:
                raise InputError("pairs must be of the analyzer's languages")
            counts, lengths = (
                arrays[name].reshape(len(spoken), len(self.fields)) for name in (PAIR_COUNTS, PAIR_LENGTHS)
            )
            return means, self.norms_of(len(spoken)), self.frequencies(counts, lengths, spoken, means)

        return FieldSegment.of_fields(arrays, there.names, self._languages, weighed, folder)

    def norms_of(self, pairs: int) -> Float64Array:
        """Return the norm of each pair: the lengths of fields are in the frequencies already."""
        return self.weighting.norms(np.zeros(pairs), 1.0)


def _shared_b(recipe: Recipe) -> float:
    given = recipe.settings.get("b", DEFAULT_B)
    return float(given) if isinstance(given, int | float) else DEFAULT_B


def _settled_fields(settled: dict[str, Any]) -> tuple[Field, ...]:
    rows = settled.get("fields")
    sound = isinstance(rows, list) and all(isinstance(row, list) and len(row) == 3 for row in rows)
    if not sound or not rows or not {row[0] for row in rows} <= {TITLE, TEXT}:
        raise FormatError(f"The fields of a member must have a name, a weight and a b. Got {rows!r:.80}: rebuild it.")
    return tuple(Field(name, float(weight), float(b)) for name, weight, b in rows)


@dataclass(frozen=True, eq=False)
class FieldSegment(WordSegment):
    """A segment, with the live items that have each field; its averages are the mean lengths, languages × fields.

    Parameters
    ----------
    held : FieldCounts
        Of the items that are not removed.
    """

    held: FieldCounts = NO_FIELDS

    @classmethod
    def of_fields(
        cls,
        arrays: dict[str, NDArray[Any]],
        names: tuple[str, ...],
        languages: int,
        weighed: Callable[[FieldCounts], tuple[Float64Array, Float64Array, Float64Array]],
        folder: Path | None = None,
    ) -> FieldSegment:
        """Wrap arrays; `weighed` returns mean lengths, norms and frequencies when these items are among all."""
        try:
            documents, length = totals(arrays["lengths"], arrays["languages"], languages)
            by_slot = arrays[SLOT_LENGTHS].reshape(len(arrays["lengths"]), len(names))
            held = FieldCounts.of_lengths(names, by_slot, arrays["languages"].astype(np.int32), languages)
            means, norms, frequencies = weighed(held)
            native = native_segment(arrays, norms, frequencies)
        except (ValueError, TypeError) as error:
            raise unsound(folder, error) from error
        return cls(arrays, native, means, documents, length, folder, held=held)

    def without(self, slots: Int32Array) -> FieldSegment:
        """Return the segment when these slots of its own are removed, too; those that were removed stay so."""
        new, held = self.left_of(slots), self.held
        lengths = self.arrays[SLOT_LENGTHS].reshape(len(self), len(held.names))[new]
        spoken = self.arrays["languages"][new].astype(np.int32)
        gone = FieldCounts.of_lengths(held.names, lengths, spoken, len(held.documents))
        left = FieldCounts(held.names, held.documents - gone.documents, held.lengths - gone.lengths)
        return replace(super().without(slots), held=left)  # type: ignore[call-arg, return-value]


def rows_of_fields(analyzer: Analyzer, rows: Sequence[tuple[str, ...]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a segment of items with several fields, which a settled analyzer reads.

    Languages and the order of words are those of the fields joined.
    """
    count, fields = len(rows), len(rows[0])
    arrays = rows_of_texts(analyzer, [joined_text(*row) if fields == 2 else row[0] for row in rows])
    terms = Strings(arrays["term_bytes"], arrays["term_offsets"], arrays["term_table"])
    builder = _native.BagBuilder(*analyzer.rule, sorted(analyzer.skipped))
    for batch in batches([text for row in rows for text in row]):
        call_with(builder.add, batch)
    offsets, numbers, counts, own = _field_rows(analyzer, builder, arrays["languages"], fields)
    named, owners = terms.find_all(own)[numbers], row_numbers(offsets)
    held = counts > 0  # what a word could be read as in another language is listed, and counts nothing
    named, owners, counts = named[held], owners[held], counts[held]
    posted = _postings_of(arrays, count)
    by_posting = np.zeros((len(posted), fields), np.uint32)
    by_posting[np.searchsorted(posted, named * count + owners // fields), owners % fields] = counts
    by_slot = np.bincount(owners, counts, count * fields).astype(np.uint32).reshape(count, fields)
    return _with_pairs(arrays, by_posting, by_slot)


def _field_rows(
    analyzer: Analyzer, builder: _native.BagBuilder, languages: Uint8Array, fields: int
) -> tuple[Int64Array, Int32Array, NDArray[np.uint32], Strings]:
    """Return a row for each field of each item, and the names of the lists that their numbers stand for."""
    terms: Strings = surface_of(builder)
    table, ways = np.zeros(0, np.int32), 1
    if analyzer.languages:
        terms, found = analyzer.terms_of(terms)
        table, ways = np.ascontiguousarray(found).reshape(-1), found.shape[1]
    several = len(analyzer.languages) > 1
    spoken = np.repeat(languages, fields)
    columns = spoken.astype(np.int32) if several else np.zeros(0, np.int32)
    offsets, numbers, counts = builder.ordered_rows(table, ways, columns, analyzer.rooted)
    if several:
        numbers, terms = by_language(offsets, numbers, counts, spoken, terms, len(analyzer.languages))
    return offsets, numbers, counts, terms


def _postings_of(arrays: dict[str, NDArray[Any]], count: int) -> Int64Array:
    """Return a key for each posting, ascending: its list × the number of slots + its slot."""
    lists = row_numbers(arrays["list_offsets"])
    return np.asarray(lists * count + arrays["slots"], np.int64)


def _with_pairs(
    arrays: dict[str, NDArray[Any]], by_posting: NDArray[np.uint32], by_slot: NDArray[np.uint32]
) -> dict[str, NDArray[Any]]:
    """Return arrays whose pairs are told apart by the counts in all fields and the lengths of these."""
    spoken = arrays["languages"]
    shape = _numbered(_number_of_rows(by_slot), spoken)[arrays["slots"]]
    key = shape
    for column in by_posting.T:
        key = _numbered(key, column)
    _, first, codes = np.unique(key, return_index=True, return_inverse=True)
    slots, counts = arrays["slots"][first], by_posting[first]
    return arrays | {
        **_coded(codes.reshape(-1)),
        "pair_counts": counts.sum(axis=1, dtype=np.uint32),
        "pair_lengths": arrays["lengths"][slots],
        "pair_languages": spoken[slots],
        PAIR_COUNTS: counts.reshape(-1),
        PAIR_LENGTHS: by_slot[slots].reshape(-1),
        SLOT_LENGTHS: by_slot.reshape(-1),
    }


def _coded(codes: Int64Array) -> dict[str, NDArray[Any]]:
    narrow = codes.max(initial=0) < 2**16
    none = np.zeros(0, np.uint32 if narrow else np.uint16)
    if narrow:
        return {"codes": codes.astype(np.uint16), "wide_codes": none}
    return {"codes": none, "wide_codes": codes.astype(np.uint32)}


def _number_of_rows(table: NDArray[np.uint32]) -> Int64Array:
    key = np.zeros(len(table), np.int64)
    for column in table.T:
        key = _numbered(key, column)
    return key


def _numbered(key: Int64Array, column: NDArray[Any]) -> Int64Array:
    """Return numbers that tell pairs of both apart."""
    wide = int(column.max(initial=0)) + 1
    if int(key.max(initial=0)) + 1 > MAX_KEY // wide:
        key = np.unique(key, return_inverse=True)[1].reshape(-1)
    return np.asarray(key * wide + column, np.int64)


def merged(parts: Sequence[tuple[FieldSegment, Int32Array]], fields: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of one segment with the given slots of each, one after another."""
    columns = ("pair_languages", "pair_counts", "pair_lengths")
    tables = [
        np.column_stack(
            [
                *(part.arrays[name].astype(np.uint32) for name in columns),
                *(part.arrays[name].reshape(-1, fields) for name in (PAIR_COUNTS, PAIR_LENGTHS)),
            ]
        )
        for part, _ in parts
    ]
    no_pairs = np.zeros((0, len(columns) + 2 * fields), np.uint32)
    # Pairs that are equal in all fields get one number; native code joins them by it.
    table, numbers = np.unique(np.concatenate([no_pairs, *tables]), axis=0, return_inverse=True)
    starts = np.cumsum([0, *map(len, tables)])
    joined = []
    for at, (part, kept) in enumerate(parts):
        own = numbers.reshape(-1)[starts[at] : starts[at + 1]].astype(np.uint32)
        arrays = part.arrays | {"pair_lengths": own}
        joined.append((replace(part, arrays=arrays, native=native_segment(arrays, np.ones(len(own)))), kept))
    arrays = merged_words(joined)
    pairs = table[arrays["pair_lengths"]]
    by_slot = [part.arrays[SLOT_LENGTHS].reshape(len(part), fields)[kept] for part, kept in parts]
    return arrays | {
        "pair_lengths": np.ascontiguousarray(pairs[:, 2]),
        PAIR_COUNTS: pairs[:, 3 : 3 + fields].reshape(-1),
        PAIR_LENGTHS: pairs[:, 3 + fields :].reshape(-1),
        SLOT_LENGTHS: np.concatenate([np.zeros((0, fields), np.uint32), *by_slot]).reshape(-1),
    }


class FieldsView(Bm25View):
    """BM25F over the slots of one moment.

    Parameters
    ----------
    member : FieldsMember
        The member that made it; only its settings are used later.
    segments : sequence of FieldSegment
        Those of this moment.
    **shared
        As for `WordView`.
    """

    def __init__(self, member: FieldsMember, segments: Sequence[Any], **shared: Any):
        self.fields, self.field_counts = member.fields, member.field_counts(segments)
        super().__init__(member, segments, **shared)

    def _add_lists(self, member: Any, segments: Sequence[Any]) -> None:
        means, count = self.field_counts.means, len(self.fields)
        stretches = stretches_of(means.reshape(-1), [segment.averages.reshape(-1) for segment in segments])
        for segment, stretch in zip(segments, stretches, strict=True):
            arrays = segment.arrays
            tables = (arrays[name].reshape(-1, count) for name in (PAIR_COUNTS, PAIR_LENGTHS))
            given = member.frequencies(*tables, arrays["pair_languages"], means)
            held = segment.native, segment.removed, segment.bits, stretch
            self.lists.native.add(*held, member.norms_of(len(given)), None, given)

    @property
    def formula(self) -> str:
        """What scores are made by."""
        return f"{super().formula} in {describe_fields(self.fields)}"

    def _parts(
        self, lists: Sequence[tuple[str, int]], weights: Sequence[float], slot: int, share: float
    ) -> list[Explanation]:
        """Return what each field gives of the share of some lists: as much as of the word's frequency."""
        if not share:
            return []
        given, several = np.zeros(len(self.fields)), len(self.analyzer.languages) > 1
        segment, own = self._place(slot)
        lengths = segment.arrays[SLOT_LENGTHS].reshape(len(segment), -1)[own]
        means = self.field_counts.means[segment.arrays["languages"][own]]
        names = [list_name(*each) if several else each[0] for each in lists]
        ids = self.lists.find(names)[0].reshape(len(names), -1)[:, self.lists.segments.index(segment)].tolist()
        idf = np.ones(len(names)) if several else self.weighting.idf(np.array(self.holders_of(names)), self.everything)
        rate = float(self.weighting.norms(np.zeros(1), 1.0)[0])
        for number, weight, gain in zip(ids, weights, self.weighting.gains(idf).tolist(), strict=True):
            counts = None if number < 0 else _counts_at(segment.arrays, number, own, len(self.fields))
            if counts is None or not gain:
                continue
            scales = [
                field_scales(field, lengths[at : at + 1], means[at : at + 1]) for at, field in enumerate(self.fields)
            ]
            frequency = float(field_frequencies(self.fields, counts[None], scales)[0])
            shares = counts * HALF_COUNT * np.concatenate(scales)
            given += weight * float(np.float32(gain * frequency / (frequency + rate))) * (shares / shares.sum())
        parts = [
            Explanation(float(each), f"{field.name}: {lengths[at] * HALF_COUNT:g} words long")
            for at, (field, each) in enumerate(zip(self.fields, given.tolist(), strict=True))
            if each
        ]
        floor = share - float(given.sum())
        return parts if abs(floor) < 1e-4 * share else [*parts, Explanation(floor, "what every item gets")]

    def _place(self, slot: int) -> tuple[Any, int]:
        """Return the segment of a slot, and its number there."""
        for segment in self.lists.segments:
            if slot < len(segment):
                return segment, slot
            slot -= len(segment)
        raise InputError(f"`slot` must be below {len(self.lists)}. Got {slot} more.")


def _counts_at(arrays: dict[str, NDArray[Any]], number: int, slot: int, fields: int) -> NDArray[np.uint32] | None:
    """Return the counts of a posting in all fields; None where the list has none for the slot."""
    begin, end = arrays["list_offsets"][number : number + 2].tolist()
    at = begin + int(np.searchsorted(arrays["slots"][begin:end], slot))
    if at == end or arrays["slots"][at] != slot:
        return None
    code = int(arrays["codes" if len(arrays["codes"]) else "wide_codes"][at])
    counts: NDArray[np.uint32] = arrays[PAIR_COUNTS].reshape(-1, fields)[code]
    return counts
