"""Provenance: which version of the library made something, from which commit, when and on which machine."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def provenance(**more: Any) -> dict[str, Any]:
    """Return version, commit, date and machine as plain data, and what the caller adds.

    Names of people and hosts are left out. The commit is that of the source checkout that was imported, whose local
    changes are not seen; it is None for an installed package.

    Examples
    --------
    >>> made = provenance(seed=7)
    >>> list(made)
    ['vizsla', 'commit', 'date', 'python', 'numpy', 'machine', 'seed']
    """
    import numpy as np

    import vizsla

    return {
        "vizsla": vizsla.__version__,
        "commit": commit_of(Path(vizsla.__file__).parent),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": dict(machine()),
        **more,
    }


@lru_cache(maxsize=1)
def machine() -> tuple[tuple[str, Any], ...]:
    """Return the processor, how many cores this process may use, and the operating system."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (("processor", _processor()), ("cores", cores), ("system", f"{platform.system()} {platform.machine()}"))


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.lower().startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@lru_cache(maxsize=4)
def commit_of(package: Path) -> str | None:
    """Return the commit that is checked out where a package lies in `src/`; None for any other place.

    The files of git are read directly: a package that is installed inside of another project's checkout has no commit.
    """
    if package.parent.name != "src":
        return None
    try:
        git = package.parent.parent / ".git"
        if git.is_file():  # a worktree
            git = (git.parent / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()).resolve()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        found = head if not head.startswith("ref:") else _resolved(git, head.removeprefix("ref:").strip())
    except (OSError, ValueError):
        return None
    return found if found is not None and _COMMIT.fullmatch(found) else None


def _resolved(git: Path, ref: str) -> str | None:
    """Return the commit that a branch names, which a worktree keeps in the common folder."""
    common = git / "commondir"
    folders = [git, (git / common.read_text(encoding="utf-8").strip()).resolve()] if common.is_file() else [git]
    for folder in folders:
        if (folder / ref).is_file():
            return (folder / ref).read_text(encoding="utf-8").strip()
    for folder in folders:
        if (folder / "packed-refs").is_file():
            for line in (folder / "packed-refs").read_text(encoding="utf-8").splitlines():
                commit, _, name = line.partition(" ")
                if name == ref:
                    return commit
    return None
