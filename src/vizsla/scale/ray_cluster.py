"""Placement on a Ray cluster, with Ray Core's tasks and actors. No other module imports Ray."""

from __future__ import annotations

import logging
import os
import platform
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import vizsla
from vizsla._internal.lazy import import_extra
from vizsla.base.placement import Placement, Resident
from vizsla.errors import PlacementError, VizslaError, WorkerLostError
from vizsla.scale.bounded import NOT_GIVEN, call_within

RETRIES = 3
"""How often Ray runs a task again whose worker was lost."""
RESTARTS = -1
"""An actor that dies is started again each time."""
STARTS = 3
"""How often a new cluster is started that is not there after Ray's 30 seconds, as on a machine with much other work."""
ANSWER_S = 5.0
"""How long a host may take to accept a connection."""
REFUSED_VARIABLE, REFUSED_S = "RAY_gcs_server_port_wait_time_s", "3"
"""How long Ray asks a head node again that does not answer, or refuses the token: 20 seconds by itself."""
PROBE_S = 120.0
"""How long the first worker may take to start."""


class RayPlacement(Placement):
    """Workers of a Ray cluster: a task takes one CPU, and the memory that is declared for it.

    Parameters
    ----------
    ray : module
        Ray, connected.
    workers : int
        How many tasks run at a time.
    owner : bool
        Whether the cluster ends with this placement.
    """

    def __init__(self, ray: Any, workers: int, *, owner: bool):
        super().__init__(workers)
        self._ray, self._owner = ray, owner
        self._call = ray.remote(num_cpus=1, max_retries=RETRIES)(_call_with_shared)
        self._residents: list[_ActorResident] = []

    def __repr__(self) -> str:
        return f"RayPlacement({self.workers} workers)"

    @classmethod
    def connected(cls, address: str, workers: int | None, object_store_mb: int | None) -> Self:
        """Connect, and raise a clear error where the cluster cannot be used."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if address != "local" and _has_token():
            os.environ.setdefault("RAY_AUTH_MODE", "token")  # read when Ray is imported; without it no token is sent
        ray = import_extra("ray", "Work on a Ray cluster", "ray")
        if ray.is_initialized():
            raise PlacementError(
                "A process must be connected to one Ray cluster. Got a second one: close the first placement, or call "
                "`ray.shutdown()`."
            )
        own = address == "local"
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        patience = os.environ.get(REFUSED_VARIABLE)
        if own:
            store = None if object_store_mb is None else object_store_mb * 2**20
            options |= {"num_cpus": workers, "include_dashboard": False, "object_store_memory": store}
            options |= {"_node_ip_address": "127.0.0.1"}
        else:
            _check_reachable(address)
            os.environ.setdefault(REFUSED_VARIABLE, REFUSED_S)
        try:
            cls._initialized(ray, address, options)
        finally:
            if patience is None:
                os.environ.pop(REFUSED_VARIABLE, None)
        made = None
        try:
            made = cls(ray, workers or _cpus(ray), owner=own)
            made._check_workers()
        except BaseException:
            ray.shutdown()
            raise
        return made

    @staticmethod
    def _initialized(ray: Any, address: str, options: dict[str, Any]) -> None:
        """Let Ray connect, and say in one sentence why it cannot."""
        for attempt in range(STARTS):
            try:
                ray.init(address=address, **options)
                return
            except BaseException as error:
                ray.shutdown()
                if isinstance(error, KeyboardInterrupt):
                    raise
                if attempt == STARTS - 1 or "timed out during startup" not in str(error):
                    raise PlacementError(_refusal(address, error)) from error

    def _check_workers(self) -> None:
        """Raise unless a worker starts that has this version of Vizsla."""
        if _cpus(self._ray) < 1:
            raise PlacementError("The cluster must have a worker with a CPU. Got none: start one with `ray start`.")
        probe = self._call.remote(_versions, None, [], None)
        ready, _ = self._ray.wait([probe], timeout=PROBE_S)
        if not ready:
            self._ray.cancel(probe, force=True)
            raise PlacementError(
                f"A worker must start within {PROBE_S:g} seconds. Got none: the cluster is full, or its nodes are gone."
            )
        try:
            there = self._ray.get(probe)
        except Exception as error:
            said = " ".join(str(error.__cause__ or error).split())
            raise PlacementError(
                f"The workers must have Vizsla installed. Got an error: {said:.300}. Install vizsla "
                f"{vizsla.__version__} on every node."
            ) from error
        if there != _versions(None):
            raise PlacementError(
                f"The workers must run the versions of this process: {_named(_versions(None))}. Got "
                f"{_named(there)}: results would not be the same. Install the same on every node."
            )

    def _check_memory(self, memory_mb: float | None) -> None:
        super()._check_memory(memory_mb)
        if memory_mb is None:
            return
        nodes = [node["Resources"].get("memory", 0) for node in self._ray.nodes() if node["Alive"]]
        most = max(nodes, default=0) / 2**20
        if memory_mb > most:
            raise PlacementError(
                f"A task needs {memory_mb:,.0f} MB. The largest node of the cluster offers {most:,.0f}: add a larger "
                "node, or use more and smaller parts."
            )

    def _begin(self, function: Callable[..., Any], common: Any, memory_mb: float | None) -> Any:
        shared = [] if common is None else [self._ray.put(common)]  # within a list it travels as a reference
        call = self._call
        if memory_mb is not None:
            call = call.options(memory=int(memory_mb * 2**20))
        return call, function, shared, memory_mb

    def _submit(self, job: Any, task: Any) -> Any:
        call, function, shared, memory_mb = job
        return call.remote(function, task, shared, memory_mb)

    def _first_done(self, handles: list[Any], timeout_s: float | None) -> Any:
        ready, _ = self._ray.wait(handles, num_returns=1, timeout=timeout_s)
        return ready[0] if ready else None

    def _result(self, job: Any, task: Any, handle: Any) -> Any:
        return self._got(handle)

    def _got(self, handle: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(handle)
        except errors.RayTaskError as error:
            cause = error.cause
            raise cause if isinstance(cause, VizslaError | ValueError | TypeError) else error from None
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.RayActorError) as error:
            raise WorkerLostError("A worker must live until its answer comes. Got one that was lost.") from error
        except errors.OutOfMemoryError as error:
            raise PlacementError(
                "A node of the cluster must have the memory that its tasks need. Got one that ran out: declare it with "
                "`memory_mb`, so that fewer tasks run there at a time."
            ) from error

    def _cancel(self, handle: Any) -> None:
        self._ray.cancel(handle, force=True)

    def start(self, kind: Callable[..., Any], *arguments: Any, memory_mb: float | None = None) -> Resident:
        """Start an object in an actor, which is started again with the same arguments when it dies."""
        self._check_memory(memory_mb)
        options: dict[str, Any] = {"max_restarts": RESTARTS, "num_cpus": 0}
        if memory_mb is not None:
            options["memory"] = int(memory_mb * 2**20)
        actor = self._ray.remote(**options)(kind).remote(*arguments)
        resident = _ActorResident(self, actor)
        self._residents.append(resident)
        return resident

    def close(self) -> None:
        """End the actors, and the cluster if this placement has started it."""
        for resident in self._residents:
            resident.stop()
        self._residents = []
        self._ray.shutdown()


class _ActorResident(Resident):
    """An actor."""

    def __init__(self, placement: RayPlacement, actor: Any):
        self._placement, self._actor = placement, actor

    def call(self, method: str, *arguments: Any) -> Any:
        return getattr(self._actor, method).remote(*arguments)

    def wait(self, handles: list[Any], timeout_s: float | None) -> list[bool]:
        ready, _ = self._placement._ray.wait(handles, num_returns=len(handles), timeout=timeout_s)
        done = set(ready)
        return [handle in done for handle in handles]

    def result(self, handle: Any) -> Any:
        return self._placement._got(handle)

    def stop(self) -> None:
        if self._actor is not None:
            self._placement._ray.kill(self._actor)
            self._actor = None


_SHARED: dict[str, Any] = {}
"""In a worker: what was common to the tasks of its last job. Reading it again for every task costs more than tasks."""


def _call_with_shared(function: Callable[..., Any], task: Any, shared: list[Any], memory_mb: float | None) -> Any:
    """Call a mapped function in a worker, which reads what is common to the tasks of a job once."""
    ray = import_extra("ray", "Work on a Ray cluster", "ray")
    common: Any = NOT_GIVEN
    for reference in shared:
        name = reference.hex()
        if name not in _SHARED:
            _SHARED.clear()
            _SHARED[name] = ray.get(reference)
        common = _SHARED[name]
    return call_within(function, task, common, memory_mb)


def _versions(_: Any) -> dict[str, str]:
    """Return what must be the same in every process for the same bytes."""
    import numpy

    found = {"Python": ".".join(platform.python_version_tuple()[:2]), "vizsla": vizsla.__version__}
    return found | {"numpy": numpy.__version__}


def _named(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _cpus(ray: Any) -> int:
    return int(ray.cluster_resources().get("CPU", 0))


def _has_token() -> bool:
    """Return whether this user has a token for clusters, where Ray looks for it."""
    if os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH"):
        return True
    return (Path.home() / ".ray" / "auth_token").is_file()


def _check_reachable(address: str) -> None:
    """Raise where nothing listens: Ray itself would wait for a minute, and then end the process."""
    named = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address
    if "://" in named or not named:
        return
    host, _, port = named.rpartition(":")
    if not host or not port.isdigit():
        raise PlacementError(f"`address` must be 'auto', 'local' or host:port. Got {named!r:.100}.")
    try:
        socket.create_connection((host, int(port)), ANSWER_S).close()
    except (OSError, OverflowError) as error:
        raise PlacementError(
            f"A Ray cluster must listen at {named}. Got no answer ({error}): start one with `ray start --head`, or "
            "check host, port and firewall."
        ) from None


def _refusal(address: str, error: BaseException) -> str:
    """Return one sentence for what Ray said."""
    said = " ".join(str(error).split())
    low = said.lower()
    # What listens at the address was reached before: a cluster that then cannot be connected to refuses the token.
    if "token" in low or "authentication" in low or "failed to connect to ray cluster" in low:
        return (
            f"The cluster at {address!r} refused this process: both must have the same token. Set RAY_AUTH_TOKEN or "
            "RAY_AUTH_TOKEN_PATH to the token of the cluster, which is in ~/.ray/auth_token on its head node."
        )
    if "version mismatch" in low:
        return f"The cluster must run the same versions of Ray and Python as this process. Ray says: {said:.300}"
    if "could not find any running ray" in low:
        return "A Ray cluster must be running. Got none: start one with `ray start --head`, or use connect('local')."
    return f"Ray must be able to connect to {address!r}. Got an error: {(said or type(error).__name__)[:300]}"
