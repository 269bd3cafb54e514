"""Beyond one process: where long work and shards run.

`connect` returns a placement, which the option `on` of long steps takes. `ShardedEngine` searches shards as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vizsla._internal.lazy import lazy_attribute

if TYPE_CHECKING:
    from vizsla.base.placement import Placement as Placement
    from vizsla.scale.building import build_shards as build_shards
    from vizsla.scale.placements import connect as connect
    from vizsla.scale.sharded_engine import ShardedAnswer as ShardedAnswer
    from vizsla.scale.sharded_engine import ShardedEngine as ShardedEngine
    from vizsla.scale.sharded_engine import reshard as reshard

_PUBLIC = {
    "Placement": "vizsla.base.placement",
    "build_shards": "vizsla.scale.building",
    "connect": "vizsla.scale.placements",
    "reshard": "vizsla.scale.sharded_engine",
    "ShardedAnswer": "vizsla.scale.sharded_engine",
    "ShardedEngine": "vizsla.scale.sharded_engine",
}

__all__ = ["Placement", "ShardedAnswer", "ShardedEngine", "build_shards", "connect", "reshard"]


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, _PUBLIC, name)
