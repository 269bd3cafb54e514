"""Follower: what one process holds of an engine, brought up to the catalog before it answers."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from vizsla._internal.forking import ForkLock
from vizsla.artifacts.artifact import load
from vizsla.base.encoder import Encoder
from vizsla.base.recipe import Recipe
from vizsla.base.retriever import Retriever
from vizsla.core.catalog import Item
from vizsla.core.strings import Strings
from vizsla.data.metadata import TEXT_FIELD
from vizsla.data.metadata_builder import TITLE_FIELD
from vizsla.encoders.persistence import given_encoder
from vizsla.engine.catalog import CatalogFile, State, last_given, state_of
from vizsla.engine.definitions import (
    CACHE,
    LIVE,
    Definition,
    bindings_of,
    default_member,
    member_class,
    stored_members,
)
from vizsla.engine.generation import Generation
from vizsla.engine.live_items import LiveCatalog, LiveMetadata, ShownRows, StoredRows, joined_text
from vizsla.engine.live_metadata import (
    Fields,
    MemoryBlock,
    MetadataBlock,
    StoredBlock,
    fields_of,
    parsed_rows,
    stored_rows,
    with_changed,
    with_rows,
)
from vizsla.engine.member import LiveMember, SlotClicks
from vizsla.engine.objects import cache_path, load_objects, with_cache
from vizsla.engine.query_memory import QueryMemory
from vizsla.engine.row_words import LiveLists, RowWords
from vizsla.engine.segments import METADATA, Files, Segment, SegmentRows, check_files, read_rows, stored_segments
from vizsla.engine.slots import GrowingArray, SlotMap
from vizsla.engine.static_member import ReindexedRetriever, StaticMember
from vizsla.engine.verified import VerifiedFolders
from vizsla.errors import EngineError, FormatError, InputError
from vizsla.io.builder import stored_dataset
from vizsla.methods.bm25 import DEFAULT_B
from vizsla.methods.typo_tolerant import forgiving
from vizsla.typing import BoolArray, Int32Array, Int64Array

ATTEMPTS = 20
"""How often segments are looked up again because another process has merged them meanwhile."""
SOME_IDS = 2000
"""Ids that maintenance takes at a time: no search waits longer for it."""
ALL_ROWS = (
    "SELECT id, title, text, fields FROM items LEFT JOIN metadata ON metadata.n = items.n"
    " WHERE items.n NOT IN (SELECT n FROM deletions)"
)
LIVE_ROWS = "n > ? AND n NOT IN (SELECT n FROM deletions)"


class Layout(NamedTuple):
    """The slots of this process at one moment, for maintenance.

    Attributes
    ----------
    generation : Generation
        The moment.
    segments : list of Segment
        The segments, whose rows are the first slots.
    numbers : int64 array
        The row number of each slot.
    live : bool array
        Which slots are not deleted.
    ids : function of slots, ascending
        Returns their ids, some at a time.
    last_item, last_change : int
        The largest numbers of a row and of a change of metadata that there were.
    members : dict of str to LiveMember
        The live members, which hold these slots.
    """

    generation: Generation
    segments: list[Segment]
    numbers: Int64Array
    live: BoolArray
    ids: Callable[[Int32Array], Iterator[list[str]]]
    last_item: int
    last_change: int
    members: dict[str, LiveMember]

    @property
    def stored(self) -> int:
        """How many slots are in segments."""
        return sum(segment.rows for segment in self.segments)

    def bounds(self) -> list[int]:
        """Return where each segment begins, and where the last ends."""
        return _starts(self.segments)


class Follower:
    """Reads what is new in the catalog, in whole transactions, and hands it to the members of this process.

    Parameters
    ----------
    catalog : CatalogFile
        The catalog.
    bindings : mapping
        Live objects that recipes name.
    verify : bool
        Whether the checksums of segments are compared when they are opened.

    Attributes
    ----------
    build : function of a name, optional
        Builds a member that was never built, when it is first asked.
    """

    def __init__(self, catalog: CatalogFile, bindings: Mapping[str, Any], *, verify: bool = True):
        self.catalog, self.bindings, self.verify = catalog, dict(bindings), verify
        self.objects: dict[str, Any] = {}
        self.build: Callable[[str], None] | None = None
        self._building = ForkLock()
        self.lock = ForkLock()
        self._verified = VerifiedFolders(catalog.folder)
        self._open: set[str] = set()
        self._statics: dict[str, StaticMember] = {}
        self._metadata_wanted = False
        self._forget()

    def _forget(self) -> None:
        self._pid, self._version, self._layout = os.getpid(), -1, -1
        self._generation: Generation | None = None
        self.members: dict[str, LiveMember] = {}
        self.memory: QueryMemory | None = None
        self._opened: dict[str, Definition] = {}
        self.segments: list[Segment] = []
        self._rows: dict[str, SegmentRows] = {}
        self._stored = StoredRows([])
        self._flags, self._holes = GrowingArray(np.zeros(0, np.bool_)), np.zeros(0, np.int32)
        self._last_deletion = 0
        self._blocks: list[MetadataBlock] | None = None
        self._columns: dict[str, StoredBlock] = {}
        self._fields: Fields = {}
        self._words = {field: RowWords(partial(self._texts_of, field)) for field in (TITLE_FIELD, TEXT_FIELD)}
        self._wholes: dict[str, tuple[Any, Retriever]] = {}
        self._tolerant: dict[str, tuple[Retriever, Retriever]] = {}

    def current(self, *, metadata: bool = False) -> Generation:
        """Return the engine as the last transaction of any process has left it."""
        with self.lock:
            return self._current(metadata)

    def known(self) -> Generation | None:
        """Return the newest generation if nothing has to be read for it, and no other thread reads; else None."""
        if not self.lock.take():
            return None
        try:
            same = self._pid == os.getpid() and self._generation is not None
            return self._generation if same and self.catalog.data_version() == self._version else None
        finally:
            self.lock.__exit__()

    def _current(self, metadata: bool = False) -> Generation:
        if self._pid != os.getpid():
            self._forget()
        if metadata and not self._metadata_wanted:
            self._metadata_wanted, self._version = True, -1
        version = self.catalog.data_version()
        if version != self._version or self._generation is None:
            self._generation = self._refreshed()
            self._version = version
        return self._generation

    def reload(self) -> None:
        """Open everything anew at the next call."""
        with self.lock:
            self._forget()

    def _refreshed(self) -> Generation:
        for _ in range(ATTEMPTS):
            layout = -1
            try:
                with self.catalog.reading() as connection:
                    layout = state_of(connection).layout
                    return self._followed(connection)
            except (FileNotFoundError, FormatError) as error:
                self._forget()
                # Another process may have merged segments, and removed these, since the list was read.
                if self._is_layout(layout):
                    raise _named(error) from error
            except BaseException:
                self._forget()
                raise
        raise EngineError("The engine must hold still. Got other segments at every attempt: try again.")

    def _is_layout(self, layout: int) -> bool:
        """Return whether the catalog still lists the same segments and members."""
        with self.catalog.reading() as connection:
            return state_of(connection).layout == layout

    def _followed(self, connection: sqlite3.Connection) -> Generation:
        state = state_of(connection)
        if state.layout != self._layout:
            self._load(connection, state)
        else:
            self._catch_up(connection)
        fields = fields_of(connection)
        self._fields = self._fields if fields == self._fields else fields
        self._load_metadata(connection)
        self._layout = state.layout
        return self._made(state)

    def _load(self, connection: sqlite3.Connection, state: State) -> None:
        """Open the segments that are new, and read the rows that are in none."""
        before, flags = self.segments, self._flags.values
        self._definitions, self._default = stored_members(connection), default_member(connection)
        self.segments = stored_segments(connection)
        self._metadata_wanted |= any(each.reads_metadata for each in self._definitions.values())
        given = self.bindings, self.verify
        self.objects |= load_objects(self.catalog.folder, self._definitions.values(), self.objects, *given)
        self._open_statics()
        kept = self._open_members(before)
        starts = dict(zip((segment.folder for segment in before), _starts(before), strict=False)) if kept else {}
        self._load_rows(before, [segment.folder in starts for segment in self.segments])
        remembering = [each for each in self._definitions.values() if each.remembers]
        static = [each.last_click for each in remembering if each.type != LIVE]
        trained = min(static, default=last_given(connection, "clicks"))
        self.memory = QueryMemory(trained, self.memory) if remembering else None
        self._numbers = GrowingArray(np.zeros(0, np.int64))
        self._ids: list[str] = []
        self._blocks = None
        self._frontier = self._last_item = state.frontier
        self._last_click = self._last_unclick = self._last_change = 0
        spans = [(starts.get(segment.folder), segment.rows) for segment in self.segments]
        parts = [np.ones(rows, np.bool_) if at is None else flags[at : at + rows] for at, rows in spans]
        self._flags = GrowingArray(np.concatenate([np.zeros(0, np.bool_), *parts]))
        self._holes = np.flatnonzero(~self._flags.values).astype(np.int32)
        self._remove_from(connection, [segment for segment in self.segments if segment.folder not in starts])
        self._catch_up(connection)

    def _load_rows(self, before: Sequence[Segment], kept: Sequence[bool]) -> None:
        """Read the numbers and ids of the rows of segments; those of the first ones, if they were there, are known."""
        known, self._rows = self._rows, {}
        parts = [(segment.folder, *(folder for folder, _ in segment.parts.values())) for segment in self.segments]
        folders = {folder for several in parts for folder in several}
        self._verified.look_again(folders)
        for segment, was_open in zip(self.segments, kept, strict=True):
            self._check(segment, was_open)
            rows = known.get(segment.folder) if was_open else None
            self._rows[segment.folder] = rows or read_rows(self.catalog.folder / segment.folder, segment.rows)
        self._open = folders
        self._verified.save([*folders, *self._statics])
        count = len(before)
        first = [segment.folder for segment in self.segments[:count]]
        if count and all(kept[:count]) and first == [segment.folder for segment in before]:
            for segment in self.segments[count:]:
                self._stored.append(*self._rows[segment.folder])
        else:
            self._stored = StoredRows(list(self._rows.values()))

    def _check(self, segment: Segment, was_open: bool) -> None:
        """Compare the files of a segment with the list, unless this process has them open."""
        for folder, files in [(segment.folder, segment.files), *segment.parts.values()]:
            if not was_open or folder not in self._open:
                self._compare(folder, files)

    def _compare(self, folder: str, files: Files) -> bool:
        """Compare files with the list; return whether their checksums were, now or since they were last written."""
        path = self.catalog.folder / folder
        stamp = check_files(path, files, checksums=self.verify, known=self._verified.stamp(folder))
        if self.verify:
            self._verified.note(folder, stamp)
        return self.verify

    def _open_members(self, before: Sequence[Segment]) -> bool:
        """Open the live members over the segments; return whether they are the same as before.

        They are not where a part of a segment was written anew, as by a rollback to a member that had been dropped: the
        new part does not know what was removed from the old one.
        """
        live = {name: each for name, each in self._definitions.items() if each.type == LIVE}
        kept = all(self._opened.get(name) == each for name, each in live.items())
        there = {segment.folder: segment.parts for segment in before}
        numbers = [each.number for each in live.values()]
        known_segments = [(there[each.folder], each.parts) for each in self.segments if each.folder in there]
        kept = kept and all(old.get(m) == new[m] for old, new in known_segments for m in numbers)
        known, self.members = self.members if kept else {}, {}
        for name, definition in live.items():
            member = known[name] if kept else self.new_member(definition, self._definitions, self.members)
            folders = [self.catalog.folder / segment.parts[definition.number][0] for segment in self.segments]
            member.open(folders, [segment.rows for segment in self.segments])
            self.members[name] = member
        self._opened = live
        return kept

    def new_member(
        self, definition: Definition, known: Mapping[str, Definition], members: Mapping[str, LiveMember]
    ) -> LiveMember:
        """Return a member that holds nothing yet, over others that it is made of."""
        recipe = Recipe.stored(definition.recipe or {})
        kind = member_class(recipe, known)
        if kind is None:
            raise FormatError(f"{self.catalog.path}: no class takes the member {definition.name!r}: rebuild it.")
        return kind(recipe, definition.settled, self.bound(definition, known, members))

    def bound(
        self, definition: Definition, known: Mapping[str, Definition], members: Mapping[str, LiveMember]
    ) -> dict[str, Any]:
        """Return the live objects that a member's recipe names, by the name of the setting."""
        cache = cache_path(self.catalog.folder, definition, known)
        given = self.bindings if cache is None else {CACHE: cache, **self.bindings}
        return bindings_of(Recipe.stored(definition.recipe or {}), given, self.objects, members)

    def _open_statics(self) -> None:
        known, self._statics = self._statics, {}
        for definition in self._definitions.values():
            if definition.artifact and definition.trained is not None:
                self._statics[definition.artifact] = known.get(definition.artifact) or self._static(definition)

    def _static(self, definition: Definition) -> StaticMember:
        last = 0 if definition.trained is None else definition.trained.last_item
        folder = self.catalog.folder / definition.artifact
        checked = self._compare(definition.artifact, definition.files)
        built = load(folder, verify=self.verify and not checked)
        if not isinstance(built, Retriever):
            raise FormatError(f"{folder}: expected a Retriever. Got {type(built).__name__}.")
        held = with_cache(definition, {**self.objects, **self.bindings}, self.catalog.folder)
        known = {id(one): one for one in held.values()}
        for encoder in known.values():  # an artifact cannot bring a function back, nor a model that it does not hold
            if isinstance(encoder, Encoder):
                built = given_encoder(built, encoder)
        return StaticMember(built, last)

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Take the rows, deletions, clicks and changes of metadata that are new."""
        before = self._last_item
        self._unlearn(connection)
        self._remove(connection)
        sql = f"SELECT n, id, title, text FROM items WHERE {LIVE_ROWS} ORDER BY n"
        rows = connection.execute(sql, (before,)).fetchall()
        if rows:
            self._append(rows)
        self._last_item = max(before, last_given(connection, "items"))
        if self._learners:
            self._learn(connection, before)
        self._last_click = last_given(connection, "clicks")
        self._change_metadata(connection, [row[0] for row in rows])

    def _append(self, rows: Sequence[Sequence[Any]]) -> None:
        fields = [(title, text) for _, _, title, text in rows]
        texts = [joined_text(*both) for both in fields]
        self._numbers.append(np.array([row[0] for row in rows], np.int64))
        self._ids += [row[1] for row in rows]
        self._flags.append(np.ones(len(rows), np.bool_))
        for member in self.members.values():
            member.append(fields if member.reads_fields else texts)

    def _remove(self, connection: sqlite3.Connection) -> None:
        gone = connection.execute(
            "SELECT n FROM deletions WHERE d > ? AND n <= ?", (self._last_deletion, self._last_item)
        ).fetchall()
        self._last_deletion = last_given(connection, "deletions")
        self._removed(connection, gone)

    def _remove_from(self, connection: sqlite3.Connection, segments: Sequence[Segment]) -> None:
        """Remove the rows of segments that were deleted before these were opened."""
        sql, gone = "SELECT n FROM deletions WHERE d <= ? AND n BETWEEN ? AND ?", []
        for segment in segments:
            numbers = self._rows[segment.folder].numbers
            gone += connection.execute(sql, (self._last_deletion, int(numbers[0]), int(numbers[-1]))).fetchall()
        self._removed(connection, gone)

    def _removed(self, connection: sqlite3.Connection, gone: list[tuple[int]]) -> None:
        if not gone:
            return
        numbers = np.sort(np.array([n for (n,) in gone], np.int64))
        slots = self._slots_of(numbers)
        numbers, slots = numbers[slots >= 0], slots[slots >= 0]
        if not len(slots):
            return
        self._flags = self._flags.changed(slots, False)
        self._holes = np.insert(self._holes, np.searchsorted(self._holes, slots), slots)
        for member in self.members.values():
            member.remove(slots, partial(self._texts, connection, numbers))
        if self.memory is not None:
            self.memory.remove(slots)

    def _texts(self, connection: sqlite3.Connection, numbers: Int64Array) -> list[str]:
        """Read the texts of rows, deleted or not."""
        found = _texts_by_number(connection, numbers)
        try:
            return [found[n] for n in numbers.tolist()]
        except KeyError as error:
            raise FormatError(f"{self.catalog.path}: row {error} of a segment is missing. Restore a backup.") from error

    def _slots_of(self, numbers: Int64Array) -> Int32Array:
        """Return the slot of each row, -1 where this process does not have it."""
        slots = np.full(len(numbers), -1, np.int32)
        stored = self._stored.numbers
        for known, start in ((stored, 0), (self._numbers.values, len(stored))):
            if len(known):
                places = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
                slots[known[places] == numbers] = (places + start)[known[places] == numbers]
        return slots

    def _unlearn(self, connection: sqlite3.Connection) -> None:
        sql = "SELECT c FROM click_deletions WHERE x > ? AND c <= ? ORDER BY c"
        rows = connection.execute(sql, (self._last_unclick, self._last_click)).fetchall()
        self._last_unclick = last_given(connection, "click_deletions")
        if not rows:
            return
        numbers = np.array([row[0] for row in rows], np.int64)
        for member in self._learners if len(numbers) else ():
            member.unlearn(numbers)

    @property
    def _learners(self) -> list[LiveMember | QueryMemory]:
        """What takes clicks one by one."""
        found: list[LiveMember | QueryMemory] = [member for member in self.members.values() if member.learns]
        return found if self.memory is None else [*found, self.memory]

    def _learn(self, connection: sqlite3.Connection, before: int) -> None:
        """Give the members new clicks, and all clicks of rows that are new: these came with an item of the same id."""
        columns = "clicks.c, clicks.query, items.n, clicks.weight, clicks.time"
        new_rows = (
            f"SELECT {columns} FROM items CROSS JOIN clicks ON clicks.item = items.id"
            " WHERE items.n > ? AND items.n NOT IN (SELECT n FROM deletions)"
        )
        new_clicks = (
            f"SELECT {columns} FROM clicks CROSS JOIN items ON items.id = clicks.item"
            " WHERE clicks.c > ? AND items.n <= ? AND items.n NOT IN (SELECT n FROM deletions)"
        )
        rows = connection.execute(new_rows, (before,)).fetchall()
        rows += connection.execute(new_clicks, (self._last_click, before)).fetchall()
        if not rows:
            return
        rows.sort()
        slots = self._slots_of(np.array([row[2] for row in rows], np.int64))
        clicks = SlotClicks(
            np.array([row[0] for row in rows], np.int64),
            [row[1] for row in rows],
            slots,
            np.array([row[3] for row in rows], np.float64),
            np.array([row[4] for row in rows], np.float64),
        )
        for member in self._learners:
            member.learn(clicks)

    def _load_metadata(self, connection: sqlite3.Connection) -> None:
        """Map the columns of segments, and read the rows that are in none or have changed, once they are needed."""
        if self._blocks is not None or not self._metadata_wanted:
            return
        known, self._columns = self._columns, {}
        for segment in self.segments:
            folder, _ = segment.parts[METADATA]
            self._columns[folder] = known.get(folder) or StoredBlock(self.catalog.folder / folder, segment.rows)
        rows = parsed_rows(connection.execute("SELECT n, fields FROM metadata WHERE n > ?", (self._frontier,)))
        memory = with_rows([], [rows.get(n, {}) for n in self._numbers.values.tolist()])
        self._blocks = [*self._columns.values(), *memory]
        sql = "SELECT DISTINCT n FROM metadata_changes WHERE n <= ?"
        self._replace_metadata(connection, [row[0] for row in connection.execute(sql, (self._frontier,))])

    def _change_metadata(self, connection: sqlite3.Connection, new: list[int]) -> None:
        sql = "SELECT DISTINCT n FROM metadata_changes WHERE u > ? AND n <= ?"
        changed = {row[0] for row in connection.execute(sql, (self._last_change, self._last_item))}
        self._last_change = last_given(connection, "metadata_changes")
        if self._blocks is None:
            return
        if new:
            rows, stored = stored_rows(connection, new), len(self.segments)
            memory = [block for block in self._blocks[stored:] if isinstance(block, MemoryBlock)]
            self._blocks[stored:] = with_rows(memory, [rows.get(n, {}) for n in new])
        self._replace_metadata(connection, sorted(changed.difference(new)))

    def _replace_metadata(self, connection: sqlite3.Connection, numbers: list[int]) -> None:
        """Read rows again."""
        if not numbers or self._blocks is None:
            return
        found = stored_rows(connection, numbers)
        slots = self._slots_of(np.array(numbers, np.int64)).tolist()
        rows = {slot: found.get(n, {}) for n, slot in zip(numbers, slots, strict=True) if slot >= 0}
        self._blocks = with_changed(self._blocks, rows)

    def _made(self, state: State) -> Generation:
        slots = SlotMap(self._flags.values, self._holes)
        holed = slots if len(slots.holes) else None
        views = {name: member.view(None if holed is None else slots.flags) for name, member in self.members.items()}
        stored, memory = self._stored.numbers, self._numbers.values

        shown = ShownRows(self.catalog.rows, slots, stored, memory)
        blocks = None if self._blocks is None else tuple(self._blocks)
        words = partial(_words_of, self._words, stored, memory, slots)
        details = LiveMetadata(self._fields, blocks, holed, len(slots), shown, words)
        items = LiveCatalog(self._stored.ids, self._ids, holed, len(slots), details)
        members = dict(self._definitions), self._default
        served = partial(self._served, dict(self._statics), self._last_item)
        remembered = None if self.memory is None else self.memory.frozen()
        objects = {**self.objects, **self.bindings}
        moment = self._last_item, len(slots), self._last_change
        made = partial(self._made_of_items, moment, objects)
        return Generation(state, items, slots, members, views, served, made, remembered, objects)

    def _made_of_items(
        self,
        moment: tuple[int, int, int],
        objects: Mapping[str, Any],
        definition: Definition,
        items: LiveCatalog,
        *,
        forgiving_typos: bool = False,
    ) -> Retriever:
        """Return what a recipe makes of all items; the last one is kept until an item or its metadata changes."""
        known = self._wholes.get(definition.name)
        if known is None or known[0] != (definition, moment):
            with self.catalog.scanning() as connection:
                rows = connection.execute(f"{ALL_ROWS} ORDER BY items.n").fetchall()
            given = [Item(id, text, title, json.loads(fields or "{}")) for id, title, text, fields in rows]
            recipe, given = _with_known_fields(Recipe.stored(definition.recipe or {}), given)
            # Of an empty catalog it is made of another item, which is hidden.
            built = recipe.build(stored_dataset(given or [Item("none", "")]), bindings=objects)
            known = self._wholes[definition.name] = (definition, moment), built
        built = known[1]
        if forgiving_typos:
            last = self._tolerant.get(definition.name)
            if last is None or last[0] is not built:
                last = self._tolerant[definition.name] = built, forgiving(built)
            built = last[1]
        return ReindexedRetriever(built, items)

    def _served(
        self, statics: dict[str, StaticMember], last: int, definition: Definition, items: LiveCatalog
    ) -> Retriever:
        built = statics.get(definition.artifact) or self._first_built(definition)
        return built.over(items, last, lambda since: self._since(since, items))

    def _first_built(self, definition: Definition) -> StaticMember:
        """Build a member that was never built, where items are all that it needs."""
        name = definition.name
        if self.build is None or definition.waits_for_clicks:
            raise InputError(
                f"The member {name!r} must be built first, from the clicks that there are: `engine.rebuild({name!r})`, "
                f"or `vizsla engine rebuild ENGINE {name}`. Got none yet."
            )
        with self._building:
            for build in (None, self.build):
                if build is not None:
                    build(name)
                self.current()
                with self.lock:
                    known = self._definitions.get(name)
                    if known is not None and known.artifact in self._statics:
                        return self._statics[known.artifact]
        raise InputError(f"`member` must be there when it is built. Got {name!r}, dropped meanwhile.")

    def _since(self, number: int, items: Strings) -> dict[str, str]:
        """Return ids and texts of live rows after a number."""
        sql = f"SELECT id, title, text FROM items WHERE {LIVE_ROWS} ORDER BY n"
        with self.lock, self.catalog.reading() as connection:
            rows = connection.execute(sql, (number,)).fetchall()
        return {id: joined_text(title, text) for id, title, text in rows if items.find(id) >= 0}

    def _texts_of(self, field: str, numbers: Int64Array) -> list[str]:
        """Read the titles, or the whole texts, of rows; "" for one that was erased since its generation."""
        with self.lock, self.catalog.reading() as connection:
            found = _texts_by_number(connection, numbers, field)
        return [found.get(n, "") for n in numbers.tolist()]

    def layout(self, *, metadata: bool = False) -> Layout:
        """Return what maintenance needs to know of the slots, as the last transaction has left them."""
        with self.lock:
            generation = self._current(metadata)
            stored, memory = self._stored.numbers, self._numbers.values
            ids = partial(_ids_at, self._stored.ids, self._ids)  # which only grow
            segments, live, members = list(self.segments), self._flags.values, dict(self.members)
            last = self._last_item, self._last_change
        return Layout(generation, segments, np.concatenate([stored, memory]), live, ids, *last, members)


def _texts_by_number(connection: sqlite3.Connection, numbers: Int64Array, field: str = TEXT_FIELD) -> dict[int, str]:
    """Read the texts of rows, deleted or not, or their titles alone."""
    sql = "SELECT n, title, text FROM items WHERE n IN (SELECT value FROM json_each(?))"
    rows = connection.execute(sql, (json.dumps(numbers.tolist()),))
    return {n: title if field == TITLE_FIELD else joined_text(title, text) for n, title, text in rows}


def _words_of(
    words: Mapping[str, RowWords], stored: Int64Array, memory: Int64Array, slots: SlotMap, field: str
) -> LiveLists:
    """Return the lists of a field of the live rows at one moment."""
    return words[field].over(np.concatenate([stored, memory])[slots.flags])


def _starts(segments: Sequence[Segment]) -> list[int]:
    """Return the first slot of each segment, and where the last ends."""
    return list(accumulate((segment.rows for segment in segments), initial=0))


def _named(error: FileNotFoundError | FormatError) -> FormatError:
    if isinstance(error, FormatError):
        return error
    return FormatError(f"{error.filename}: missing. The catalog lists it: `engine.check(repair=True)` makes it anew.")


def _with_known_fields(recipe: Recipe, items: list[Item]) -> tuple[Recipe, list[Item]]:
    """Return a recipe without the fields that no item has: a build would take them for errors.

    Where no item has any of them, the items have no words to be found by.
    """
    known = set[str]().union(*(item.metadata for item in items))
    known |= {name for name in ("title", "text") if any(getattr(item, name) for item in items)}
    wanted = recipe.settings.get("fields")
    if not isinstance(wanted, Mapping):
        return recipe if known else Recipe.of(recipe.kind), items
    kept = {name: weight for name, weight in wanted.items() if name in known}
    if not kept:
        return Recipe.of(recipe.kind), [Item(item.id, "") for item in items]
    shares = recipe.settings.get("b")
    if isinstance(shares, Mapping):
        return recipe.but(fields=kept, b={name: b for name, b in shares.items() if name in kept} or DEFAULT_B), items
    return recipe.but(fields=kept), items


def _ids_at(stored: Strings, memory: list[str], slots: Int32Array) -> Iterator[list[str]]:
    """Return the ids of slots, ascending, some at a time."""
    boundary = len(stored)
    early, late = np.split(slots, [np.searchsorted(slots, boundary)])
    for start in range(0, len(early), SOME_IDS):
        yield stored.take(early[start : start + SOME_IDS])
    yield [memory[slot - boundary] for slot in late.tolist()]
