"""ShardedEngine: a live collection over several engines, which answers as one engine would, bit for bit."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from vizsla._internal.forking import ForkLock
from vizsla.base.placement import Placement
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.core.candidates import Candidates, Stats
from vizsla.core.catalog import Item
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.core.validation import as_path, check_type
from vizsla.data.conditions import Condition
from vizsla.engine.changes import FieldFacts, new_fields, rows_of
from vizsla.engine.engine import Engine
from vizsla.engine.segments import FLUSH_ROWS
from vizsla.errors import EngineError, InputError, ShardLostError, WorkerLostError, check_positive
from vizsla.scale.collection import (
    LOCK_SUFFIX,
    RECORD,
    WriterLock,
    check_members,
    click_row,
    listed_ids,
    read_record,
    shard_folders,
    write_record,
)
from vizsla.scale.local import LocalPlacement
from vizsla.scale.rendezvous import routed, shard_of
from vizsla.scale.shard import NOWHERE, EngineShard, ShardHits, ShardReasons, SharedWords, TermFacts, WordFacts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vizsla.base.placement import Resident
    from vizsla.typing import Float64Array, Int64Array

ATTEMPTS = 8
"""How often a search begins anew because a shard has changed meanwhile; then it asks about the moment it has seen."""
RESTART_S, LAPSE_S = 180.0, 2.0
"""How long a call waits for a shard to be started again; of a pause of this process, only so much counts."""
PAUSE_S = 0.05
SOON_S = 5.0
"""How long is waited for shards whose answer can be done without."""
MOST_TEXTS = 10_000
"""Queries whose words are remembered until the next write."""
ROWS_PER_READ = 1_000


class ShardedAnswer(NamedTuple):
    """What the shards found that answered in time.

    Attributes
    ----------
    candidates : Candidates
        The best items, as one engine would rank them.
    coverage : float
        The share of the items that were searched.
    partial : bool
        Whether a shard is missing.
    """

    candidates: Candidates
    coverage: float
    partial: bool

    @property
    def ids(self) -> list[list[str]]:
        """The ids for each query."""
        return self.candidates.ids


class _Facts:
    """What all shards know of words at one moment of each."""

    def __init__(self, found: Sequence[WordFacts | None]):
        self.moments = tuple(-1 if each is None else each.moment for each in found)
        self.sizes = [0 if each is None else each.size for each in found]
        documents = [each.documents for each in found if each is not None and each.documents is not None]
        lengths = [each.length for each in found if each is not None and each.length is not None]
        self.documents: Int64Array | None = np.sum(documents, axis=0) if documents else None
        self.length: Float64Array | None = np.sum(lengths, axis=0) if lengths else None
        self.terms: TermFacts = {}
        self.names: dict[str, tuple[str, ...]] = {}
        self.add(found)

    def add(self, found: Sequence[WordFacts | None]) -> None:
        """Merge what each shard knows of more words: holders are added up, and the first place counts."""
        names: dict[str, dict[str, None]] = {}
        new: TermFacts = {}
        for each in found:
            if each is None:
                continue
            for text, asked in each.names.items():
                names.setdefault(text, {}).update(dict.fromkeys(asked))
            for name, (holders, order) in each.terms.items():
                count, first = new.get(name, (0, NOWHERE))
                new[name] = count + holders, min(first, order)
        self.terms.update(new)
        self.names.update({text: tuple(asked) for text, asked in names.items()})

    def of(self, texts: Sequence[str]) -> SharedWords | None:
        if self.documents is None or self.length is None:
            return None
        asked = {name: self.terms[name] for text in texts for name in self.names[text]}
        return SharedWords(self.moments, self.documents, self.length, asked)


class ShardedEngine:
    """Several engines, each over its own folder in a thread or an actor, searched and written to as one.

    An item belongs to the shard that `shard_of` its id says. Row numbers are given here, for all shards, so that ties
    are in the order of one engine that was given the same writes; words weigh what all shards together say. A write is
    acknowledged when each of its shards has stored it; it is whole or absent in each shard by itself. One process
    writes at a time, from its first write until it closes the collection; any number may search. A shard whose folder
    was lost raises ShardLostError, but in searches with a deadline, until a backup of it is there.

    Parameters
    ----------
    folders : sequence of Path
        The shards' folders, in order.
    on : Placement, optional
        Where shards live; threads of this process unless given.
    bindings : mapping, optional
        Live objects that recipes name.
    memory_mb : float, optional
        Maximum memory of a shard, for the placement of actors.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> engine = ShardedEngine.create(f"{folder.name}/fruit", 2, members={"words": Recipe.of("bm25")})
    >>> engine.upsert({"f": "a green fig", "p": "a green pear", "a": "an apple"})
    3
    >>> engine.search("green").ids, engine.delete(["f"]), engine.count()
    ([['f', 'p']], 1, 2)
    >>> engine.close(); folder.cleanup()
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        on: Placement | None = None,
        bindings: Mapping[str, Any] | None = None,
        memory_mb: float | None = None,
    ):
        self.folders = [as_path(each, "folders") for each in folders]
        if not self.folders:
            raise InputError("`folders` must be at least one. Got none.")
        if on is not None:
            check_type("on", on, Placement, "a Placement")
        self._own = on is None
        self._on = LocalPlacement(len(self.folders)) if on is None else on
        self._lock = ForkLock()
        self._facts: dict[str, _Facts] = {}
        given = dict(bindings or {})
        self._shards: list[Resident] = [
            self._on.start(EngineShard, str(folder), given, memory_mb=memory_mb) for folder in self.folders
        ]
        self.members: dict[str, Any] = {}
        self.default = ""
        self.sizes = [0] * len(self._shards)
        self._record: Path | None = None
        self._closed = self._ordered = False
        self._last, self._fields = 0, FieldFacts()
        first = self.folders[0]
        self._writer = WriterLock(first.with_name(first.name + LOCK_SUFFIX))

    @classmethod
    def create(
        cls,
        path: str | Path,
        shards: int | Sequence[str | Path],
        *,
        members: Mapping[str, Recipe],
        default: str | None = None,
        on: Placement | None = None,
        flush_rows: int = FLUSH_ROWS,
        bindings: Mapping[str, Any] | None = None,
        memory_mb: float | None = None,
        **options: Any,
    ) -> Self:
        """Make a collection in a new folder.

        Parameters
        ----------
        path : path
            The folder, with a record of the shards.
        shards : int or sequence of paths
            How many shards, in folders below `path`; or their folders, such as on disks of their own.
        members : mapping of str to Recipe
            What searches the items: bm25, and dense over a flat index.
        default : str, optional
            The member that answers unless another is named; the last one unless given.
        on : Placement, optional
            Where shards live.
        flush_rows : int
            How many new items a shard keeps in memory.
        bindings : mapping, optional
            Live objects that recipes name.
        memory_mb : float, optional
            What a shard takes at most.
        **options
            Of `Engine.create`: metadata, durability.
        """
        folder, unfinished = as_path(path), bool(options.pop("_unfinished", False))
        check_members(members)
        named = shard_folders(shards)
        if on is not None:
            check_type("on", on, Placement, "a Placement")
        if (folder / RECORD).exists():
            raise InputError(f"`path` must be new. Got {folder}: use `ShardedEngine.open`, or another path.")
        folder.mkdir(parents=True, exist_ok=True)
        count = len(named)
        for name in named:
            # Numbers of rows have gaps in a shard, which a flush counts as rows.
            made = Engine.create(
                folder / name, members=members, default=default, flush_rows=flush_rows * count, bindings=bindings,
                maintenance="manual", **options,
            )  # fmt: skip
            made.close()
        chosen = default if default is not None else list(members)[-1]
        recipes = {name: recipe.to_dict() for name, recipe in members.items()}
        write_record(folder, named, recipes, chosen, unfinished=unfinished)
        return cls._of_record(folder, unfinished=unfinished, on=on, bindings=bindings, memory_mb=memory_mb)

    @classmethod
    def open(cls, path: str | Path, **options: Any) -> Self:
        """Open a collection; see the class for the options."""
        return cls._of_record(as_path(path), unfinished=False, **options)

    @classmethod
    def _of_record(cls, folder: Path, *, unfinished: bool, **options: Any) -> Self:
        record = read_record(folder, unfinished=unfinished)
        made = cls([folder / name for name in record["shards"]], **options)
        made.members, made.default, made._record = dict(record["members"]), record["default"], folder
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(Engine, name):
            raise _NotOfShardsError(
                f"A collection of shards searches, explains, counts and stores items. Got `{name}`: that needs an "
                "engine."
            )
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"ShardedEngine({len(self._shards)} shards)"

    def close(self) -> None:
        """End the shards; all that was acknowledged is on their disks."""
        self._closed = True
        self._writer.release()
        for shard in self._shards:
            shard.stop()
        if self._own:
            self._on.close()

    def search(
        self,
        query: str | Sequence[str],
        k: int = 10,
        *,
        where: Condition | Sequence[str] | None = None,
        using: str = "",
        deadline_s: float | None = None,
        **other: Any,
    ) -> ShardedAnswer:
        """Return the best `k` items per query, of the shards that answer in time.

        Parameters
        ----------
        query : str or sequence of str
            One query, or many.
        k : int
            How many items at most.
        where : Condition or ids, optional
            Only these items are found.
        using : str
            The member that answers; the default one unless given.
        deadline_s : float, optional
            Shards that have not answered by then are left out, and the answer is `partial`. Without it all are waited
            for, also while one is started again.
        **other
            What only an engine takes, such as facets and offset: refused.
        """
        if other:
            raise _NotOfShardsError(
                f"A search of shards takes `where`, `using` and `deadline_s`. Got `{next(iter(other))}`: pages, "
                "facets, sorting and groups need an engine."
            )
        texts, k, end = Queries.of(query).texts, check_positive("k", k), _end(deadline_s)
        for attempt in range(ATTEMPTS + 1):
            facts = self._known(texts, using, end)
            shared, last = facts.of(texts), attempt == ATTEMPTS
            calls = [(texts, k, where, using, moment, shared, last) for moment in facts.moments]
            found: list[ShardHits | None] = self._all("search", calls, end, left_out=[m < 0 for m in facts.moments])
            if not any(each is not None and each.rows is None for each in found):
                return self._merged(found, facts, len(texts), k)
            self._forget(using, facts)
        raise _moved_on()

    def explain(self, query: str, item: str, *, using: str = "") -> Explanation:
        """Say why the item has its score for this query, as one engine would.

        Parameters
        ----------
        query : str
            The query.
        item : str
            The item's id.
        using : str
            The member that scores; the default one unless given.
        """
        self._shard(item)
        found = self.explanations(query, [item], using=using)
        if item not in found:
            raise InputError(f"`item` must be an item of the collection. Got {item!r:.60}.")
        return found[item]

    def explanations(
        self, query: str, items: Sequence[str], *, using: str = "", deadline_s: float | None = None
    ) -> dict[str, Explanation]:
        """Say why items have their scores for this query, by id: all shards are asked once, at the same time.

        Parameters
        ----------
        query : str
            The query.
        items : sequence of str
            Ids; those of no item are left out.
        using : str
            The member that scores; the default one unless given.
        deadline_s : float, optional
            Items of shards that have not answered by then are left out. Without it all are waited for.
        """
        texts, end = Queries.of(query).texts, _end(deadline_s)
        if len(texts) != 1:
            raise InputError(f"`query` must be one query. Got {len(texts)}.")
        parts = self._routed((id, id) for id in items)
        for _ in range(ATTEMPTS + 1):
            facts = self._known(texts, using, end)
            shared = facts.of(texts)
            calls = [(texts[0], part, using, moment, shared) for part, moment in zip(parts, facts.moments, strict=True)]
            idle = [not part or moment < 0 for part, moment in zip(parts, facts.moments, strict=True)]
            answers: list[ShardReasons | None] = self._all("explain", calls, end, left_out=idle)
            reasons = [each for each in answers if each is not None]
            if all(each.found is not None for each in reasons):
                return {id: why for each in reasons for id, why in (each.found or {}).items()}
            self._forget(using, facts)
        raise _moved_on()

    def upsert(self, items: Any) -> int:
        """Store items, in place of those that have the same ids; return how many, when all shards have them."""
        return self._put(items, new=False)

    def add(self, items: Any) -> int:
        """Store items; an id that is there already raises, and nothing is stored."""
        return self._put(items, new=True)

    def _put(self, items: Any, *, new: bool) -> int:
        rows = [Item(row.id, row.text, row.title, row.fields) for row in rows_of(items)]
        with self._writing():
            if new:
                self._check_new([row.id for row in rows])
            fields = new_fields(self._fields, [dict(row.metadata) for row in rows])
            first = self._last + 1
            self._last = first + len(rows) - 1  # also if it fails: a number is never given twice
            parts = self._routed((row.id, (row, first + at)) for at, row in enumerate(rows))
            calls = [([row for row, _ in part], [number for _, number in part], fields) for part in parts]
            return self._sum("upsert", calls, fields)

    def delete(self, ids: str | Iterable[str] | None = None, *, where: Condition | None = None) -> int:
        """Delete items by id, of which those that are none are left out, or by a condition; return how many."""
        if (ids is None) == (where is None):
            raise InputError("`delete` must be given either ids or `where`. Got none, or both.")
        if where is not None:
            check_type("where", where, Condition, "made by `vizsla.where`")
            with self._writing():
                return self._sum("delete_where", [(where,)] * len(self._shards))
        listed = listed_ids(ids)
        with self._writing():
            return self._sum("delete", [(part,) for part in self._routed((id, id) for id in listed)])

    def click(self, query: str, item: str, weight: float = 1.0, time: float | None = None) -> int:
        """Note that the item was chosen for the query; after a crash of its shard it may be noted twice."""
        return self.clicks([(query, item, weight, time)])

    def clicks(self, clicks: Iterable[Sequence[Any]]) -> int:
        """Note several clicks: (query, item), with weight and time where these are known."""
        rows = [click_row(each) for each in clicks]
        with self._writing():
            parts = self._routed((row[1], row) for row in rows)
            unknown = self._unknown([row[1] for row in rows])
            if unknown:
                raise InputError(f"`clicks` must be of items. Got {unknown[0]!r:.60}, which is none.")
            return self._sum("clicks", [(part,) for part in parts])

    def update_metadata(self, changes: Mapping[str, Mapping[str, Any]]) -> int:
        """Change fields of items by id; None removes a field."""
        if not isinstance(changes, Mapping):
            raise InputError(f"`changes` must be a mapping of ids to fields. Got {type(changes).__name__}.")
        for id, values in changes.items():
            check_type(f"changes[{id!r:.60}]", values, Mapping, "a mapping of fields")
        with self._writing():
            unknown = self._unknown(list(changes))
            if unknown:
                raise InputError(f"`changes` must be of items. Got {unknown[0]!r:.60}, which is none.")
            given = [{name: value for name, value in each.items() if value is not None} for each in changes.values()]
            plain = rows_of([{"id": str(at), "text": "", "metadata": each} for at, each in enumerate(given)])
            fields = new_fields(self._fields, [row.fields for row in plain])
            parts = self._routed((id, (id, dict(values))) for id, values in changes.items())
            return self._sum("update_metadata", [(dict(part), fields) for part in parts], fields)

    def get(self, id: str) -> Item | None:
        """Return an item by its id; None where there is none."""
        found: Item | None = self._one(self._shard(id), "get", id)
        return found

    def items(self, ids: Sequence[str], *, deadline_s: float | None = None) -> dict[str, Item]:
        """Return those of these items that there are, by id; with a deadline, of the shards that answer in time."""
        parts, end = self._routed((id, id) for id in ids), _end(deadline_s)
        found = self._all("items", [(part,) for part in parts], end, left_out=[not part for part in parts])
        return {item.id: item for part in found for item in part or ()}

    def count(self, where: Condition | None = None) -> int:
        """Return how many items there are, or how many fulfill a condition."""
        if where is not None:
            check_type("where", where, Condition, "made by `vizsla.where`")
        return sum(self._all("size", [(where,)] * len(self._shards), None))

    def stats(self) -> dict[str, Any]:
        """Return how many items there are, and what each shard says of itself; None for one that does not answer."""
        found = self._all("stats", [()] * len(self._shards), time.monotonic() + SOON_S)
        each = [{"folder": str(folder), "stats": known} for folder, known in zip(self.folders, found, strict=True)]
        return {"items": sum(known["items"] for known in found if known is not None), "shards": each}

    def maintain(self) -> None:
        """Flush, and merge segments where that is due, in all shards."""
        self._all("maintain", [()] * len(self._shards), None)
        self._facts.clear()

    def backup(self, path: str | Path) -> Path:
        """Copy all shards to a new folder, which is a collection; the copy of one shard replaces a lost one."""
        folder, named = as_path(path), shard_folders(len(self._shards))
        if folder.exists():
            raise InputError(f"`path` must be new. Got {folder}, which is there: choose another.")
        with self._writing():
            folder.mkdir(parents=True)
            self._all("backup", [(str(folder / name),) for name in named], None)
            if self._record is not None:
                write_record(folder, named, self.members, self.default)
        return folder

    def _known(self, texts: Sequence[str], using: str, end: float | None) -> _Facts:
        """Return what all shards know of the words of these queries; asked once until the next write."""
        facts = self._facts.get(using)
        if facts is not None and -1 not in facts.moments:
            missing = [text for text in texts if text not in facts.names]
            if not missing:
                return facts
            found = self._all("look", [(missing, using)] * len(self._shards), end)
            same = all(each is None or each.moment == m for each, m in zip(found, facts.moments, strict=True))
            if same and None not in found and len(facts.names) < MOST_TEXTS:
                facts.add(found)
                return facts
        facts = _Facts(self._all("look", [(list(texts), using)] * len(self._shards), end))
        self.sizes = [size or known for size, known in zip(facts.sizes, self.sizes, strict=True)]
        self._facts[using] = facts
        return facts

    def _forget(self, using: str, facts: _Facts) -> None:
        if self._facts.get(using) is facts:
            del self._facts[using]

    def _merged(self, found: Sequence[ShardHits | None], facts: _Facts, queries: int, k: int) -> ShardedAnswer:
        """Return the best of all shards; equal scores are in the order of the row numbers."""
        answered = [each for each in found if each is not None and each.rows is not None]
        known = [size for size in self.sizes if size]
        usual = sum(known) / len(known) if known else 1.0  # of a shard that has never answered
        whole = sum(size or (usual if each is None else 0.0) for size, each in zip(self.sizes, found, strict=True))
        searched = sum(size for size, each in zip(facts.sizes, found, strict=True) if each is not None)
        rows = []
        for query in range(queries):
            hits = [hit for each in answered for hit in zip(*(each.rows or [])[query], strict=True)]
            rows.append(sorted(hits, key=lambda hit: (-hit[1], hit[2], hit[0]))[:k])
        numbered = sorted({(number, id) for row in rows for id, _, number in row})
        places = {pair: place for place, pair in enumerate(numbered)}
        items = np.array([places[number, id] for row in rows for id, _, number in row], np.int32)
        scores = np.array([score for row in rows for _, score, _ in row], np.float32)
        offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        stats = Stats(exact=all(each.exact for each in answered) and len(answered) == len(found))
        catalog = Strings.of([id for _, id in numbered])
        candidates = Candidates.unchecked(offsets, items, scores, catalog, stats)
        return ShardedAnswer(candidates, searched / whole if whole else 1.0, len(answered) < len(found))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock of this process's writers, and from the first write on that of the collection."""
        self._check_open()
        with self._lock:
            if self._writer.take():
                try:
                    self._begin_writing()
                except BaseException:
                    self._writer.release()
                    raise
            yield

    def _begin_writing(self) -> None:
        """Read where the last writer ended, and let all shards know the same fields."""
        everywhere = [()] * len(self._shards)
        self._last = max(self._all("last_number", everywhere, None))
        found = self._all("fields", everywhere, None)
        self._fields = {name: facts for each in reversed(found) for name, facts in each.items()}
        complete = [each.keys() == self._fields.keys() for each in found]
        self._all("upsert", [([], [], self._fields)] * len(self._shards), None, left_out=complete)

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("A collection must be open. Got one that was closed: use `ShardedEngine.open`.")

    def _check_new(self, ids: Sequence[str]) -> None:
        parts = self._routed((id, id) for id in ids)
        taken = [id for found in self._all("known", [(part,) for part in parts], None) for id in found]
        if taken:
            raise InputError(f"Every id must be new. Got {taken[0]!r}, which is an item: use `upsert` to replace it.")

    def _unknown(self, ids: Sequence[str]) -> list[str]:
        """Return which of these ids are no items: found before anything is stored, as one engine finds them."""
        parts = self._routed((id, id) for id in dict.fromkeys(ids))
        calls, idle = [(part,) for part in parts], [not part for part in parts]
        known = {id for found in self._all("known", calls, None, left_out=idle) for id in found or ()}
        return [id for id in ids if id not in known]

    def _shard(self, id: str) -> int:
        """Return the shard of an id."""
        if not isinstance(id, str):
            raise InputError(f"`id` must be a text. Got {type(id).__name__}.")
        self._check_order()
        return shard_of(id, len(self._shards))

    def _routed(self, pairs: Iterable[tuple[str, Any]]) -> list[list[Any]]:
        self._check_order()
        return routed(pairs, len(self._shards))

    def _check_order(self) -> None:
        """Raise where folders are not all shards in order; those that do not answer now are left out."""
        if self._ordered:
            return
        found = self._all("some_ids", [()] * len(self._shards), time.monotonic() + SOON_S)
        for number, ids in enumerate(found):
            if any(shard_of(id, len(self._shards)) != number for id in ids or ()):
                raise InputError(
                    f"`folders` must be all shards of a collection, in order. Got {self.folders[number]} in place "
                    f"{number} of {len(self._shards)}, whose items belong to another."
                )
        self._ordered = True

    def _sum(self, method: str, calls: Sequence[tuple[Any, ...]], fields: FieldFacts | None = None) -> int:
        """Call the shards that have something to do, and add up what they return; new fields concern all of them."""
        idle = [not call[0] and not fields for call in calls]
        try:
            stored = sum(each or 0 for each in self._all(method, calls, None, left_out=idle))
        finally:
            self._facts.clear()
        self._fields.update(fields or {})
        return stored

    def _one(self, shard: int, method: str, *arguments: Any) -> Any:
        idle = [number != shard for number in range(len(self._shards))]
        return self._all(method, [arguments] * len(self._shards), None, left_out=idle)[shard]

    def _all(
        self, method: str, calls: Sequence[tuple[Any, ...]], end: float | None, *, left_out: Sequence[bool] = ()
    ) -> list[Any]:
        """Call a method of all shards at the same time; return None for those that do not answer by `end`.

        A shard whose worker was lost is started again by its placement, and called again: every method may be
        repeated. Without an end that is waited for. Without an end, a shard whose folder was lost raises, after the
        others have answered.
        """
        self._check_open()
        skipped = list(left_out) or [False] * len(self._shards)
        answers: list[Any] = [None] * len(self._shards)
        waiting = {at: shard.call(method, *calls[at]) for at, shard in enumerate(self._shards) if not skipped[at]}
        waited, seen, lost = 0.0, time.monotonic(), None
        while waiting:
            left = None if end is None else max(0.0, end - time.monotonic())
            places = list(waiting)
            done = self._shards[places[0]].wait([waiting[at] for at in places], left)
            again = {}
            for at, finished in zip(places, done, strict=True):
                if not finished:
                    continue
                try:
                    answers[at] = self._shards[at].result(waiting[at])
                except ShardLostError as error:
                    lost = error
                except WorkerLostError:
                    if end is None and waited > RESTART_S:
                        raise
                    if end is None or time.monotonic() < end:
                        again[at] = calls[at]
            if again:
                time.sleep(PAUSE_S)
            now = time.monotonic()
            waited, seen = waited + min(now - seen, LAPSE_S), now
            waiting = {at: self._shards[at].call(method, *call) for at, call in again.items()}
        if lost is not None and end is None:
            raise lost
        return answers


def reshard(path: str | Path, into: str | Path, shards: int | Sequence[str | Path], **options: Any) -> int:
    """Copy a collection into a new one with another number of shards; row numbers, and so ties, stay. Return its size.

    Parameters
    ----------
    path : path
        The collection, which no process writes to meanwhile.
    into : path
        The new one.
    shards : int or sequence of paths
        How many shards, or their folders.
    **options
        Options of `ShardedEngine.create`.
    """
    record, target = read_record(as_path(path)), as_path(into, "into")
    members = {name: Recipe.from_dict(recipe) for name, recipe in record["members"].items()}
    bindings = options.get("bindings")
    with (
        ShardedEngine.open(path, bindings=bindings) as old,
        ShardedEngine.create(
            target, shards, members=members, default=record["default"], _unfinished=True, **options
        ) as new,
        old._writing(),
        new._writing(),
    ):
        fields = old._fields
        after = [0] * len(old._shards)
        while True:
            read = old._all("rows", [(number, ROWS_PER_READ) for number in after], None)
            # A shard that has more rows ends at its last one: no number below it may be stored later.
            bound = min((rows[-1][0] for rows in read if len(rows) == ROWS_PER_READ), default=None)
            batch = sorted(row for rows in read for row in rows if bound is None or row[0] <= bound)
            if not batch:
                break
            after = [
                max([last, *(n for n, _ in rows if bound is None or n <= bound)])
                for last, rows in zip(after, read, strict=True)
            ]
            parts = new._routed((item.id, (n, item)) for n, item in batch)
            new._sum("upsert", [([item for _, item in part], [n for n, _ in part], fields) for part in parts], fields)
        clicks = [click for found in old._all("all_clicks", [()] * len(old._shards), None) for click in found]
        new._sum("clicks", [(part,) for part in new._routed((click[1], click) for click in clicks)])
        write_record(target, read_record(target, unfinished=True)["shards"], new.members, new.default)
        return new.count()


class _NotOfShardsError(InputError, AttributeError):
    """What an engine does and a collection of shards does not."""


def _end(deadline_s: float | None) -> float | None:
    """Return the moment of a deadline."""
    if deadline_s is None:
        return None
    if isinstance(deadline_s, bool) or not isinstance(deadline_s, int | float) or math.isnan(deadline_s):
        raise InputError(f"`deadline_s` must be seconds. Got {deadline_s!r:.60}.")
    return time.monotonic() + deadline_s


def _moved_on() -> EngineError:
    return EngineError("A shard must keep the moment that was asked about. Got others at every attempt: try again.")
