"""What the workers of a service share: the queries of recent answers, and jobs."""

from __future__ import annotations

import asyncio
import hashlib
import json
import mmap
import os
import struct
import time
import uuid
import zlib
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from vizsla.errors import VizslaError

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Where several workers keep their counts, recent queries and jobs, so that each can answer for all."""
MAX_JOBS = 100
"""How many jobs are remembered, finished ones included."""
SLOTS, SLOT_BYTES = 65_536, 512
HEADER = struct.Struct("<16sIH")
"""A slot: the digest of a query id, a checksum of the text, its length; the text follows."""


class RecentQueries:
    """The texts of the last answers by query id, so that a click may name its query by id alone.

    With a folder, all workers know the last 65,536 queries of each other, in a file that they map. Where two ids share
    a slot, the newer one stays; a text that does not fit into a slot is known to its own worker alone.

    Parameters
    ----------
    folder : Path, optional
        Where the workers share the queries; only this process knows them without one.
    size : int
        How many queries of its own a process remembers.
    """

    def __init__(self, folder: Path | None = None, size: int = 100_000):
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._size, self._map = size, None if folder is None else _mapped(folder / "queries")

    def note(self, query_id: str, text: str) -> None:
        """Remember the text of an answer's query."""
        self._texts[query_id] = text
        while len(self._texts) > self._size:
            self._texts.popitem(last=False)
        if self._map is not None and len(text) <= SLOT_BYTES:
            key, at = _slot(query_id)
            data = text.encode("utf-8", "surrogatepass")
            if len(data) <= SLOT_BYTES - HEADER.size:
                record = HEADER.pack(key, zlib.crc32(data), len(data)) + data
                self._map[at : at + len(record)] = record

    def get(self, query_id: str) -> str | None:
        """Return the query's text; None where the answer is forgotten."""
        text = self._texts.get(query_id)
        if text is not None or self._map is None:
            return text
        key, at = _slot(query_id)
        known, checksum, length = HEADER.unpack_from(self._map, at)
        data = self._map[at + HEADER.size : at + HEADER.size + length]
        if known != key or zlib.crc32(data) != checksum:  # another query, or one that is being written
            return None
        return data.decode("utf-8", "surrogatepass")


def _slot(query_id: str) -> tuple[bytes, int]:
    key = hashlib.blake2b(query_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return key, int.from_bytes(key[:8], "little") % SLOTS * SLOT_BYTES


def _mapped(path: Path) -> mmap.mmap:
    with path.open("ab+") as file:
        file.truncate(SLOTS * SLOT_BYTES)
        return mmap.mmap(file.fileno(), SLOTS * SLOT_BYTES)


class Jobs:
    """Long actions, which run one at a time in a thread of their own and are asked for by id.

    With a folder, every worker can say how a job of another one goes; a job whose worker has ended has failed.

    Parameters
    ----------
    folder : Path, optional
        Where the workers share what is known of jobs.
    on_error : function, optional
        Is told of an error that no caller could have caused.
    """

    def __init__(self, folder: Path | None = None, on_error: Callable[[dict[str, Any]], None] | None = None):
        self._jobs: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._running: set[asyncio.Task[None]] = set()
        self._current: asyncio.Task[Any] | None = None
        self._one_at_a_time = asyncio.Lock()
        # Always the same thread: each would keep memory of its own, as large as the largest job needed.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="vizsla-job")
        self._on_error = on_error
        self._folder = None if folder is None else folder / "jobs"
        if self._folder is not None:
            self._folder.mkdir(exist_ok=True)

    def start(self, action: str, call: Callable[[], Any]) -> dict[str, Any]:
        """Start an action, and return the job."""
        job = {"id": uuid.uuid4().hex, "action": action, "state": "waiting", "started": time.time()}
        self._jobs[str(job["id"])] = job
        self._keep(job)
        task = asyncio.get_running_loop().create_task(self._run(job, call))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return dict(job)

    async def _run(self, job: dict[str, Any], call: Callable[[], Any]) -> None:
        try:
            async with self._one_at_a_time:
                self._current = asyncio.current_task()
                self._keep(job | {"state": "running"})
                result = await asyncio.get_running_loop().run_in_executor(self._thread, call)
                ended = {"result": result, "state": "done"}
        except VizslaError as error:
            ended = {"state": "failed", "error": str(error)}
        except asyncio.CancelledError:
            ended = {"state": "failed", "error": "The service was stopped before the job began."}
        except Exception as error:
            ended = {"state": "failed", "error": f"An unexpected error: {type(error).__name__}."}
            if self._on_error is not None:
                self._on_error({"job": job["id"], "action": job["action"], "error": type(error).__name__})
        self._keep(job | ended | {"ended": time.time()})

    def _keep(self, job: dict[str, Any]) -> None:
        """Remember a job as it is now; readers see it whole, as it was before or as it is."""
        self._jobs.setdefault(job["id"], job).update(job)
        while len(self._jobs) > MAX_JOBS:
            self._jobs.popitem(last=False)
        if self._folder is None:
            return
        path = self._folder / f"{job['id']}.json"
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps({**job, "pid": os.getpid()}), encoding="utf-8")
        partial.replace(path)
        files = sorted(self._folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
        for file in files[: max(0, len(files) - MAX_JOBS)]:
            file.unlink(missing_ok=True)

    def get(self, id: str) -> dict[str, Any] | None:
        """Return a job by its id."""
        own = self._jobs.get(id)
        if own is not None or self._folder is None or not id.isalnum():
            return None if own is None else dict(own)
        return self._read(self._folder / f"{id}.json")

    def _read(self, path: Path) -> dict[str, Any] | None:
        try:
            job: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        pid = job.pop("pid")
        if job["state"] in ("waiting", "running") and pid != os.getpid() and not is_alive(pid):
            job |= {"state": "failed", "error": "The worker that ran the job has ended."}
        return job

    def all(self) -> list[dict[str, Any]]:
        """Return all jobs, the newest first, without their results."""
        known = {id: dict(job) for id, job in self._jobs.items()}
        for path in self._folder.glob("*.json") if self._folder is not None else ():
            if path.stem not in known and (job := self._read(path)) is not None:
                known[path.stem] = job
        newest = sorted(known.values(), key=lambda job: -job["started"])
        return [{name: value for name, value in job.items() if name != "result"} for job in newest]

    async def close(self) -> None:
        """Finish the job that runs; those that wait are given up."""
        for task in self._running:
            if task is not self._current:
                task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


def is_alive(pid: int) -> bool:
    """Return whether a process lives."""
    with suppress(PermissionError):  # it lives, as another user
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True
