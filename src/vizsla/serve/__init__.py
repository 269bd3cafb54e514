"""The service: search, items and clicks over HTTP, and a page. Needs the extra `serve`."""

from __future__ import annotations

from typing import Any

from vizsla._internal.lazy import import_extra, lazy_attribute

_PUBLIC = {
    "app": "vizsla.serve.application",
    "serve": "vizsla.serve.run",
    "ServiceSettings": "vizsla.serve.service_settings",
}
__all__ = [*_PUBLIC]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        import_extra("fastapi", "The service", "serve")
    return lazy_attribute(__name__, _PUBLIC, name)
