"""A child process that runs cases as it is told, one a line, and says how each went.

python -m tests.fuzz.worker TARGET SEED SCRATCH ONLY
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

TARGETS = {
    "artifacts": "tests.fuzz.artifact_target:ArtifactTarget",
    "compositions": "tests.fuzz.composition_target:CompositionTarget",
    "misuses": "tests.fuzz.misuse_target:MisuseTarget",
    "stores": "tests.fuzz.store_target:StoreTarget",
    "commands": "tests.fuzz.command_target:CommandTarget",
    "bombs": "tests.fuzz.bomb_target:BombTarget",
    "named models": "tests.fuzz.named_model_target:NamedModelTarget",
    "http": "tests.fuzz.http_target:HttpTarget",
    "engines": "tests.fuzz.engine_target:EngineTarget",
    "service": "tests.fuzz.service_target:ServiceTarget",
    "savers": "tests.fuzz.saver_target:SaverTarget",
    "stops": "tests.robustness.stopped_command_target:StoppedCommandTarget",
    "slow stops": "tests.robustness.stopped_command_target:SlowStoppedTarget",
}
MEMORY = int(os.environ.get("VIZSLA_FUZZ_MEMORY", 2 << 30))
"""Bytes of resident memory that no case may reach; what may be asked for besides is limited a little above."""


def make_target(name: str, scratch: Path, seed: int, only: str) -> Any:
    """Return the target of this name."""
    place = os.environ["VIZSLA_FUZZ_TARGET"] if name == "given" else TARGETS[name]
    module, _, kind = place.partition(":")
    return getattr(importlib.import_module(module), kind)(scratch, seed, only)


def peak_memory() -> int:
    """Return the most bytes that this process has held; `ru_maxrss` would count those of the one that started it."""
    return _status("VmHWM")


def reserved_memory() -> int:
    """Return the bytes that libraries have set aside and not filled, which a limit of data would count."""
    return max(0, _status("VmData") - _status("RssAnon"))


def _status(key: str) -> int:
    with Path("/proc/self/status").open() as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(key))


def main() -> None:
    """Answer cases until there are no more."""
    name, seed, scratch, only = sys.argv[1:5]
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the library prints is no reply
    target = make_target(name, Path(scratch), int(seed), only)
    most = min(MEMORY, getattr(target, "memory", MEMORY))
    os.chdir(scratch)  # a hostile path that is relative must not end in the repository
    if "asan" not in os.environ.get("LD_PRELOAD", "") and "tsan" not in os.environ.get("LD_PRELOAD", ""):
        soft = most * 5 // 4 + reserved_memory()
        resource.setrlimit(resource.RLIMIT_DATA, (soft, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    print(json.dumps({"ready": True}), file=replies, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        outcome, said = target.run(asked["case"], asked["kept"])
        memory = peak_memory()
        if memory > most:
            outcome = f"failure: {memory >> 20} MB of resident memory"
        reply = {"case": asked["case"], "outcome": outcome, "said": said, "memory": memory}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
