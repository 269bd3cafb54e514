"""What an engine does besides changes and searches: members, snapshots, backups, checks and statistics."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from vizsla.artifacts.atomic_folder import make_parents, rename_new, sync
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.base.retriever import Retriever
from vizsla.base.web_search import stacked
from vizsla.compose.parser import parse
from vizsla.core.candidates import Candidates
from vizsla.core.catalog import Item
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.data.conditions import Condition
from vizsla.data.dataset import Dataset
from vizsla.encoders.cache import EmbeddingStore
from vizsla.engine.catalog import (
    NAME,
    ODD_ROWS,
    CatalogFile,
    last_given,
    live_numbers,
    note,
    put_setting,
    setting,
    state_of,
)
from vizsla.engine.definitions import (
    COMPOSITE,
    LIVE,
    STATIC,
    Definition,
    TrainingMoment,
    check_member,
    default_member,
    defined,
    inlined,
    listed_folders,
    member_class,
    replacement,
    set_default,
    store_member,
    stored_members,
)
from vizsla.engine.follower import Follower
from vizsla.engine.generation import Generation
from vizsla.engine.live_items import joined_text
from vizsla.engine.live_metadata import MemoryBlock, fields_of, stored_rows
from vizsla.engine.maintenance import Maintenance, changed_layout, check_layout
from vizsla.engine.objects import ARTIFACTS, EMBEDDINGS, keep_objects, with_cache, with_encoders, with_objects
from vizsla.engine.segments import (
    METADATA,
    Files,
    NewFolder,
    Writing,
    files_of,
    sizes_on_disk,
    stored_segments,
    sync_tree,
)
from vizsla.engine.writer import Writer
from vizsla.errors import EngineError, FormatError, InputError
from vizsla.io.builder import stored_dataset
from vizsla.io.records import ListSource, Records
from vizsla.methods.bm25 import bm25
from vizsla.typing import Int64Array

T = TypeVar("T")

DELETED_ROWS = "(SELECT n FROM deletions)"


def check_mappings(**given: Any) -> None:
    """Raise unless each of these settings is a mapping of names, or None."""
    for what, value in given.items():
        if value is not None and not (isinstance(value, Mapping) and all(isinstance(name, str) for name in value)):
            raise InputError(f"`{what}` must be a mapping of names. Got {value!r:.60}.")


def all_defined(given: Mapping[str, Any]) -> dict[str, Definition]:
    """Return the definitions of new members, each of which may name those before it."""
    known: dict[str, Definition] = {}
    for name, each in given.items():
        known[name] = defined(name, each, known)
    return known


@contextmanager
def new_engine(folder: Path) -> Iterator[Path]:
    """Yield a folder to make an engine in, which gets its name at the end of the block; before that there is none."""
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    try:
        make_parents(folder.parent)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
    except OSError as error:
        raise EngineError(
            f"`path` must be a folder that can be made. Got {folder}: {error.strerror or error}."
        ) from error
    try:
        yield partial
        with Writing(folder):
            sync_tree(partial)
            partial.rename(folder)  # an empty folder of this name gives way
            sync(folder.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def declare(writer: Writer, kinds: Mapping[str, str]) -> None:
    """Store what fields are declared to be."""
    rows = [(name, kind) for name, kind in kinds.items()]
    if rows:
        sql = "INSERT INTO fields VALUES (?, ?, 1, '[]')"
        writer.store(lambda connection: connection.executemany(sql, rows) and None)


def read(follower: Follower, act: Callable[[sqlite3.Connection], T]) -> T:
    """Return what a function reads of the catalog in one moment, in a time as short as that of a search."""
    with follower.lock, follower.catalog.reading() as connection:
        return act(connection)


def scan(follower: Follower, act: Callable[[sqlite3.Connection], T]) -> T:
    """Return what a function reads of the catalog in one moment, however long that takes: no search waits for it."""
    with follower.catalog.scanning() as connection:
        return act(connection)


def item_of(connection: sqlite3.Connection, id: str) -> Item | None:
    """Return an item by its id."""
    if not isinstance(id, str):
        raise InputError(f"`id` must be a text. Got {type(id).__name__}.")
    number = live_numbers(connection, [id]).get(id)
    if number is None:
        return None
    title, text = connection.execute("SELECT title, text FROM items WHERE n = ?", (number,)).fetchone()
    row = connection.execute("SELECT fields FROM metadata WHERE n = ?", (number,)).fetchone()
    return Item(id, text, title, {} if row is None else json.loads(row[0]))


def last_item(connection: sqlite3.Connection) -> int:
    """Return the largest row number that was given."""
    return last_given(connection, "items")


def numbered_items(connection: sqlite3.Connection, after: int, most: int) -> list[tuple[int, Item]]:
    """Return up to `most` live items after a row number, with their numbers in ascending order."""
    sql = (
        "SELECT items.n, id, title, text, fields FROM items LEFT JOIN metadata ON metadata.n = items.n"
        " WHERE items.n > ? AND items.n NOT IN (SELECT n FROM deletions) ORDER BY items.n LIMIT ?"
    )
    rows = connection.execute(sql, (after, most)).fetchall()
    return [(n, Item(id, text, title, json.loads(fields) if fields else {})) for n, id, title, text, fields in rows]


def all_clicks(connection: sqlite3.Connection) -> list[tuple[str, str, float, float]]:
    """Return all clicks: query, item, weight and time."""
    return connection.execute("SELECT query, item, weight, time FROM clicks ORDER BY c").fetchall()


class Matches(NamedTuple):
    """The rows that fulfilled a condition when it was evaluated, outside of the transaction that uses them.

    Attributes
    ----------
    layout, last_item, last_change : int
        The moment: the segments and members, the last row, and the last change of metadata.
    numbers : int64 array
        The rows.
    """

    layout: int
    last_item: int
    last_change: int
    numbers: Int64Array


def evaluated(follower: Follower, condition: Condition) -> Matches:
    """Evaluate a condition now; the transaction that uses it looks only at what has changed since."""
    layout = follower.layout(metadata=True)
    generation = layout.generation
    mask = generation.filter(condition).mask
    found = np.flatnonzero(mask)
    numbers = layout.numbers[found if generation.slots is None else generation.slots.of_items(found)]
    return Matches(generation.state.layout, layout.last_item, layout.last_change, numbers)


def matching(connection: sqlite3.Connection, condition: Condition, known: Matches | None) -> list[str]:
    """Return the ids of the items that fulfill a condition, within a transaction."""
    if known is None or known.layout != state_of(connection).layout:  # it may have been forgotten what has changed
        known = Matches(0, 0, 0, np.zeros(0, np.int64))
    sql = "SELECT n FROM items WHERE n > ? UNION SELECT n FROM metadata_changes WHERE u > ?"
    since = [row[0] for row in connection.execute(sql, (known.last_item, known.last_change))]
    rows = stored_rows(connection, since)
    mask = MemoryBlock([rows.get(n, {}) for n in since]).mask(condition, fields_of(connection))
    changed = np.array(since, np.int64)
    wanted = np.union1d(np.setdiff1d(known.numbers, changed), changed[mask])
    sql = f"SELECT id FROM items WHERE n IN (SELECT value FROM json_each(?)) AND n NOT IN {DELETED_ROWS} ORDER BY n"
    return [row[0] for row in connection.execute(sql, (json.dumps(wanted.tolist()),))]


def page_of(found: Candidates, offset: int) -> Candidates:
    """Return what comes after the first hits of each query."""
    numbers = found.row_numbers()
    places = np.flatnonzero(np.arange(len(numbers)) - found.offsets[numbers] >= offset)
    lengths = np.maximum(np.diff(found.offsets) - offset, 0)
    return found._taken(np.concatenate([[0], np.cumsum(lengths)]), places)


def explained(
    member: Retriever, query: Any, most: int, offset: int, threads: int, named: dict[str, Any]
) -> tuple[Candidates, list[list[Explanation]]]:
    """Return what comes after the first hits of each query, and why each hit has its score."""
    asked = Queries.of(query)
    # One query at a time where reasons follow: what was paid for its answer serves these.
    alone = [asked] if len(asked) == 1 else [Queries([text]) for text in asked.texts]
    found = stacked([member(each, most, threads=threads, **named) for each in alone or [asked]])
    page = found if not offset else page_of(found, offset)
    return page, [[member.explain(each, id, **named) for id in ids] for each, ids in zip(alone, page.ids, strict=True)]


def add_member(follower: Follower, maintenance: Maintenance, name: str, given: Any, *, replace: bool = False) -> None:
    """Add a member; a live one settles, and writes its part of every segment."""
    given = with_encoders(given)
    with maintenance.holding():
        known = read(follower, stored_members)
        if name in known and not replace:
            raise InputError(f"`name` must be new. Got {name!r}, which is a member: drop it, or choose another name.")
        definition = defined(name, given, known)
        if name in known:
            definition = replacement(definition, known)
        keep_objects(follower, given)
        definition = with_objects(follower, definition, known)
        if definition.type == LIVE:
            _put_live(follower, maintenance, definition, known, "add member")
            return
        if definition.expression:
            _check_expression(follower, definition)

        def stored(connection: sqlite3.Connection) -> None:
            store_member(connection, definition)
            changed_layout(connection)
            note(connection, "add member", name)

        maintenance.commit(stored)
    has_items = read(follower, lambda connection: last_given(connection, "items")) > 0
    if definition.type == STATIC and has_items:
        rebuild(follower, maintenance, name, 1)


def _check_expression(follower: Follower, definition: Definition) -> None:
    """Raise unless an expression can be made; of parts that are not built yet, only the grammar is checked."""
    generation, parts = follower.current(), dict[str, Retriever]()
    try:
        if not generation.awaits(definition):
            parts = {each: generation.retriever(each) for each in definition.needs}
    except InputError:
        pass
    parse(definition.expression, parts or dict.fromkeys(definition.needs, bm25({"": ""})))


def _put_live(
    follower: Follower, maintenance: Maintenance, definition: Definition, known: dict[str, Definition], action: str
) -> None:
    """Settle a live member, write its parts and store it, in place of one that has its number."""
    recipe = Recipe.stored(definition.recipe or {})
    kind = member_class(recipe, known)
    if kind is None:
        raise InputError(f"The member {definition.name!r} must be one that follows changes. Got {recipe!r:.100}.")
    dataset, moment, layout = scan(follower, lambda connection: (*_moment(connection), state_of(connection).layout))
    follower.current()
    bound = follower.bound(definition, known, follower.members)
    settled = definition.but(settled=kind.settle_on(recipe, dataset, bound), trained=moment, number=0)
    _store_live(follower, maintenance, settled, known, definition.number, layout, action)


def _store_live(
    follower: Follower,
    maintenance: Maintenance,
    settled: Definition,
    known: dict[str, Definition],
    replaced: int,
    layout: int,
    action: str,
) -> None:
    parts = maintenance.write_parts(settled, {**known, settled.name: settled})

    def stored(connection: sqlite3.Connection) -> None:
        check_layout(connection, layout)
        if replaced:
            connection.execute("DELETE FROM members WHERE m = ?", (replaced,))
            connection.execute("DELETE FROM parts WHERE m = ?", (replaced,))
        number = store_member(connection, settled)
        rows = [(s, number, folder, json.dumps(files)) for s, (folder, files) in parts.items()]
        connection.executemany("INSERT INTO parts VALUES (?, ?, ?, ?)", rows)
        changed_layout(connection)
        note(connection, action, settled.name)

    maintenance.commit(stored)
    maintenance.sweep()


def drop_member(follower: Follower, maintenance: Maintenance, name: str) -> None:
    """Remove a member."""

    def dropped(connection: sqlite3.Connection) -> None:
        known = stored_members(connection)
        check_member(name, known)
        users = [each.name for each in known.values() if name in each.needs]
        if users:
            raise InputError(
                f"`name` must be a member that no other is made of. Got {name!r}, which {users[0]!r} uses."
            )
        if default_member(connection) == name:
            raise InputError(f"`name` must not be the default member. Got {name!r}: use `set_default` first.")
        connection.execute("DELETE FROM members WHERE m = ?", (known[name].number,))
        connection.execute("DELETE FROM parts WHERE m = ?", (known[name].number,))
        changed_layout(connection)
        note(connection, "drop member", name)

    with maintenance.holding():
        maintenance.commit(dropped)
        maintenance.sweep()


def choose_default(maintenance: Maintenance, name: str) -> None:
    """Choose the default member."""

    def chosen(connection: sqlite3.Connection) -> None:
        set_default(connection, name, stored_members(connection))
        changed_layout(connection)
        note(connection, "default", name)

    with maintenance.holding():
        maintenance.commit(chosen)


def dataset_of(connection: sqlite3.Connection) -> Dataset:
    """Return all live items and their clicks."""
    sql = (
        "SELECT items.id, items.title, items.text, metadata.fields FROM items"
        f" LEFT JOIN metadata ON metadata.n = items.n WHERE items.n NOT IN {DELETED_ROWS} ORDER BY items.n"
    )
    items = [
        Item(id, text, title, {} if fields is None else json.loads(fields))
        for id, title, text, fields in connection.execute(sql)
    ]
    clicks = connection.execute("SELECT query, item, weight, time FROM clicks ORDER BY c").fetchall()
    if not items:
        return Dataset(Records(ListSource([]), Strings.of([])), Records(ListSource([]), Strings.of([])))
    return stored_dataset(items, clicks or None)


def rebuild(follower: Follower, maintenance: Maintenance, name: str | None, threads: int) -> None:
    """Build members anew; searches and writes go on meanwhile, and each is swapped in one transaction."""
    known = read(follower, stored_members)
    if name is not None:
        check_member(name, known)
    for definition in known.values():
        if definition.name == name and definition.type == LIVE:
            with maintenance.holding():
                _put_live(follower, maintenance, definition, read(follower, stored_members), "rebuild")
        elif definition.type == STATIC and name in (None, definition.name):
            _rebuild_static(follower, maintenance, definition, known, threads)


def _rebuild_static(
    follower: Follower, maintenance: Maintenance, definition: Definition, known: dict[str, Definition], threads: int
) -> None:
    dataset, trained = scan(follower, _moment)
    recipe = inlined(Recipe.stored(definition.recipe or {}), known)
    bindings = with_cache(definition, {**follower.objects, **follower.bindings}, follower.catalog.folder)
    built: Retriever = recipe.build(dataset, threads=threads, bindings=bindings)
    with maintenance.holding(), NewFolder(follower.catalog.folder, ARTIFACTS) as new:
        folder = new.path / "model"
        with Writing(folder):
            built.save(folder)
        new.sealed()
        changed = {"artifact": f"{new.name}/model", "files": files_of(folder), "trained": trained}

        def swapped(connection: sqlite3.Connection) -> None:
            there = stored_members(connection).get(definition.name)
            if there is None or there.number != definition.number:
                raise InputError(
                    f"`member` must be there when it is rebuilt. Got {definition.name!r}, dropped meanwhile."
                )
            store_member(connection, there.but(**changed))
            changed_layout(connection)
            note(connection, "rebuild", definition.name)

        maintenance.commit(swapped)
        new.keep()
        maintenance.sweep()


def _moment(connection: sqlite3.Connection) -> tuple[Dataset, TrainingMoment]:
    """Return what there is to train on, and when."""
    dataset, now = dataset_of(connection), time.time()
    lasts = last_given(connection, "items"), last_given(connection, "clicks")
    clicks = connection.execute("SELECT COUNT(*) FROM clicks").fetchone()[0]
    return dataset, TrainingMoment(state_of(connection).generation, now, *lasts, len(dataset.items), clicks)


def erase(catalog: CatalogFile, writer: Writer) -> None:
    """Write the catalog anew, so that nothing of deleted rows is left in it or in its log."""

    def rewritten(connection: sqlite3.Connection) -> None:
        connection.execute("VACUUM")
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise InputError("The catalog's log must be free to be erased. Got a process that reads it: try again.")

    with writer.exclusively():
        catalog.maintain(rewritten)
    if (catalog.folder / EMBEDDINGS).exists():
        with catalog.scanning() as connection:
            rows = connection.execute("SELECT title, text FROM items UNION ALL SELECT '', query FROM clicks")
            EmbeddingStore(catalog.folder / EMBEDDINGS).keep(joined_text(title, text) for title, text in rows)


def backup(follower: Follower, path: Path) -> Path:
    """Copy the engine to a new folder; the caller holds maintenance, so that no segment goes away."""
    if path.resolve().is_relative_to(follower.catalog.folder.resolve()):
        raise InputError(f"`path` must be outside of the engine. Got {path}: what is inside is swept.")
    if os.path.lexists(path):
        raise InputError(f"`path` must be new. Got {path}, which exists: choose another.")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with Writing(path):
        make_parents(path.parent)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            _copy_catalog(follower, partial / NAME)
            for name in read_listed(partial / NAME):
                shutil.copytree(follower.catalog.folder / name, partial / name, symlinks=True)
            sync_tree(partial)
            rename_new(partial, path)
            sync(path.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return path


def _copy_catalog(follower: Follower, target: Path) -> None:
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))

    def copied(connection: sqlite3.Connection) -> None:
        other = sqlite3.connect(target, isolation_level=None)
        try:
            connection.backup(other)
        finally:
            other.close()

    scan(follower, copied)


def read_listed(catalog: Path) -> set[str]:
    """Return the folders that a catalog lists."""
    connection = sqlite3.connect(f"{catalog.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        return listed_folders(connection)
    except (sqlite3.Error, *ODD_ROWS) as error:
        raise FormatError(f"{catalog}: not a sound catalog ({error!s:.100}). Use another backup.") from error
    finally:
        connection.close()


def copy_engine(source: Path, target: Path) -> None:
    """Copy a backup to a new folder."""
    if not (source / NAME).is_file():
        raise InputError(f"`backup` must be a folder that `engine.backup` made. Got {source}.")
    if os.path.lexists(target):
        raise InputError(f"`path` must be new. Got {target}, which exists: choose another.")
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    with Writing(target):
        make_parents(target.parent)
        shutil.rmtree(partial, ignore_errors=True)
        try:
            shutil.copytree(source, partial, symlinks=True)
            sync_tree(partial)
            rename_new(partial, target)
            sync(target.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def check(follower: Follower, maintenance: Maintenance) -> list[str]:
    """Return what is wrong with the catalog and the segments."""
    problems = list(maintenance.damaged().values())

    def compared(connection: sqlite3.Connection) -> list[str]:
        found = [row[0] for row in connection.execute("PRAGMA quick_check") if row[0] != "ok"]
        rows = connection.execute(
            f"SELECT id FROM items WHERE n NOT IN {DELETED_ROWS} GROUP BY id HAVING COUNT(*) > 1 LIMIT 1"
        )
        found += [f"The id {row[0]!r} has several rows." for row in rows]
        if problems:
            return found
        frontier, numbers = state_of(connection).frontier, list[int]()
        for segment in stored_segments(connection):
            numbers += maintenance.numbers(segment).tolist()
        dead = {row[0] for row in connection.execute("SELECT n FROM deletions")}
        held = [n for n in numbers if n not in dead]
        there = connection.execute(
            f"SELECT n FROM items WHERE n <= ? AND n NOT IN {DELETED_ROWS} ORDER BY n", (frontier,)
        )
        if held != [row[0] for row in there]:
            found.append("The segments do not hold the rows that the catalog has up to its frontier.")
        return found

    return problems + scan(follower, compared)


def stats(follower: Follower, generation: Generation) -> dict[str, Any]:
    """Return counts, bytes and the age of members."""

    def counted(connection: sqlite3.Connection) -> dict[str, Any]:
        clicks = connection.execute("SELECT COUNT(*) FROM clicks").fetchone()[0]
        segments = stored_segments(connection)
        known = stored_members(connection)
        moments = {name: each.trained for name, each in known.items() if each.type != COMPOSITE}
        counts = {moment: _since(connection, moment) for moment in set(moments.values())}
        since = {name: counts[moment] for name, moment in moments.items()}
        return {"clicks": clicks, "segments": segments, "known": known, "since": since}

    read_now = scan(follower, counted)
    segments, known = read_now["segments"], read_now["known"]
    names = {METADATA: "metadata"} | {each.number: name for name, each in known.items()}
    folders: dict[str, list[str]] = {"rows": [segment.folder for segment in segments]}
    for segment in segments:
        for number, (folder, _) in segment.parts.items():
            folders.setdefault(names.get(number, str(number)), []).append(folder)
    for name, each in known.items():
        if each.artifact:
            folders.setdefault(name, []).append(each.artifact)
    sizes = {
        name: sum(sizes_on_disk(follower.catalog.folder, {one: one for one in several}).values())
        for name, several in folders.items()
    }
    files = [follower.catalog.path.with_name(NAME + end) for end in ("", "-wal")]
    sizes["catalog"] = sum(file.stat().st_size for file in files if file.exists())
    kept = follower.catalog.folder / EMBEDDINGS
    if kept.exists():
        sizes["embeddings"] = kept.stat().st_size
    count = len(generation.items)
    return {
        "generation": generation.state.generation,
        "items": count,
        "deleted": generation.size - count,
        "clicks": read_now["clicks"],
        "segments": [segment.rows for segment in segments],
        "memory_rows": generation.size - sum(segment.rows for segment in segments),
        "bytes_on_disk": sizes,
        "bytes_per_item": {name: size / max(1, count) for name, size in sizes.items()},
        "default": generation.default,
        "members": {name: {"type": each.type} | read_now["since"].get(name, {}) for name, each in known.items()},
    }


def _since(connection: sqlite3.Connection, trained: TrainingMoment | None) -> dict[str, Any]:
    last_item, last_click = (0, 0) if trained is None else (trained.last_item, trained.last_click)
    items = connection.execute(
        f"SELECT COUNT(*) FROM items WHERE n > ? AND n NOT IN {DELETED_ROWS}", (last_item,)
    ).fetchone()
    clicks = connection.execute("SELECT COUNT(*) FROM clicks WHERE c > ?", (last_click,)).fetchone()
    return {
        "trained_at": None if trained is None else trained.time,
        "trained_generation": None if trained is None else trained.generation,
        "items_since": items[0],
        "clicks_since": clicks[0],
    }


def snapshot(maintenance: Maintenance, name: str) -> None:
    """Keep the members under a name."""
    if not isinstance(name, str) or not name:
        raise InputError(f"`name` must be a text. Got {name!r:.60}.")

    def kept(connection: sqlite3.Connection) -> None:
        if connection.execute("SELECT 1 FROM snapshots WHERE name = ?", (name,)).fetchone():
            raise InputError(f"`name` must be new. Got {name!r}, which is a snapshot: choose another.")
        rows = connection.execute("SELECT m, name, definition FROM members ORDER BY m").fetchall()
        members = [{"m": m, "name": each, "definition": text} for m, each, text in rows]
        value = json.dumps({"members": members, "default": setting(connection, "default", "")})
        connection.execute("INSERT INTO snapshots VALUES (?, ?, ?)", (name, time.time(), value))
        note(connection, "snapshot", name)

    with maintenance.holding():
        maintenance.commit(kept)


def snapshots(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return the name and the time of each snapshot, oldest first."""
    rows = connection.execute("SELECT name, time FROM snapshots ORDER BY time, name").fetchall()
    return [{"name": name, "time": time} for name, time in rows]


def rollback(follower: Follower, maintenance: Maintenance, name: str) -> None:
    """Let the members be as they were; live ones that are gone write their parts anew."""
    with maintenance.holding():

        def kept(connection: sqlite3.Connection) -> tuple[dict[str, Definition], str, dict[str, Definition], int]:
            row = connection.execute("SELECT members FROM snapshots WHERE name = ?", (name,)).fetchone()
            if row is None:
                known = [each for (each,) in connection.execute("SELECT name FROM snapshots")]
                raise InputError(f"`name` must be a snapshot ({', '.join(known) or 'there is none'}). Got {name!r}.")
            saved = json.loads(row[0])
            rows = [(each["m"], each["name"], each["definition"]) for each in saved["members"]]
            wanted = {name: Definition.from_json(number, name, text) for number, name, text in rows}
            if saved["default"]:
                check_member(saved["default"], wanted)
            return wanted, saved["default"], stored_members(connection), state_of(connection).layout

        wanted, default, now, layout = read(follower, kept)
        present = {each.number: each for each in now.values()}
        parts: dict[int, dict[int, tuple[str, Files]]] = {}
        for each in wanted.values():
            old = present.get(each.number)
            if each.type == LIVE and (old is None or (old.recipe, old.settled) != (each.recipe, each.settled)):
                parts[each.number] = maintenance.write_parts(each, wanted)

        def swapped(connection: sqlite3.Connection) -> None:
            check_layout(connection, layout)
            connection.execute("DELETE FROM members")
            for each in wanted.values():
                sql = "INSERT INTO members (m, name, definition) VALUES (?, ?, ?)"
                connection.execute(sql, (each.number, each.name, each.to_json()))
            numbers = json.dumps([METADATA, *(each.number for each in wanted.values())])
            connection.execute("DELETE FROM parts WHERE m NOT IN (SELECT value FROM json_each(?))", (numbers,))
            for number, written in parts.items():
                connection.execute("DELETE FROM parts WHERE m = ?", (number,))
                rows = [(s, number, folder, json.dumps(files)) for s, (folder, files) in written.items()]
                connection.executemany("INSERT INTO parts VALUES (?, ?, ?, ?)", rows)
            put_setting(connection, "default", default)
            changed_layout(connection)
            note(connection, "rollback", name)

        maintenance.commit(swapped)
        maintenance.sweep()


def history(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return what happened, oldest first."""
    rows = connection.execute("SELECT generation, time, action, detail FROM history ORDER BY h").fetchall()
    return [dict(zip(("generation", "time", "action", "detail"), row, strict=True)) for row in rows]
