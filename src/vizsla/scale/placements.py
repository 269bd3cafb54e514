"""`connect`: the placement of long work, on this machine or on a Ray cluster."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from vizsla.core.validation import validate_args
from vizsla.errors import InputError, check_positive
from vizsla.scale.local import LocalPlacement

if TYPE_CHECKING:
    from vizsla.base.placement import Placement


@validate_args
def connect(
    address: str | None = None,
    *,
    workers: int | None = None,
    processes: bool = False,
    object_store_mb: int | None = None,
) -> Placement:
    """Return a placement for the option `on` of long steps.

    Parameters
    ----------
    address : None, "auto", "local" or host:port
        None stays in this process and needs no package. "auto" is the Ray cluster that the environment names, "local" a
        new one on this machine, which `close` ends, and host:port a running one.
    workers : int, optional
        How many tasks run at a time; all CPUs unless given.
    processes : bool
        Without Ray: run tasks in processes, for functions in Python, instead of threads.
    object_store_mb : int, optional
        Of a new Ray cluster: the memory for arrays that travel between processes.

    Examples
    --------
    >>> with connect(workers=2) as placement:
    ...     list(placement.map(len, ["fig", "pear"]))
    [3, 4]
    """
    wanted = None if workers is None else check_positive("workers", workers)
    if address is None:
        return LocalPlacement(wanted or os.cpu_count() or 1, processes=processes)
    if processes:
        raise InputError("`processes` must be left out with an address: workers of a cluster are processes.")
    if not isinstance(address, str) or not address:
        raise InputError(f"`address` must be None, 'auto', 'local' or host:port. Got {address!r}.")
    from vizsla.scale.ray_cluster import RayPlacement

    return RayPlacement.connected(address, wanted, object_store_mb)
