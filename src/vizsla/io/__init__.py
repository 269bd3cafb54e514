"""Reading and writing data sets, one module per format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vizsla._internal.lazy import lazy_attribute

if TYPE_CHECKING:
    from vizsla.io.document_readers import register_reader as register_reader
    from vizsla.io.documents import read_document as read_document
    from vizsla.io.passages import Heading as Heading
    from vizsla.io.passages import ParsedDocument as ParsedDocument
    from vizsla.io.passages import PassageSizes as PassageSizes

_PUBLIC = {
    "Heading": "vizsla.io.passages",
    "ParsedDocument": "vizsla.io.passages",
    "PassageSizes": "vizsla.io.passages",
    "read_document": "vizsla.io.documents",
    "register_reader": "vizsla.io.document_readers",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, _PUBLIC, name)
