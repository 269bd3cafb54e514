"""What the catalog of an engine holds, as Python objects: segments, fields, texts."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from vizsla.data.values import NumberStyle
from vizsla.engine.live_items import FieldKind, Fields
from vizsla.engine.segments import Segment


def joined_text(title: str, text: str) -> str:
    """Return what members index: title and text joined by one space, or the one that is not empty."""
    return f"{title} {text}" if title and text else title or text


def stored_segments(connection: sqlite3.Connection) -> list[Segment]:
    """Return the segments that the catalog lists, in the order of their rows."""
    parts: dict[int, dict[int, tuple[str, Any]]] = {}
    for s, m, folder, files in connection.execute("SELECT s, m, folder, files FROM parts"):
        parts.setdefault(s, {})[m] = folder, json.loads(files)
    rows = connection.execute("SELECT s, first, rows, folder, files FROM segments ORDER BY first").fetchall()
    return [
        Segment(s, first, count, folder, json.loads(files), parts.get(s, {})) for s, first, count, folder, files in rows
    ]


def fields_of(connection: sqlite3.Connection) -> Fields:
    """Return what each field is."""
    rows = connection.execute("SELECT name, kind, declared, style FROM fields").fetchall()
    found = {}
    for name, kind, declared, style in rows:
        known = json.loads(style)
        found[name] = FieldKind(kind, bool(declared), NumberStyle(*known) if known else None)
    return found
