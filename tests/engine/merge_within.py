"""Merge all segments of an engine within a limit: `python -m tests.engine.merge_within ENGINE MEGABYTES`.

The limit is the operating system's, on the memory that a process may write to: what files are mapped does not count.
Prints the rows of the segments that are left, or "MemoryError".
"""

import resource
import sys
from pathlib import Path

from vizsla.engine.engine import Engine

WORKING_MB = 24
"""What reading the catalog, Python and numpy take besides."""


def data_bytes():
    """Return what the process has now of the memory that the limit is on."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData"))


def main(folder, megabytes):
    engine = Engine.open(folder, maintenance="manual")
    before = engine.search("fig one two", 5).to_dict()
    limit = data_bytes() + int((float(megabytes) + WORKING_MB) * 1e6)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        engine.compact()
    except MemoryError:
        print("MemoryError")
        return
    assert engine.search("fig one two", 5).to_dict() == before
    print(*engine.stats()["segments"])


if __name__ == "__main__":
    main(*sys.argv[1:])
