"""A live catalog as a contestant: ours, SQLite's FTS5, tantivy, LanceDB or usearch, measured by the same code.

Each has the same five actions: open a folder, add rows so that they are durable (where it can), delete, search with a
condition on a price, close. A row is an id, a text and a price.
"""

import os
import threading
import time
from pathlib import Path

from clock import peak_bytes, serve

K = 10
LONGEST_S = 8.0
"""How long one measurement of a slow contestant may take."""


def percentiles(times):
    ordered = sorted(times)
    at = [ordered[min(len(ordered) - 1, int(len(ordered) * part))] for part in (0.5, 0.99)]
    return {"p50": at[0] * 1e3, "p99": at[1] * 1e3, "count": len(ordered)}


def timed(calls):
    """Return how long calls take, by the clock and by the CPU time of this thread."""
    walls, cpus, begun = [], [], time.perf_counter()
    for call in calls:
        start, cpu = time.perf_counter(), time.thread_time()
        call()
        walls.append(time.perf_counter() - start)
        cpus.append(time.thread_time() - cpu)
        if time.perf_counter() - begun > LONGEST_S:
            break
    return {**percentiles(walls), "cpu": percentiles(cpus)["p50"]}


class Ours:
    """An engine with a BM25 member."""

    def open(self, folder, create=False):
        from vizsla import Engine, Recipe
        from vizsla.text.analyzers import AnyLanguage

        words = Recipe.of("bm25", analyzer=AnyLanguage("english", drop=False))
        options = {"members": {"words": words}, "metadata": {"price": "number"}}
        self.engine = Engine.create(folder, **options) if create else Engine.open(folder)

    def add(self, rows):
        self.engine.add([{"id": id, "text": text, "price": price} for id, text, price in rows])

    def load(self, rows):
        for start in range(0, len(rows), 10_000):
            self.add(rows[start : start + 10_000])

    def delete(self, ids):
        self.engine.delete(ids)

    def search(self, query, span=None):
        from vizsla import where

        asked = None if span is None else where(f"price>={span[0]} and price<{span[1]}")
        return self.engine.search(query, K, where=asked).ids[0]

    def close(self):
        self.engine.close()


class Fts5:
    """SQLite's full-text search: WAL, and a sync for every commit."""

    def open(self, folder, create=False):
        import sqlite3

        Path(folder).mkdir(exist_ok=True)
        self.db = sqlite3.connect(f"{folder}/fts.sqlite", isolation_level=None, timeout=60)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        if create:
            self.db.execute("CREATE TABLE meta (n INTEGER PRIMARY KEY, id TEXT UNIQUE, price INTEGER)")
            self.db.execute("CREATE INDEX prices ON meta (price)")
            self.db.execute("CREATE VIRTUAL TABLE words USING fts5(text)")

    def add(self, rows):
        self.db.execute("BEGIN IMMEDIATE")
        first = self.db.execute("SELECT COALESCE(MAX(n), 0) + 1 FROM meta").fetchone()[0]
        pairs = list(enumerate(rows, first))
        self.db.executemany("INSERT INTO meta VALUES (?, ?, ?)", [(n, row[0], row[2]) for n, row in pairs])
        self.db.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", [(n, row[1]) for n, row in pairs])
        self.db.execute("COMMIT")

    def load(self, rows):
        for start in range(0, len(rows), 10_000):
            self.add(rows[start : start + 10_000])

    def delete(self, ids):
        self.db.execute("BEGIN IMMEDIATE")
        numbers = [self.db.execute("SELECT n FROM meta WHERE id = ?", (id,)).fetchone() for id in ids]
        self.db.executemany("DELETE FROM words WHERE rowid = ?", numbers)
        self.db.executemany("DELETE FROM meta WHERE n = ?", numbers)
        self.db.execute("COMMIT")

    def search(self, query, span=None):
        words = " OR ".join(f'"{word}"' for word in query.split())
        more = "" if span is None else f" AND price >= {span[0]} AND price < {span[1]}"
        sql = f"SELECT id FROM words JOIN meta ON n = words.rowid WHERE words MATCH ?{more} ORDER BY rank LIMIT {K}"
        return [row[0] for row in self.db.execute(sql, (words,))]

    def close(self):
        self.db.close()


class Tantivy:
    """tantivy: a commit writes a segment for each thread and replaces meta.json."""

    def open(self, folder, create=False):
        import tantivy

        self.tantivy = tantivy
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
        builder.add_text_field("text", stored=False, tokenizer_name="default", index_option="freq")
        builder.add_integer_field("price", indexed=True, fast=True)
        Path(folder).mkdir(exist_ok=True)
        self.index = tantivy.Index(builder.build(), path=str(folder)) if create else tantivy.Index.open(str(folder))
        self.writer = None

    def add(self, rows):
        self.writer = self.writer or self.index.writer(heap_size=100_000_000, num_threads=1)
        for id, text, price in rows:
            self.writer.add_document(self.tantivy.Document(id=id, text=text, price=price))
        self.writer.commit()

    def load(self, rows):
        self.add(rows)

    def delete(self, ids):
        self.writer = self.writer or self.index.writer(heap_size=100_000_000, num_threads=1)
        for id in ids:
            self.writer.delete_documents("id", id)
        self.writer.commit()

    def search(self, query, span=None):
        self.index.reload()
        searcher = self.index.searcher()
        text = query if span is None else f"+({query}) +price:[{span[0]} TO {span[1] - 1}]"
        hits = searcher.search(self.index.parse_query(text, ["text"]), K, count=False).hits
        return [searcher.doc(address)["id"][0] for _, address in hits]

    def close(self):
        if self.writer is not None:
            self.writer.wait_merging_threads()


class LanceDb:
    """LanceDB: a commit is a new manifest; rows that the index does not have yet are scanned."""

    def open(self, folder, create=False):
        import lancedb
        import pyarrow

        self.schema = pyarrow.schema([("id", pyarrow.string()), ("text", pyarrow.string()), ("price", pyarrow.int32())])
        self.db = lancedb.connect(str(folder))
        self.table = self.db.create_table("items", schema=self.schema) if create else self.db.open_table("items")

    def add(self, rows):
        self.table.add([{"id": id, "text": text, "price": price} for id, text, price in rows])

    def load(self, rows):
        from lancedb.index import FTS

        self.add(rows)
        try:
            self.table.create_index("text", config=FTS(with_position=False))
        except TypeError:
            self.table.create_fts_index("text", with_position=False)

    def delete(self, ids):
        quoted = ", ".join(f"'{id}'" for id in ids)
        self.table.delete(f"id IN ({quoted})")

    def search(self, query, span=None):
        self.table.checkout_latest()
        asked = self.table.search(query, query_type="fts", fts_columns="text").select(["id"]).limit(K)
        if span is not None:
            asked = asked.where(f"price >= {span[0]} AND price < {span[1]}", prefilter=True)
        return [row["id"] for row in asked.to_list()]

    def close(self):
        self.db = self.table = None


class Usearch:
    """usearch: vectors alone, which stand for texts here; durable only by writing the whole file."""

    DIM = 64

    def open(self, folder, create=False):
        import numpy as np
        from usearch.index import Index

        self.np, self.file = np, Path(folder) / "vectors.usearch"
        Path(folder).mkdir(exist_ok=True)
        self.index = Index(ndim=self.DIM, metric="cos")
        if not create:
            self.index.load(str(self.file))

    def vectors(self, texts):
        rows = [self.np.random.default_rng(list(text.encode()[:40])).standard_normal(self.DIM) for text in texts]
        return self.np.array(rows, self.np.float32)

    def put(self, rows):
        self.index.add(self.np.array([int(row[0][1:]) for row in rows]), self.vectors([row[1] for row in rows]))

    def add(self, rows):
        self.put(rows)
        self.index.save(str(self.file))
        with self.file.open("rb") as file:
            os.fsync(file.fileno())

    def load(self, rows):
        self.add(rows)

    def delete(self, ids):
        for id in ids:
            self.index.remove(int(id[1:]))
        self.index.save(str(self.file))

    def search(self, query, span=None):
        if span is not None:
            raise NotImplementedError("usearch has no conditions")
        return [f"i{key}" for key in self.index.search(self.vectors([query])[0], K).keys.tolist()]

    def close(self):
        self.index = None


KINDS = {"ours": Ours, "FTS5": Fts5, "tantivy": Tantivy, "LanceDB": LanceDb, "usearch": Usearch}
known = {}


def use(name, texts, queries):
    """Choose the contestant, and read the texts: the row i has the text i and the price i % 1000."""
    known["catalog"], known["name"] = KINDS[name](), name
    known["texts"] = Path(texts).read_text().splitlines()
    known["queries"] = Path(queries).read_text().splitlines()


def rows(first, end):
    return [(f"i{n}", known["texts"][n], n % 1000) for n in range(first, end)]


def load(folder, end):
    start = time.perf_counter()
    catalog = known["catalog"]
    catalog.open(folder, create=True)
    catalog.load(rows(0, end))
    return {"seconds": time.perf_counter() - start, "peak": peak_bytes()}


def adds(first, end, size):
    """Add in batches of `size`, each durable; return items/s, and the time of one batch."""
    catalog = known["catalog"]
    batches = [rows(start, start + size) for start in range(first, end, size)]
    taken = timed([lambda batch=batch: catalog.add(batch) for batch in batches])
    return {**taken, "next": first + taken["count"] * size}


def findable(first, end):
    """Add one item and search until it is found, by words that only it has."""
    catalog = known["catalog"]

    def once(n):
        word = f"zq{n}x"
        text = known["texts"][n] + " " + word
        catalog.add([(f"i{n}", text, n % 1000)])
        asked = text if known["name"] == "usearch" else word
        while f"i{n}" not in catalog.search(asked):
            time.sleep(0.001)

    return timed([lambda n=n: once(n) for n in range(first, end)])


def delete(ids):
    catalog = known["catalog"]

    def once(batch):
        catalog.delete(batch)
        catalog.search(known["queries"][0])

    return timed([lambda batch=batch: once(batch) for batch in ids])


def search(count):
    catalog, queries = known["catalog"], known["queries"]
    asked = [queries[n % len(queries)] for n in range(count)]
    return timed([lambda query=query: catalog.search(query) for query in asked])


def filtered(low, width, count):
    """Return the time of the first search under a condition, and that of later ones under the same."""
    catalog, queries = known["catalog"], known["queries"]
    first = timed([lambda n=n: catalog.search(queries[n], (low + n, low + n + width)) for n in range(min(20, count))])
    span = (low, low + width)
    later = timed([lambda n=n: catalog.search(queries[n % len(queries)], span) for n in range(count)])
    return {"first": first, "later": later}


def reopen(folder):
    """Return the time from opening to the first answer; everything is imported before."""
    other = KINDS[known["name"]]()
    known["name"] != "ours" or __import__("vizsla.engine.engine")
    start, cpu = time.perf_counter(), time.thread_time()
    other.open(folder)
    other.search(known["queries"][0])
    taken = {"ms": (time.perf_counter() - start) * 1e3, "cpu": (time.thread_time() - cpu) * 1e3}
    known["catalog"] = other
    return taken


def write_steadily(first, seconds):
    """Add 500 items and delete 100 a second, in 25 transactions each; return how far it came."""
    catalog, n, gone, lag = known["catalog"], first, 0, []
    begun = time.perf_counter()
    for tick in range(int(seconds * 25)):
        pause = begun + tick / 25 - time.perf_counter()
        lag.append(max(0.0, -pause))
        time.sleep(max(0.0, pause))
        catalog.add(rows(n, n + 20))
        catalog.delete([f"i{gone + k}" for k in range(4)])
        n, gone = n + 20, gone + 4
        if time.perf_counter() - begun > 2 * seconds:
            break
    return {"next": n, "seconds": time.perf_counter() - begun, "lag": percentiles(lag)["p50"]}


def search_steadily(seconds):
    """Search without a pause but a short sleep, as requests come; return the times."""
    catalog, queries, walls, cpus = known["catalog"], known["queries"], [], []
    begun, n = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        start, cpu = time.perf_counter(), time.thread_time()
        catalog.search(queries[n % len(queries)])
        walls.append(time.perf_counter() - start)
        cpus.append(time.thread_time() - cpu)
        time.sleep(0.002)
        n += 1
    cpu = percentiles(cpus)
    return {**percentiles(walls), "cpu": cpu["p50"], "cpu99": cpu["p99"]}


def threads(first, count):
    """Add single items by 8 threads; return writes per second, and how many shared a commit, which is one sync."""
    catalog = known["catalog"]
    before = stats()

    def write(offset):
        for n in range(first + offset, first + count, 8):
            catalog.add(rows(n, n + 1))

    workers = [threading.Thread(target=write, args=(offset,)) for offset in range(8)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seconds, after = time.perf_counter() - start, stats()
    commits, writes = (after[name] - before[name] for name in ("commits", "writes"))
    return {"rate": count / seconds, "per_commit": writes / commits}


def sync(folder, count):
    """Return how long writing and syncing 60 kB takes."""
    data, taken = os.urandom(60_000), []
    with (Path(folder) / "sync").open("wb") as file:
        for _ in range(count):
            start = time.perf_counter()
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - start)
    return percentiles(taken)


def own_bytes():
    """Return the memory of this process without the pages of mapped files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def maintain(how):
    """Let ours flush and merge, and search meanwhile; return the times of searches, and the peak of memory."""
    catalog, queries, walls, cpus = known["catalog"], known["queries"], [], []
    worker = threading.Thread(target=getattr(catalog.engine, how))
    held, most = own_bytes(), 0
    start = time.perf_counter()
    worker.start()
    n = 0
    while worker.is_alive():
        begun, cpu = time.perf_counter(), time.thread_time()
        catalog.search(queries[n % len(queries)])
        walls.append(time.perf_counter() - begun)
        cpus.append(time.thread_time() - cpu)
        most = max(most, own_bytes())
        time.sleep(0.002)
        n += 1
    taken = {"seconds": time.perf_counter() - start, "own": most - held}
    return {**percentiles(walls), "cpu99": percentiles(cpus)["p99"], **taken}


def close():
    known["catalog"].close()
    return peak_bytes()


def stats():
    return known["catalog"].engine.stats()


def churned(queries):
    """Compare ours with a fresh build of what is left, bit for bit; return how many queries differ."""
    from vizsla import Dataset, Recipe
    from vizsla.text.analyzers import AnyLanguage

    engine = known["catalog"].engine
    items = list(engine.items)
    dataset = Dataset.of([(id, engine.get(id).text) for id in items])
    fresh = Recipe.of("bm25", analyzer=AnyLanguage("english", drop=False)).build(dataset)
    known["fresh"] = fresh
    asked = known["queries"][:queries]
    one, other = engine.search(asked, 100), fresh(asked, 100)
    same = one.ids == other.ids and one.scores.tobytes() == other.scores.tobytes()
    return {"same": same, "items": len(items)}


def idle(count):
    """Search the engine and the plain artifact by turns, once their lists are in memory; return both medians."""
    engine, fresh, queries = known["catalog"].engine, known["fresh"], known["queries"]
    for query in queries[:count]:
        engine(query, K), fresh(query, K)
    taken = {"engine": [], "plain": []}
    for n in range(2 * count):
        query = queries[n // 2 % len(queries)]
        for name, call in (("engine", engine), ("plain", fresh)):
            start = time.thread_time()
            call(query, K)
            taken[name].append(time.thread_time() - start)
    return {name: percentiles(times)["p50"] for name, times in taken.items()}


ACTIONS = (use, load, adds, findable, delete, search, filtered, reopen, write_steadily, search_steadily, threads)
ACTIONS += (sync, maintain, close, stats, churned, idle)
serve(**{action.__name__: action for action in ACTIONS})
