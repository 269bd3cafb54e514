"""BagOfWords: which terms a text holds, and how often; vocabularies and length norms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla.artifacts.artifact import Artifact
from vizsla.base.encoder import Encoder
from vizsla.core.sparse import SparseRows
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.errors import FormatError, InputError
from vizsla.text.analyzers import Analyzer, analyzer_of, surface_of
from vizsla.text.highlights import Highlighter, TermHighlighter
from vizsla.text.streams import TEXTS_PER_BATCH, batches, call_with, listed
from vizsla.text.wordpiece import WordPiece

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


def read_vocabulary(reader: ArtifactReader, name: str) -> Strings:
    """Return a string table whose strings are UTF-8, distinct, and found by its slots; another raises ValueError."""
    strings = reader.strings(name)
    _native.check_vocabulary(strings.data, strings.offsets, strings.slots)
    return strings


def joined(strings: Strings, more: Strings) -> Strings:
    """Return the strings followed by more; all bytes are copied as they lie.

    Examples
    --------
    >>> list(joined(Strings.of(["fig"]), Strings.of(["pear"])))
    ['fig', 'pear']
    """
    if not len(more):
        return strings
    data = np.concatenate([strings.data, more.data])
    offsets = np.concatenate([strings.offsets, more.offsets[1:] + strings.offsets[-1]])
    return Strings(data, offsets, _native.build_slots(data, offsets)[0])


LENGTH_OFFSET = 1.2
"""What is added to an item's relative length, so that short items are not lifted without limit (BM25's k1)."""


def length_norms(lengths: NDArray[np.integer[Any]], mean: float, b: float) -> NDArray[np.float32]:
    """Return ``1 / (1.2 + 1 - b + b L / mean)`` for items of L distinct tokens.

    Examples
    --------
    >>> [f"{norm:.4f}" for norm in length_norms(np.int32([1, 3]), 2.0, 0.5)]
    ['0.5128', '0.4082']
    """
    relative = lengths / mean if mean > 0 else np.zeros(len(lengths))
    return (1 / (LENGTH_OFFSET + 1 - b + b * relative)).astype(np.float32)


ANALYZER_KEY = "analyzer"


class BagOfWords(Encoder, Artifact):
    """An analyzer and the vocabulary it met; turns a text into counts of known terms.

    Terms are numbered by their first occurrence. With stemming, `forms` holds the words as they were written,
    and `term_of_form` the term of each (-1 for a stop word): only a form never seen has to be stemmed. With several
    languages it holds a term for each of them, one form after another: an item is read in its own, a query in all.
    Where words count as their roots, too, these come last, -1 for a word that is its own.

    Parameters
    ----------
    analyzer : Analyzer
        How texts become tokens.
    terms : Strings
        The vocabulary.
    forms : Strings, optional
        The words as written, when the analyzer stems.
    term_of_form : int32 array, optional
        A term for each form in each of the analyzer's languages, and its root where the analyzer has some.

    Examples
    --------
    >>> bag, rows = BagOfWords.fit(["to be or not to be", "to do"])
    >>> list(bag.terms)
    ['to', 'be', 'or', 'not', 'do']
    >>> rows.offsets.tolist(), rows.values.tolist()
    ([0, 4, 6], [2.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    >>> bag.queries(["do or die"]).columns.tolist()
    [2, 4]
    """

    kind = "bag-of-words"
    sparse = True
    dim: int = 0
    """The number of terms."""

    @validate_args
    def __init__(
        self,
        analyzer: Analyzer,
        terms: Strings,
        forms: Strings | None = None,
        term_of_form: NDArray[np.int32] | None = None,
    ):
        self.analyzer, self.terms, self.dim = analyzer, terms, len(terms)
        self.forms = terms if forms is None else forms
        self.term_of_form = np.zeros(0, np.int32) if term_of_form is None else term_of_form
        self._check_forms()
        self._lookup = analyzer._lookup(self.forms, self.term_of_form)

    @classmethod
    def fit(cls, texts: Iterable[str], analyzer: Analyzer | None = None) -> tuple[Self, SparseRows]:
        """Read texts once; return the bag and the texts' rows.

        Parameters
        ----------
        texts : iterable of str
            Read in batches, so it may be larger than memory.
        analyzer : Analyzer, optional
            Plain lower-cased words unless given.
        """
        bag, rows, _ = cls.fit_items(texts, analyzer)
        return bag, rows

    @classmethod
    def fit_items(
        cls, texts: Iterable[str], analyzer: Analyzer | None = None
    ) -> tuple[Self, SparseRows, NDArray[np.int32]]:
        """Read texts as `fit` does; return also the place of each text's language among the analyzer's.

        The places are an empty array where the analyzer has one language at most.

        Examples
        --------
        >>> from vizsla.text.analyzers import AnyLanguage
        >>> _, _, places = BagOfWords.fit_items(["the dog", "der Hund"], AnyLanguage(["english", "german"]))
        >>> places.tolist()
        [0, 1]
        """
        analyzer = Analyzer() if analyzer is None else analyzer
        if analyzer.vocabulary is not None:
            bag = cls(analyzer, analyzer.vocabulary)
            rows = SparseRows.stacked([bag.queries(batch) for batch in batches(texts)], bag.dim)
            return bag, rows, np.zeros(0, np.int32)
        builder = _native.BagBuilder(*analyzer.rule, sorted(analyzer.skipped))
        for batch in batches(texts):
            call_with(builder.add, batch)
        surface = surface_of(builder)
        analyzer, columns = analyzer.settled_by(builder, surface)
        if not analyzer.languages:
            rows = _rows(builder, np.zeros((0, 1), np.int32), columns, len(surface))
            return cls(analyzer, surface), rows, columns
        terms, table = analyzer.terms_of(surface)
        rows = _rows(builder, table, columns, len(terms), analyzer.rooted)
        absent = [word for word in sorted(analyzer.dropped) if word not in surface]
        term_of_form = np.append(table, np.full((len(absent), table.shape[1]), -1, np.int32))
        return cls(analyzer, terms, joined(surface, Strings.of(absent)), term_of_form), rows, columns

    @classmethod
    def fit_fields(
        cls, rows: Iterable[Sequence[str]], analyzer: Analyzer | None, fields: int
    ) -> tuple[Self, SparseRows, NDArray[np.int32]]:
        """Read the texts of several fields per item; return a row for each field, item by item, and the languages.

        Vocabulary and languages are those of the fields' texts joined: a short title is read in the item's language.

        Examples
        --------
        >>> bag, rows, _ = BagOfWords.fit_fields([("a fig", "a fig tree"), ("plums", "")], None, 2)
        >>> list(bag.terms), rows.offsets.tolist(), rows.columns.tolist()
        (['a', 'fig', 'tree', 'plums'], [0, 2, 5, 6, 6], [0, 1, 0, 1, 2, 3])
        """
        analyzer = Analyzer() if analyzer is None else analyzer
        if analyzer.vocabulary is not None:
            return cls.fit_items((text for row in rows for text in row), analyzer)
        builder = _native.BagBuilder(*analyzer.rule, [])

        def joined() -> Iterator[str]:
            remaining = iter(rows)
            while batch := list(islice(remaining, TEXTS_PER_BATCH)):
                call_with(builder.add, [text for row in batch for text in row])
                yield from (" ".join(text for text in row if text) for row in batch)

        bag, _, places = cls.fit_items(joined(), analyzer)
        table = bag.readings(list(surface_of(builder)))
        return bag, _rows(builder, table, np.repeat(places, fields), bag.dim, bag.analyzer.rooted), places

    def grown(self, texts: Iterable[str]) -> Self:
        """Return a bag that also knows the words of these texts; all that this one knows keeps its number.

        Parameters
        ----------
        texts : iterable of str
            Read in batches, so it may be larger than memory. New terms follow in the order of their first occurrence.

        Examples
        --------
        >>> bag, _ = BagOfWords.fit(["to be or not to be"])
        >>> list(bag.grown(["be quick", "or be dead"]).terms)
        ['to', 'be', 'or', 'not', 'quick', 'dead']
        """
        if self.analyzer.vocabulary is not None:
            return self
        new: dict[str, None] = {}
        for batch in batches(texts):
            forms = _forms(self.analyzer, batch)
            new.update(dict.fromkeys(form for form, known in zip(forms, self._knows(forms), strict=True) if not known))
        return self._with_forms(list(new))

    def grown_to(self, other: BagOfWords) -> Self:
        """Return a bag that also knows the words of another with the same analyzer, as `grown` would from its texts.

        Examples
        --------
        >>> one, other = BagOfWords.fit(["a fig"])[0], BagOfWords.fit(["fig a tree"])[0]
        >>> list(one.grown_to(other).terms)
        ['a', 'fig', 'tree']
        """
        if other.analyzer != self.analyzer:
            raise InputError(f"`other` must have the same analyzer ({self.analyzer}). Got {other.analyzer}.")
        forms = list(other.forms)
        new = ~self._knows(forms)
        if self.analyzer.languages:
            new &= (other._table >= 0).any(axis=1)
        return self._with_forms([forms[place] for place in np.flatnonzero(new).tolist()])

    def _with_forms(self, forms: list[str]) -> Self:
        """Return a bag that also knows these words, which are new and given once, as the analyzer cuts them."""
        if not forms:
            return self
        if not self.analyzer.languages:
            return type(self)(self.analyzer, joined(self.terms, Strings.of(forms)))
        terms, table = _more_terms(self.terms, self.analyzer.folded(forms))
        known = joined(self.forms, Strings.of(forms))
        return type(self)(self.analyzer, terms, known, np.append(self.term_of_form, table.reshape(-1)))

    @property
    def _table(self) -> NDArray[np.int32]:
        """A row of terms for each form, a column for each way to read it."""
        return self.term_of_form.reshape(len(self.forms), self.analyzer.ways)

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the analyzer, its stop words, and the vocabulary."""
        tables = (self.terms.fingerprint, self.forms.fingerprint, sorted(self.analyzer.dropped))
        text = repr((self.analyzer.to_dict(), tables)).encode() + self.term_of_form.tobytes()
        return f"bag-of-words:{_native.checksum(np.frombuffer(text, np.uint8)):016x}"

    @property
    def nbytes(self) -> int:
        """Bytes of the vocabulary, and of the forms of its words."""
        forms = 0 if self.forms is self.terms else self.forms.nbytes
        return int(self.terms.nbytes + forms + self.term_of_form.nbytes)

    def queries(self, texts: Sequence[str]) -> SparseRows:
        """Count the known terms of each text, a column a term; unknown ones are left out.

        The values are whole numbers, or halves where words also count as their roots.
        """
        texts = texts if type(texts) is list else listed(texts)
        try:
            offsets, terms, counts, unknown = self._lookup.rows(texts)
        except TypeError as error:
            raise InputError(str(error)) from None
        if unknown:
            offsets, terms, counts, _ = self._lookup.rows_with(texts, self._terms_of(list(unknown)).reshape(-1))
        array = np.frombuffer
        return SparseRows(array(offsets, np.int64), array(terms, np.int32), array(counts, np.float32), self.dim)

    def highlighter(self, query: str) -> Highlighter:
        """Return what finds words that stand for a term of the query."""
        return TermHighlighter(self.analyzer, query)

    def items(self, texts: Sequence[str]) -> SparseRows:
        """Count the known terms of each item: as a query's, but each in its own language."""
        if len(self.analyzer.languages) < 2:
            return self.queries(texts)
        builder = _native.BagBuilder(*self.analyzer.rule, [])
        call_with(builder.add, listed(texts))
        surface = surface_of(builder)
        columns = self.analyzer.settled_by(builder, surface)[1]
        return _rows(builder, self.readings(list(surface)), columns, self.dim, self.analyzer.rooted)

    def __repr__(self) -> str:
        spoken = f": {', '.join(self.analyzer.languages)}" if getattr(self.analyzer, "languages", ()) else ""
        return f"BagOfWords({self.dim:,} terms, {self.analyzer.kind}{spoken})"

    def readings(self, words: list[str]) -> NDArray[np.int32]:
        """Return the terms that each word may stand for, a column for each way to read it; -1 for none.

        Examples
        --------
        >>> from vizsla.text.analyzers import AnyLanguage
        >>> bag, _ = BagOfWords.fit(["running dogs", "laufende Hunde"], AnyLanguage(["english", "german"]))
        >>> [[bag.terms[n] for n in row if n >= 0] for row in bag.readings(["dogs", "cat"])]
        [['dog', 'dog'], []]
        """
        numbers = self.forms.find_all(words)
        if not self.analyzer.languages:
            return numbers.astype(np.int32).reshape(-1, 1)
        table = self._table[numbers]
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            table[unknown] = self._terms_of([words[number] for number in unknown.tolist()])
        return table

    def _terms_of(self, forms: list[str]) -> NDArray[np.int32]:
        """Return the known terms of forms that are not known, a column for each way to read them."""
        ways = [self.terms.find_all([stem or "" for stem in stems]) for stems in self.analyzer.folded(forms)]
        return np.stack(ways, axis=1).astype(np.int32)

    def _live_parts(self) -> Iterable[Any]:
        return (self.analyzer,)

    def _write(self, writer: ArtifactWriter) -> None:
        self.analyzer.write(writer, ANALYZER_KEY)
        if self.analyzer.vocabulary is not None:
            return
        writer.strings("terms", self.terms)
        if self.analyzer.languages:
            writer.strings("forms", self.forms)
            writer.array("term_of_form", self.term_of_form)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        analyzer = _analyzer(reader)
        forms, term_of_form = None, None
        try:
            if analyzer.vocabulary is not None:
                return cls(analyzer, analyzer.vocabulary)
            terms = read_vocabulary(reader, "terms")
            if analyzer.languages:
                forms = read_vocabulary(reader, "forms")
                term_of_form = reader.array("term_of_form", np.int32)
            return cls(analyzer, terms, forms, term_of_form)
        except ValueError as error:
            raise FormatError(f"{reader.path}: {error}") from error

    def _knows(self, forms: list[str]) -> NDArray[np.bool_]:
        return self.forms.find_all(forms) >= 0

    def _check_forms(self) -> None:
        if self.analyzer.vocabulary is not None and self.terms is not self.analyzer.vocabulary:
            raise InputError("`terms` must be the analyzer's own vocabulary. Got others.")
        if not self.analyzer.settled:
            raise InputError("`analyzer` must have settled languages. Got 'auto': use BagOfWords.fit.")
        if bool(self.analyzer.languages) != (self.forms is not self.terms):
            raise InputError("`forms` must be given exactly when the analyzer stems.")
        if self.forms is self.terms:
            return
        numbers, count = self.term_of_form, len(self.forms) * self.analyzer.ways
        if len(numbers) != count:
            raise InputError(f"`term_of_form` must have an entry for each of {count} forms. Got {len(numbers)}.")
        if count and (numbers.min() < -1 or numbers.max() >= self.dim):
            raise InputError(f"`term_of_form` must hold numbers from -1 to {self.dim - 1}.")


def _rows(
    builder: _native.BagBuilder,
    table: NDArray[np.int32],
    columns: NDArray[np.int32],
    width: int,
    rooted: int | None = None,
) -> SparseRows:
    flat = np.ascontiguousarray(table).reshape(-1)
    offsets, terms, counts = builder.take_rows(flat, table.shape[1], columns, rooted)
    return SparseRows(offsets, terms, counts, width)


def _more_terms(terms: Strings, ways: list[list[str | None]]) -> tuple[Strings, NDArray[np.int32]]:
    """Return the terms followed by those that are new, form by form, and a row of terms for each form."""
    stems = [stem or "" for way in zip(*ways, strict=True) for stem in way]
    numbers = terms.find_all(stems)
    new: dict[str, int] = {}
    for place in np.flatnonzero(numbers < 0).tolist():
        if stems[place]:
            numbers[place] = new.setdefault(stems[place], len(terms) + len(new))
    return joined(terms, Strings.of(new)), numbers.astype(np.int32).reshape(-1, len(ways))


def _forms(analyzer: Analyzer, texts: list[str]) -> list[str]:
    """Return the distinct words of texts as they are written, without stop words, by first occurrence."""
    builder = _native.BagBuilder(*analyzer.rule, sorted(analyzer.dropped))
    call_with(builder.add, texts)
    data, offsets = builder.forms()
    return list(Strings(data, offsets, np.zeros(0, np.uint32)))


def _analyzer(reader: ArtifactReader) -> Analyzer:
    values = reader.json(ANALYZER_KEY)
    if isinstance(values, dict) and values.get("kind") == "wordpiece":
        return WordPiece.read(reader, values)
    try:
        return analyzer_of(values)
    except FormatError as error:
        raise FormatError(f"{reader.path / ANALYZER_KEY}.json: {error}") from error
