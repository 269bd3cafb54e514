"""What all compositions share: parts, one catalogue, and how they are saved."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from vizsla.artifact import Artifact
from vizsla.compose.catalogues import Aligned, align
from vizsla.errors import CompositionError, FormatError, VizslaError
from vizsla.retriever import Retriever
from vizsla.scorer import unwrapped
from vizsla.strings import Strings

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class Composition(Retriever):
    """A retriever made of others.

    Saved, it is a folder that holds its parts as artefacts of their own, so that it can be moved as one thing.
    """

    kind = "composition"
    operation: ClassVar[str]
    operations: ClassVar[dict[str, type[Composition]]] = {}
    composed = True

    def __init__(self, parts: Sequence[Retriever]):
        for part in parts:
            if not isinstance(part, Retriever):
                raise CompositionError(f"A part must be a Retriever. Got {type(part).__name__}.")
        self.parts = list(parts)
        self._aligned: list[Aligned[Retriever]] = align(self.parts)

    def __init_subclass__(cls) -> None:
        cls.operations[cls.operation] = cls

    @property
    def items(self) -> Strings:
        """The ids of all items that any part knows."""
        return self._aligned[0].merged

    @property
    def nbytes(self) -> int:
        """The sum over the distinct parts."""
        return sum(part.nbytes for part in {id(part): part for part in self._scorers()}.values())

    def __repr__(self) -> str:
        return str(self)

    @abstractmethod
    def _options(self) -> dict[str, Any]:
        """Return the parameters besides the parts, as JSON values."""

    @classmethod
    @abstractmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        """Build from loaded parts and the options that `_options` returned."""

    def _scorers(self) -> list[Any]:
        return list(self.parts)

    def _write(self, writer: ArtifactWriter) -> None:
        scorers = [unwrapped(part) for part in self._scorers()]  # budgets and caches stay outside of artefacts
        writer.parameters(operation=self.operation, parts=len(scorers), options=self._options())
        for number, part in enumerate(scorers):
            if not isinstance(part, Artifact):
                raise CompositionError(
                    f"Every part must be an artefact to be saved. Got {type(part).__name__}, which is code."
                )
            writer.child(f"part{number}", part)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        operation = reader.parameter("operation", str)
        count = reader.parameter("parts", int)
        if operation not in cls.operations or not 1 <= count <= 1000:
            raise FormatError(f"{reader.path}: unknown operation {operation!r} with {count} parts.")
        kind: Any = cls.operations[operation]
        try:
            built: Self = kind._rebuild(
                [reader.child(f"part{n}") for n in range(count)], reader.parameter("options", dict)
            )
            return built
        except FormatError:
            raise
        except (VizslaError, KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{reader.path}: the parts do not fit together ({error}).") from error
