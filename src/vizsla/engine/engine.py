"""Engine: a live, crash-safe collection of items, metadata, clicks and members that search them."""

from __future__ import annotations

import math
import sqlite3
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from vizsla.base.page import Page
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, PairScores
from vizsla.core.catalog import Item
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.core.validation import DatasetWarning, as_path, user_stacklevel
from vizsla.data.conditions import Condition, FieldCondition
from vizsla.data.filter import Filter, Where
from vizsla.data.values import COLUMN_KIND_NAMES
from vizsla.engine import administration
from vizsla.engine.catalog import DURABILITY, CatalogFile, check_is_engine, setting
from vizsla.engine.changes import Changes
from vizsla.engine.follower import Follower
from vizsla.engine.generation import Generation
from vizsla.engine.live_metadata import fields_of
from vizsla.engine.maintenance import MEMORY_MB, Maintenance
from vizsla.engine.objects import with_encoders
from vizsla.engine.segments import FLUSH_ROWS
from vizsla.engine.sync import SyncReport, sync_path
from vizsla.engine.writer import Writer
from vizsla.errors import FormatError, InputError, check_choice, check_positive
from vizsla.text.web_syntax import PLAIN

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.dataset import Dataset
    from vizsla.engine.live_completion import LiveCompletions

T = TypeVar("T")


class ExplainedCandidates(NamedTuple):
    """An answer, and for each query why each hit has its score."""

    candidates: Candidates
    explanations: list[list[Explanation]]


class LiveRetriever(Retriever):
    """A member of an engine as it is at each call; in a composition, as it is when that is made.

    Parameters
    ----------
    engine : Engine
        The engine.
    name : str
        The member; empty for the default one.
    """

    def __init__(self, engine: Engine, name: str):
        self._engine, self._name = engine, name

    def _retriever(self) -> Retriever:
        return self._engine.generation().retriever(self._name)

    @property
    def scale(self) -> str:  # type: ignore[override]
        """What its scores are."""
        return self._retriever().scale

    @property
    def items(self) -> Strings:
        """Ids of the live items."""
        return self._engine.generation().items

    @property
    def nbytes(self) -> int:
        """Bytes that answering needs."""
        return self._retriever().nbytes

    def __repr__(self) -> str:
        return f"{self._engine!r}[{self._name!r}]"

    def __call__(
        self,
        queries: str | Sequence[str] | Queries,
        k: int = 10,
        *,
        where: Where | None = None,
        threads: int = 1,
        syntax: str = PLAIN,
    ) -> Candidates:
        """Return the best `k` items for each query, as the last transaction of any process has left them."""
        member, filter = self._prepared(where, metadata=syntax != PLAIN)
        return member(queries, k, where=filter, threads=threads, syntax=syntax)

    def page(self, query: str | Queries, k: int = 10, *, using: str = "", **options: Any) -> Page:
        """Return `k` hits of one query after the first `offset`, with counts over everything that was found.

        Parameters
        ----------
        query : str
            The query.
        k : int
            How many hits, or groups, at most.
        using : str
            Of an engine, the member that answers; the default one unless given.
        **options
            As in `Retriever.page`: offset, where, facets, sort, distinct, highlight, snippet_chars, parent, depth,
            threads, syntax, min_confidence, count_to.
        """
        where = options.pop("where", None)
        counts = any(options.get(name) is not None for name in ("facets", "sort", "distinct", "syntax", "parent"))
        generation = self._engine.generation(metadata=counts or isinstance(where, Condition))
        filter = generation.filter(where) if isinstance(where, Condition) else where
        return generation.retriever(using or self._name).page(query, k, where=filter, **options)

    def similar(self, item: str, k: int = 10, *, where: Where | None = None, threads: int = 1) -> Candidates:
        """Return the items that are most like an item, without itself."""
        member, filter = self._prepared(where)
        return member.similar(item, k, where=filter, threads=threads)

    def exact(
        self, queries: str | Sequence[str] | Queries, k: int = 10, *, where: Where | None = None, threads: int = 1
    ) -> Candidates:
        """Return the best `k` items after scoring every item."""
        member, filter = self._prepared(where)
        return member.exact(queries, k, where=filter, threads=threads)

    def explain(
        self, query: str | Queries, item: str, *, where: Where | None = None, syntax: str = PLAIN
    ) -> Explanation:
        """Say why the item gets the score it gets for this query."""
        member, filter = self._prepared(where, metadata=syntax != PLAIN)
        return member.explain(query, item, where=filter, syntax=syntax)

    def score(self, queries: Any, candidates: Any, *, where: Where | None = None, threads: int = 1) -> Candidates:
        """Score each query's candidates, and rank them."""
        member, filter = self._prepared(where)
        return member.score(queries, candidates, where=filter, threads=threads)

    def filter(self, where: Where, *, unknown: str = "raise") -> Filter:
        """Prepare a condition for the items that there are now."""
        generation = self._engine.generation(metadata=isinstance(where, Condition))
        if isinstance(where, Condition):
            return generation.items.filter(where)
        return Filter.of(where, generation.items, unknown=unknown)

    def _prepared(self, where: Where | None, *, metadata: bool = False) -> tuple[Retriever, Where | None]:
        generation = self._engine.generation(metadata=metadata or isinstance(where, Condition))
        filter = generation.filter(where) if isinstance(where, Condition) else where
        return generation.retriever(self._name), filter

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        return self._retriever()._search(queries, k, filter, threads)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        return self._retriever()._score(queries, candidates, filter, threads)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        return self._retriever()._explain(queries, item, filter)

    def _write(self, writer: ArtifactWriter) -> None:
        raise InputError("An engine must be copied by `engine.backup`. Got `save`.")

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        raise InputError("An engine must be opened by `Engine.open`. Got `load`.")


class Engine(LiveRetriever):
    """A folder with a catalog that changes and members that search it: durable, and fresh in every process.

    Any process may write; transactions are serialized. A search sees everything that was acknowledged before it began,
    by any process. Use `Engine.create` or `Engine.open`.

    Examples
    --------
    >>> import tempfile
    >>> from vizsla.base.recipe import Recipe
    >>> folder = tempfile.TemporaryDirectory()
    >>> engine = Engine.create(f"{folder.name}/fruit", members={"words": Recipe.of("bm25")}, default="words")
    >>> engine.add([{"id": "f", "text": "a green fig", "price": 3}, {"id": "p", "text": "a pear", "price": 2}])
    2
    >>> engine.search("fig").ids
    [['f']]
    >>> engine.upsert({"f": "a dried date"}), engine.search("fig").ids, engine.delete("f"), engine.count()
    (1, [[]], 1, 1)
    >>> engine.close(); folder.cleanup()
    """

    def __init__(
        self,
        catalog: CatalogFile,
        *,
        bindings: Mapping[str, Any] | None = None,
        maintenance: str = "background",
        verify: bool = True,
    ):
        check_choice("maintenance", maintenance, ["background", "manual"])
        super().__init__(self, "")
        self.path = catalog.folder
        self._catalog, self._background = catalog, maintenance == "background"
        self._follower = Follower(catalog, bindings or {}, verify=verify)
        self._writer = Writer(catalog)
        with catalog.reading() as connection:
            self._flush_rows = check_positive("flush_rows", setting(connection, "flush_rows", FLUSH_ROWS))
            memory_mb: float = setting(connection, "memory_mb", MEMORY_MB)
            if type(memory_mb) not in (int, float):
                raise FormatError(f"{catalog.path}: its memory_mb is {memory_mb!r:.60}. Restore a backup.")
        self._maintenance = Maintenance(
            catalog, self._follower, self._writer.store, flush_rows=self._flush_rows, memory_mb=memory_mb
        )
        self._follower.build = self.rebuild
        self._completions: LiveCompletions | None = None
        self._worker: threading.Thread | None = None
        self._worker_error: Exception | None = None
        self._due = False

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        members: Mapping[str, Any] | None = None,
        default: str | None = None,
        metadata: Mapping[str, str] | None = None,
        flush_rows: int = FLUSH_ROWS,
        memory_mb: float = MEMORY_MB,
        durability: str = "power",
        bindings: Mapping[str, Any] | None = None,
        maintenance: str = "background",
    ) -> Self:
        """Make an engine in a new folder.

        Parameters
        ----------
        path : path
            The folder, which must not exist or be empty.
        members : mapping of str to Recipe, Retriever or str, optional
            What searches the items: recipes, or expressions over members that come before, as
            ``"0.4*words + 0.6*clicks"``.
        default : str, optional
            The member that answers unless another is named; the last one unless given.
        metadata : mapping of str to str, optional
            The kind of fields: number, date, text, list or boolean. Others are told by their first values.
        flush_rows : int
            How many new items are kept in memory before they become a segment.
        memory_mb : float
            What merging may take, and four times what new items may: they become a segment before there are
            `flush_rows`. Segments that cannot be merged within it stay apart.
        durability : {"power", "process"}
            Whether an acknowledged write survives a power failure, or only the end of the process.
        bindings : mapping, optional
            Live objects that recipes name, such as encoders.
        maintenance : {"background", "manual"}
            Whether a thread of this process flushes and merges, or only calls of `flush` and `compact`.
        """
        folder = as_path(path)
        check_choice("durability", durability, list(DURABILITY))
        check_positive("flush_rows", flush_rows)
        if isinstance(memory_mb, bool) or not isinstance(memory_mb, int | float) or not 1 <= memory_mb < math.inf:
            raise InputError(f"`memory_mb` must be 1 or more. Got {memory_mb!r:.60}.")
        administration.check_mappings(members=members, metadata=metadata, bindings=bindings)
        for name, kind in (metadata or {}).items():
            check_choice(f"metadata[{name!r}]", kind, list(COLUMN_KIND_NAMES))
        wanted = {name: with_encoders(each) for name, each in (members or {}).items()}
        chosen = default if default is not None else next(reversed(wanted), "")
        definitions = administration.all_defined(wanted)  # what cannot be a member is found before a folder is made
        if chosen and chosen not in definitions:
            raise InputError(f"`default` must be one of {', '.join(definitions) or 'no members'}. Got {chosen!r}.")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(
                f"`path` must be new or an empty folder. Got {folder}: use `Engine.open`, or another path."
            )
        settings = {"flush_rows": flush_rows, "memory_mb": memory_mb, "durability": durability, "default": ""}
        with administration.new_engine(folder) as partial:
            catalog = CatalogFile.create(partial, settings, durability=durability)
            with cls(catalog, bindings=bindings, maintenance="manual") as made:
                administration.declare(made._writer, metadata or {})
                for name, each in wanted.items():
                    made.add_member(name, each)
                if chosen:
                    made.set_default(chosen)
        engine = cls(CatalogFile(folder, durability=durability), bindings=bindings, maintenance=maintenance)
        engine._follower.objects |= made._follower.objects
        return engine

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        bindings: Mapping[str, Any] | None = None,
        maintenance: str = "background",
        verify: bool = True,
    ) -> Self:
        """Open an engine, in any number of processes; a damaged segment is made anew from the catalog.

        Parameters
        ----------
        path : path
            The folder.
        bindings : mapping, optional
            Live objects that recipes name, such as encoders, by the name of the setting or by fingerprint.
        maintenance : {"background", "manual"}
            Whether a thread of this process flushes and merges after its writes.
        verify : bool
            Compare the checksums of segments when they are first read. Sizes are compared in any case.
        """
        folder = as_path(path)
        administration.check_mappings(bindings=bindings)
        check_is_engine(folder)
        catalog = CatalogFile(folder)
        with catalog.reading() as connection:
            catalog.durability = setting(connection, "durability", "power")
            if catalog.durability not in DURABILITY:
                raise FormatError(f"{catalog.path}: its durability is {catalog.durability!r:.60}. Restore a backup.")
        engine = cls(catalog, bindings=bindings, maintenance=maintenance, verify=verify)
        try:
            engine.generation()
        except FormatError:
            with engine._maintenance.holding():
                repaired = engine._maintenance.repair()
            if not repaired:
                raise
            said = f"{len(repaired)} damaged segments were made anew from the catalog: {repaired[0]}"
            warnings.warn(said, DatasetWarning, stacklevel=user_stacklevel())
            engine.generation()
        return engine

    def close(self) -> None:
        """Wait for maintenance, and close the catalog; all that was acknowledged is on the disk already."""
        worker = self._worker
        if worker is not None and worker is not threading.current_thread():
            worker.join()
        self._catalog.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Engine({str(self.path)!r})"

    def generation(self, *, metadata: bool = False) -> Generation:
        """Return the engine as the last transaction of any process has left it; it never changes."""
        return self._follower.current(metadata=metadata)

    def generation_now(self) -> Generation | None:
        """Return the engine as the last transaction has left it, where this process knows that already; else None."""
        return self._follower.known()

    def member(self, name: str) -> LiveRetriever:
        """Return a member as a retriever that follows every change."""
        self.generation().retriever(name)
        return LiveRetriever(self, name)

    @property
    def members(self) -> dict[str, str]:
        """The members: the kind of each, or its expression."""
        return {name: each.shown for name, each in self.generation().definitions.items()}

    @property
    def fields(self) -> dict[str, str]:
        """The kind of each metadata field: number, date, text, list or boolean."""
        return {name: each.kind for name, each in administration.scan(self._follower, fields_of).items()}

    @contextmanager
    def transaction(self) -> Iterator[Changes]:
        """Collect changes within the block; at its end all are stored in one transaction, or none if it raises."""
        changes = self._changes()
        yield changes
        if len(changes):
            changes.prepare()
            self._store(changes.apply)

    def add(self, items: Any, *, batch_size: int | None = None) -> int:
        """Add items, in one transaction; an id that is there already raises, and nothing is stored.

        Parameters
        ----------
        items : iterable of Item, dict or pair, or mapping of ids to texts
            What a dict has besides id, text and title is metadata.
        batch_size : int, optional
            Number of items per transaction, for imports of millions. Each transaction is stored whole or not at all.
        """
        return self._put(items, batch_size, "add")

    def upsert(self, items: Any, *, batch_size: int | None = None) -> int:
        """Add items, in place of those that have the same ids; their clicks stay."""
        return self._put(items, batch_size, "upsert")

    def _put(self, items: Any, batch_size: int | None, how: str) -> int:
        if batch_size is None:
            return self._change(how, items)
        left = iter(items.items() if isinstance(items, Mapping) else items)
        size, count = check_positive("batch_size", batch_size), 0
        while batch := list(islice(left, size)):
            count += self._change(how, batch)
        return count

    def update_metadata(self, changes: Mapping[str, Mapping[str, Any]]) -> int:
        """Change fields of items by id, in one transaction; None removes a field."""
        return self._change("update_metadata", changes)

    def delete(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        where: Condition | None = None,
        path: str | Path | None = None,
        unknown: str = "raise",
    ) -> int:
        """Delete items by id, by a condition, or by the file that `sync` read, with their clicks; return how many."""
        return self._change("delete", ids, where=where, path=path, unknown=unknown)

    def sync(self, path: str | Path, **reading: Any) -> SyncReport:
        """Let the engine hold what a folder of documents, or a file of items, holds now; read only what has changed.

        A file whose size and time are as before is not read; one whose digest is as before is not stored. Of a changed
        one, only the passages or rows that differ are stored. Items of a file that vanished are deleted. A document
        that can no longer be read is reported, and its passages stay. Items that came from elsewhere are left alone.

        Parameters
        ----------
        path : path
            A folder of documents, one document, or a file of items (CSV, TSV, JSONL, Parquet).
        **reading
            How it is read, as in `open_dataset`: id, text, title, meta, format, separator, encoding, passage_size,
            passage_overlap, passage_min, passage_unit, dedupe ("exact"), on_error. Files that were read otherwise are
            read again.

        Returns
        -------
        SyncReport
            How many documents, or rows of a file of items, were added, changed, deleted and unchanged, and what was
            left out.
        """
        return sync_path(lambda act: administration.scan(self._follower, act), self._store, path, reading)

    def click(self, query: str, item: str, weight: float = 1.0, time: float | datetime | None = None) -> int:
        """Note that the item was chosen for the query: members that learn from clicks know it at the next search."""
        return self._change("click", query, item, weight, time)

    def clicks(self, clicks: Iterable[Sequence[Any]]) -> int:
        """Note several clicks in one transaction: (query, item), with weight and time where these are known."""
        return self._change("clicks", clicks)

    def delete_clicks(
        self, *, query: str | None = None, item: str | None = None, before: float | datetime | None = None
    ) -> int:
        """Forget the clicks of a query, of an item, or from before a moment; return how many."""
        return self._change("delete_clicks", query=query, item=item, before=before)

    def _change(self, how: str, *given: Any, **named: Any) -> int:
        changes = self._changes()
        getattr(changes, how)(*given, **named)
        changes.prepare()
        return self._store(changes.apply)

    def _changes(self) -> Changes:
        return Changes(partial(administration.evaluated, self._follower), administration.matching)

    def _store(self, apply: Callable[[sqlite3.Connection], T]) -> T:
        def act(connection: sqlite3.Connection) -> T:
            result = apply(connection)
            self._due = self._maintenance.is_due(connection)
            return result

        result = self._writer.store(act)
        if self._background and self._due:
            self._start_worker()
        return result

    def _start_worker(self) -> None:
        if self._worker is None or not self._worker.is_alive():
            self._worker = threading.Thread(target=self._work, name="vizsla-maintenance", daemon=True)
            self._worker.start()

    def _work(self) -> None:
        try:
            with self._maintenance.holding(wait=False) as held:
                while held and self._maintenance.step():
                    pass
            self._worker_error = None
        except Exception as error:  # told by `stats`; tried again after the next write
            self._worker_error = error

    def search(
        self,
        query: str | Sequence[str] | Queries,
        k: int = 10,
        *,
        offset: int = 0,
        where: Where | None = None,
        using: str = "",
        explain: bool = False,
        threads: int = 1,
        syntax: str = PLAIN,
    ) -> Any:
        """Return the best `k` items per query, after the first `offset`.

        Parameters
        ----------
        query : str or sequence of str
            One query, or many.
        k : int
            How many items at most.
        offset : int
            How many of the best are left out: a page is a slice of one list.
        where : Condition, Filter, ids, optional
            Only these items are found.
        using : str
            The member that answers; the default one unless given.
        explain : bool
            Return ExplainedCandidates: the answer, and why each hit has its score.
        threads : int
            How many queries are answered at a time.
        syntax : {"plain", "web"}
            How queries are read: as words, or with "phrases", +must, -not, field:word and prefix*.
        """
        generation = self.generation(metadata=isinstance(where, Condition) or syntax != PLAIN)
        filter = generation.filter(where) if isinstance(where, Condition) else where
        member = generation.retriever(using)
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            raise InputError(f"`offset` must be a whole number from 0 on. Got {offset!r}.")
        if not explain:
            most = check_positive("k", k) + offset if offset else k
            found = member(query, most, where=filter, threads=threads, syntax=syntax)
            return found if not offset else administration.page_of(found, offset)
        most = check_positive("k", k) + offset
        named = {"where": filter, "syntax": syntax}
        return ExplainedCandidates(*administration.explained(member, query, most, offset, threads, named))

    def complete(self, prefix: str, k: int = 8, *, typos: bool = True) -> list[str]:
        """Return at most `k` titles and past queries that begin with the prefix, the most clicked lately first.

        Where fewer begin with it, those follow that begin with something one edit away. The entries are kept in
        memory, from the first call on; every call reads what has changed since.

        Parameters
        ----------
        prefix : str
            What was typed so far.
        k : int
            How many at most.
        typos : bool
            Whether one of at least 4 letters may be wrong.
        """
        if self._completions is None:
            from vizsla.engine.live_completion import LiveCompletions

            self._completions = LiveCompletions(self._follower)
        return self._completions(prefix, check_positive("k", k), typos=typos)

    def get(self, id: str) -> Item | None:
        """Return an item by its id; None where there is none."""
        return administration.read(self._follower, lambda connection: administration.item_of(connection, id))

    def dataset(self) -> Dataset:
        """Return all live items and their clicks, to build or to choose a member by."""
        return administration.scan(self._follower, administration.dataset_of)

    @property
    def objects(self) -> dict[str, Any]:
        """Live objects that members need, such as encoders, by fingerprint."""
        return {**self._follower.objects, **self._follower.bindings}

    def count(self, where: Where | None = None) -> int:
        """Return how many items there are, or how many fulfill a condition."""
        if where is None:
            return len(self.generation().items)
        return self.filter(where).count

    def missing(self, field: str) -> int:
        """Return how many items have no value of a field."""
        field = self.generation(metadata=True).items.details.field(field)
        return self.count(FieldCondition("isnull", field, ()))

    def add_member(self, name: str, member: Any, *, replace: bool = False) -> None:
        """Add a member.

        Parameters
        ----------
        name : str
            By which expressions and `using` name it.
        member : Recipe, Retriever or str
            A recipe; a retriever that has one, or that is made of members, such as
            ``adjust(engine.member("words"), "shop.toml")``; or an expression over members.
        replace : bool
            Whether it may take the place of a member of this name, where both are made of members.
        """
        administration.add_member(self._follower, self._maintenance, name, member, replace=replace)

    def drop_member(self, name: str) -> None:
        """Remove a member that no other is made of."""
        administration.drop_member(self._follower, self._maintenance, name)

    def set_default(self, name: str) -> None:
        """Choose the member that answers unless another is named."""
        administration.choose_default(self._maintenance, name)

    def rebuild(self, member: str | None = None, *, threads: int = 1) -> None:
        """Build members anew from the items and clicks that there are, and swap each in one transaction.

        Parameters
        ----------
        member : str, optional
            Which; all that are built whole unless given. A live member settles anew.
        threads : int
            How many to use.
        """
        administration.rebuild(self._follower, self._maintenance, member, threads)

    def flush(self) -> int:
        """Write the newest items as a segment; return how many."""
        with self._maintenance.holding():
            return self._maintenance.flush()

    def compact(self, *, erase: bool = False) -> None:
        """Merge segments into one without deleted items, or into as few as `memory_mb` allows.

        Parameters
        ----------
        erase : bool
            Leave nothing of deleted items and clicks on the disk: the catalog is written anew, too.
        """
        with self._maintenance.holding():
            self._maintenance.flush()
            while self._maintenance.merge(everything=True):
                pass
            if erase:
                administration.erase(self._catalog, self._writer)

    def maintain(self) -> None:
        """Flush, and merge segments where that is due: what the background thread does."""
        with self._maintenance.holding():
            self._maintenance.flush()
            while self._maintenance.step():
                pass

    def backup(self, path: str | Path) -> Path:
        """Copy the engine, as it is at one moment, to a new folder; reading and writing go on."""
        with self._maintenance.holding():
            return administration.backup(self._follower, as_path(path))

    @classmethod
    def restore(cls, backup: str | Path, path: str | Path, **options: Any) -> Self:
        """Copy a backup to a new folder and open it; see `open` for the options."""
        administration.copy_engine(as_path(backup, "backup"), as_path(path))
        return cls.open(path, **options)

    def check(self, *, repair: bool = False) -> list[str]:
        """Compare the catalog, the segments and their checksums; return what is wrong, nothing where all is sound.

        Parameters
        ----------
        repair : bool
            Make damaged segments anew from the catalog.
        """
        with self._maintenance.holding():
            problems = administration.check(self._follower, self._maintenance)
            if repair:
                self._maintenance.repair()
        return problems

    def stats(self) -> dict[str, Any]:
        """Return counts, bytes on disk by part, how stale each member is, and the last error of maintenance."""
        known = administration.stats(self._follower, self.generation())
        known["commits"], known["writes"] = self._writer.commits, self._writer.requests
        known["maintenance_error"] = None if self._worker_error is None else str(self._worker_error)
        return known

    def snapshot(self, name: str) -> None:
        """Keep the members as they are now, recipes, settings and models, under a name."""
        administration.snapshot(self._maintenance, name)

    def rollback(self, name: str) -> None:
        """Let the members be as in a snapshot, in one transaction; items and clicks stay."""
        administration.rollback(self._follower, self._maintenance, name)

    def snapshots(self) -> list[dict[str, Any]]:
        """Return the name and the time of each snapshot, oldest first."""
        return administration.scan(self._follower, administration.snapshots)

    def history(self) -> list[dict[str, Any]]:
        """Return what happened to members and snapshots, and repairs, oldest first."""
        return administration.scan(self._follower, administration.history)
