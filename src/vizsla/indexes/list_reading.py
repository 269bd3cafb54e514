"""ListReading: searching by reading the lists around the nearest centres, whatever their items are stored as."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Numbers
from vizsla.errors import InputError
from vizsla.filter import Filter
from vizsla.indexes.approximate import ApproximateIndex, check_whole
from vizsla.indexes.centres import assigned, enough_probes, spherical_centres
from vizsla.indexes.faiss_storage import SELECTOR, in_threads, load_faiss, selector
from vizsla.indexes.flat_search import flat_search
from vizsla.indexes.item_vectors import Floats, ItemVectors

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

MOST_LISTS = 1 << 24


class Lists(NamedTuple):
    """Centres, each item's list, and how many lists a search reads."""

    centres: Floats
    members: Numbers
    probes: int

    @classmethod
    def built(
        cls, stored: ItemVectors, lists: int | None, probes: int | None, *, recall: float, rounds: int, seed: int
    ) -> Self:
        """Find centres, four times the square root of the number of items unless given, and enough probes."""
        wanted = int(4 * len(stored) ** 0.5) if lists is None else check_whole("lists", lists, MOST_LISTS)
        count = max(1, min(wanted, len(stored)))
        centres = spherical_centres(stored, count, rounds=check_whole("rounds", rounds, 10_000), seed=seed)
        members = assigned(stored, centres)
        enough = enough_probes(stored, centres, members, recall=recall, seed=seed) if probes is None else probes
        return cls(centres, members, enough)

    @classmethod
    def read(cls, reader: ArtifactReader) -> Self:
        """Read what `ListReading._write_lists` has stored; `_take_lists` checks it."""
        arrays = reader.array("centres", np.float32, ndim=2), reader.array("lists", np.int32)
        return cls(*arrays, reader.parameter("probes", int))


class ListReading(ApproximateIndex):
    """What inverted files of vectors and of codes share: which lists are read, and how Faiss is asked to read them."""

    centres: ItemVectors
    lists: Numbers
    probes: int

    def _take_lists(self, lists: Lists, dim: int) -> None:
        """Check and take them."""
        centres, members = lists.centres, lists.members
        if centres.shape[1] != dim or not 1 <= len(centres) <= MOST_LISTS:
            raise InputError(f"`centres` must be some rows of {dim} numbers. Got shape {centres.shape}.")
        if members.shape != (len(self),) or (len(members) and not 0 <= members.min() <= members.max() < len(centres)):
            raise InputError(f"`lists` must be {len(self)} numbers below {len(centres)}. Got others.")
        self.centres, self.lists = ItemVectors.of(centres), members
        self.probes = check_whole("probes", lists.probes, MOST_LISTS)

    @property
    def options(self) -> dict[str, Any]:
        """How many lists there are and are read, so that other vectors can be indexed alike."""
        stored = super().options  # type: ignore[safe-super]  # of the class that stands beside this one
        return stored | {"lists": len(self.centres), "probes": self.probes}

    @property
    def effort(self) -> int:
        """How many lists a search reads: `probes`."""
        return self.probes

    def with_effort(self, effort: int) -> Self:
        """Return the same index, sharing all arrays, that reads so many lists when it searches."""
        other = copy(self)
        other.probes = check_whole("effort", effort, MOST_LISTS)
        return other

    def _propose(self, rows: Floats, k: int, filter: Filter | None, threads: int) -> NDArray[np.int64]:
        faiss = load_faiss()
        probes = self._masked_probes(len(self) if filter is None else filter.count)
        chosen = None if filter is None else filter.form(SELECTOR, selector)
        how = faiss.SearchParametersIVF(nprobe=probes, sel=chosen)

        def part(given: Floats) -> NDArray[np.int64]:
            # Faiss would choose the lists by BLAS, and a query in a large batch could get other lists than alone.
            near = flat_search(given, self.centres, probes)
            numbers, scores = np.empty((len(given), k), np.int64), np.empty((len(given), k), np.float32)
            asked = self._asked(given)
            arrays = (asked, near.items.astype(np.int64), near.scores, scores, numbers)  # named: Faiss gets addresses
            parts = [faiss.swig_ptr(array) for array in arrays]
            self._faiss.search_preassigned_c(len(given), parts[0], k, *parts[1:], False, how)
            return numbers

        return in_threads(part, rows, threads)

    def _masked_probes(self, reachable: int) -> int:
        return min(-(-self.probes * len(self) // max(1, reachable)), len(self.centres))

    def _pays(self, k: int, reachable: int) -> bool:
        if reachable == len(self):  # however many are asked for: a short answer is the head of a long one
            return False
        return reachable <= k or self._masked_probes(reachable) == len(self.centres)

    def _fill(self, index: Any, take: Callable[[NDArray[np.int64]], NDArray[Any]]) -> None:
        """Hand the stored rows or codes of each list's items, as `take` gives them, to Faiss, list by list."""
        faiss = load_faiss()
        index.is_trained = True
        order = np.argsort(self.lists, kind="stable").astype(np.int64)
        bounds = np.searchsorted(self.lists[order], np.arange(index.nlist + 1))
        for number in range(index.nlist):
            members = np.ascontiguousarray(order[bounds[number] : bounds[number + 1]])
            if len(members):
                codes = np.ascontiguousarray(take(members)).view(np.uint8)
                index.invlists.add_entries(number, len(members), faiss.swig_ptr(members), faiss.swig_ptr(codes))
        index.ntotal = len(self)
        self._faiss = index

    def _write_lists(self, writer: ArtifactWriter) -> None:
        writer.parameters(probes=self.probes)
        writer.array("centres", self.centres.rows)
        writer.array("lists", self.lists)
