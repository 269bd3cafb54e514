"""Adjustments: synonyms, signals and rules over any retriever, read from one file, when a query is answered."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from vizsla._internal.lazy import cached_property
from vizsla.artifacts.strict_json import distinct
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer
from vizsla.compose.composition import Composition, bracketed
from vizsla.compose.signal import check_signal, describe_signal, signal_values
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.catalog import details_of
from vizsla.core.explanation import Explanation
from vizsla.core.validation import as_path
from vizsla.data.conditions import Condition, where
from vizsla.data.filter import Filter
from vizsla.errors import DataError, InputError, check_positive
from vizsla.typing import BoolArray, Float32Array, Float64Array, Int32Array

DEFAULT_CANDIDATES = 100
LIST_SCALES = ("minmax", "zscore")
"""Scales of a query's own list; on the first of them the least score is 0."""
PINNED = 1e6
"""The score of the first pinned item; the next one has 1 less."""
MAX_ENTRIES = 10_000
MAX_WORDS = 8
"""The longest phrase that a synonym stands for, in words."""
_SPACES = re.compile(r"\s+")
_ESCAPED = re.compile(r"\\([,=>^#\\])")
_PROTECTED = re.compile("[\ue000-\ue07f]")
"""Signs that a backslash stands before, while a line is divided."""
_EDGES = ".,;:!?()[]\"'"
"""Punctuation around a phrase of a query."""
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)
"""Inside a word, as in C#, the sign is part of the word."""


class Synonyms(NamedTuple):
    """Synonyms by the lower-case phrase of a query.

    Attributes
    ----------
    replaced : dict
        Replacements of a phrase (`a => b`).
    added : dict
        Additions to a phrase, with their weights (`a, b^0.5`).
    """

    replaced: dict[str, list[tuple[str, float]]]
    added: dict[str, list[tuple[str, float]]]

    @classmethod
    def of(cls, lines: Iterable[str], *, name: str = "synonyms") -> Synonyms:
        r"""Read lines in the format of Solr and Elasticsearch.

        Examples
        --------
        >>> found = Synonyms.of(["# a comment", "tv, television", "i-pod, i pod => ipod", "shoe, trainer^0.5"])
        >>> found.added["tv"], found.added["shoe"], found.replaced["i pod"]
        ([('television', 1.0)], [('trainer', 0.5)], [('ipod', 1.0)])
        >>> Synonyms.of([r"a\,b => c\=>d"]).replaced
        {'a,b': [('c=>d', 1.0)]}
        """
        found = cls({}, {})
        for number, line in enumerate(lines, 1):
            text = _COMMENT.sub("", _ESCAPED.sub(lambda sign: chr(0xE000 + ord(sign[1])), line)).strip()
            if not text:
                continue
            left, arrow, right = text.partition("=>")
            phrases, meant = _phrases(left), _phrases(right)
            if not phrases or (arrow and not meant):
                remedy = "Write `tv, television`, or `i pod => ipod`."
                raise DataError(
                    f"a synonym must have two sides. Got {text!r:.60}.", path=f"{name}:{number}", remedy=remedy
                )
            for phrase, _ in phrases:
                others = meant if arrow else [pair for pair in phrases if pair[0] != phrase]
                known = (found.replaced if arrow else found.added).setdefault(phrase, [])
                known += [pair for pair in others if pair[0] not in dict(known)]
        return found

    def applied(self, text: str) -> tuple[str, list[tuple[str, float]]]:
        """Return a query with what replaces its phrases, and what is searched for beside it; longest phrases first."""
        kept: list[str] = []
        extra: dict[str, float] = {}
        for words, phrase in self._runs(text.split()):
            meant = self.replaced.get(phrase)
            more = list(self.added.get(phrase, ()))
            if meant is None:
                kept += words
            else:
                kept += [each for each, weight in meant if weight == 1.0]
                more += [(each, weight) for each, weight in meant if weight != 1.0]
            for each, weight in more:
                extra[each] = max(extra.get(each, 0.0), weight)
        return (" ".join(kept) if extra or kept != text.split() else text), list(extra.items())

    def others(self, text: str) -> str:
        """Return the words of a query that stand in no synonym.

        Examples
        --------
        >>> Synonyms.of(["tv set, television"]).others("a TV set?")
        'a'
        """
        return " ".join(words[0] for words, phrase in self._runs(text.split()) if not phrase)

    def _runs(self, words: list[str]) -> Iterator[tuple[list[str], str]]:
        """Yield the words of a query: those of a phrase with it, the longest first, and others one by one."""
        at = 0
        while at < len(words):
            texts = ((n, " ".join(words[at : at + n]).lower()) for n in range(min(MAX_WORDS, len(words) - at), 0, -1))
            forms = ((n, form) for n, text in texts for form in (text, text.strip(_EDGES)))
            known = (each for each in forms if each[1] in self.replaced or each[1] in self.added)
            size, phrase = next(known, (1, ""))
            yield words[at : at + size], phrase
            at += size


def _phrases(text: str) -> list[tuple[str, float]]:
    found = []
    for part in text.split(","):
        phrase, _, weight = part.strip().partition("^")
        name = _PROTECTED.sub(lambda sign: chr(ord(sign[0]) - 0xE000), _SPACES.sub(" ", phrase.strip().lower()))
        try:
            number = float(weight) if weight else 1.0
        except ValueError:
            number = np.nan
        if not 0 < number <= 100:
            raise InputError(f"The weight of a synonym must be above 0, and at most 100. Got {part.strip()!r:.60}.")
        if name:
            found.append((name, number))
    return found


class Rule(NamedTuple):
    """A change to the answers of some queries.

    Attributes
    ----------
    name : str
        For explanations.
    query, pattern : str
        The query in any case, or a regular expression that it contains; both empty: every query.
    pin, ban : tuple of str
        Items that come first, in this order, and items that are left out.
    boost : str
        A condition on the metadata; what fulfills it gets `by` more.
    by : float
        The boost.
    """

    name: str
    query: str = ""
    pattern: str = ""
    pin: tuple[str, ...] = ()
    ban: tuple[str, ...] = ()
    boost: str = ""
    by: float = 0.0


class Adjustments:
    """Synonyms, signals and rules as plain data.

    Parameters
    ----------
    values : mapping
        "synonyms": lines of text; "signals": field, shape or half_life_days, weight; "rules": query or pattern, with
        pin, ban, or boost and by.

    Examples
    --------
    >>> shop = Adjustments({"synonyms": ["tv, television"], "rules": [{"query": "tv", "pin": ["tv-1"]}]})
    >>> shop
    Adjustments(1 synonyms, 0 signals, 1 rules)
    """

    def __init__(self, values: Mapping[str, Any]):
        if not isinstance(values, Mapping) or (unknown := [name for name in values if name not in PARTS]):
            got = type(values).__name__ if not isinstance(values, Mapping) else repr(unknown[0])
            raise InputError(f"Adjustments must be a mapping with {', '.join(PARTS)}. Got {got}.")
        self.lines = _listed(values, "synonyms", str)
        self.signals = [_signal(one) for one in _listed(values, "signals", Mapping)]
        self.rules = [_rule(one, at) for at, one in enumerate(_listed(values, "rules", Mapping), 1)]
        self.synonyms = Synonyms.of(self.lines)
        self._last: tuple[str, list[Rule]] | None = None
        self._by_query: dict[str, list[int]] = {}
        self._patterns: list[tuple[int, re.Pattern[str] | None]] = []
        for at, rule in enumerate(self.rules):
            if rule.query:
                self._by_query.setdefault(_folded(rule.query), []).append(at)
            else:
                self._patterns.append((at, re.compile(rule.pattern, re.IGNORECASE) if rule.pattern else None))

    def rules_for(self, text: str) -> list[Rule]:
        """Return the rules for a query, in their order.

        Examples
        --------
        >>> shop = Adjustments({"rules": [{"pattern": "^tv", "ban": ["x"]}, {"query": "TV  stand", "pin": ["y"]}]})
        >>> [rule.name for rule in shop.rules_for("tv stand")]
        ['rule 1', 'rule 2']
        """
        last = self._last
        if last is None or last[0] != text:  # a search asks several times
            found = [at for at, pattern in self._patterns if pattern is None or pattern.search(text) is not None]
            own = self._by_query.get(_folded(text), ())
            last = self._last = text, [self.rules[at] for at in sorted([*found, *own])]
        return last[1]

    @classmethod
    def of(cls, given: Adjustments | Mapping[str, Any] | str | Path) -> Adjustments:
        """Read adjustments: a mapping, or a file in JSON or TOML; any other text file is one of synonyms."""
        if isinstance(given, Adjustments):
            return given
        if isinstance(given, Mapping):
            return cls(given)
        path = as_path(given)
        try:
            text = path.read_text(encoding="utf-8-sig")
            if path.suffix == ".toml":
                known = tomllib.loads(text)
            elif path.suffix == ".json":
                known = json.loads(text, object_pairs_hook=distinct)
            else:
                known = {"synonyms": text.splitlines()}
        except (ValueError, RecursionError) as error:
            raise DataError(f"not sound ({error}).", path=str(path), remedy="Repair the file.") from None
        return cls(known)

    def __repr__(self) -> str:
        counts = len(self.lines), len(self.signals), len(self.rules)
        return "Adjustments({} synonyms, {} signals, {} rules)".format(*counts)

    def to_dict(self) -> dict[str, Any]:
        """Return the adjustments as they are given."""
        rules = []
        for rule in self.rules:
            known = {name: value for name, value in rule._asdict().items() if value}
            rules.append({name: list(value) if isinstance(value, tuple) else value for name, value in known.items()})
        return {"synonyms": list(self.lines), "signals": [dict(one) for one in self.signals], "rules": rules}


PARTS = ("synonyms", "signals", "rules")


def _folded(query: str) -> str:
    """Return a query as rules compare it: in lower case, with single spaces."""
    return _SPACES.sub(" ", query.strip().lower())


@lru_cache(maxsize=16)
def _read(text: str) -> Adjustments:
    """Read adjustments from JSON; an engine makes its members anew after every change."""
    return Adjustments(json.loads(text))


def _listed(values: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    found = values.get(name, [])
    if not isinstance(found, list | tuple) or len(found) > MAX_ENTRIES or not all(isinstance(o, kind) for o in found):
        raise InputError(f"`{name}` must be a list of at most {MAX_ENTRIES:,}. Got {found!r:.80}.")
    return list(found)


def _signal(given: Mapping[str, Any]) -> dict[str, Any]:
    known = ("field", "shape", "half_life_days", "now", "weight")
    for name in given:
        if name not in known:
            raise InputError(f"A signal must have {', '.join(known)}. Got {name!r:.60}.")
    if not isinstance(given.get("field"), str):
        raise InputError(f"A signal must name its `field`. Got {dict(given)!r:.80}.")
    weight = given.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not np.isfinite(weight):
        raise InputError(f"The `weight` of a signal must be a number. Got {weight!r:.60}.")
    check_signal(given.get("shape", "linear"), given.get("half_life_days"), given.get("now"))
    return {**given, "weight": float(weight)}


def _rule(given: Mapping[str, Any], number: int) -> Rule:
    for name in given:
        if name not in Rule._fields:
            raise InputError(f"A rule must have {', '.join(Rule._fields)}. Got {name!r:.60}.")
    values: dict[str, Any] = {"name": f"rule {number}", **given}
    for name in ("pin", "ban"):
        ids = values.get(name, ())
        if not isinstance(ids, list | tuple) or not all(isinstance(id, str) for id in ids):
            raise InputError(f"`{name}` must be a list of ids. Got {ids!r:.80}.")
        values[name] = tuple(ids)
    for name in ("name", "query", "pattern", "boost"):
        if not isinstance(values.get(name, ""), str):
            raise InputError(f"`{name}` of a rule must be a text. Got {values[name]!r:.60}.")
    by = values.get("by", 0.0)
    if isinstance(by, bool) or not isinstance(by, int | float) or not np.isfinite(by):
        raise InputError(f"`by` must be a number. Got {by!r:.60}.")
    rule = Rule(**{**values, "by": float(by)})
    if rule.boost:
        where(rule.boost)
    try:
        re.compile(rule.pattern)
    except re.error as error:
        raise InputError(f"`pattern` must be a regular expression. Got {rule.pattern!r:.60} ({error}).") from None
    if not (rule.pin or rule.ban or rule.boost):
        raise InputError(f"A rule must pin, ban or boost something. Got {dict(given)!r:.80}.")
    return rule


class Adjusted(Composition):
    """A retriever whose answers synonyms, signals and rules adjust. Use `adjust` to make one.

    The score of an item is the base's for the query, plus the base's for each synonym times its weight, plus signals
    and boosts; a pinned item has the score of its place instead. Signals and synonyms that change the order reach the
    best `depth` of each search, as in every sum.

    Parameters
    ----------
    base : Retriever
        The retriever to adjust.
    adjustments : Adjustments
        Synonyms, signals and rules.
    depth : int
        How many items each search contributes.
    """

    operation = "adjusted"

    def __init__(self, base: Retriever, adjustments: Adjustments, *, depth: int = DEFAULT_CANDIDATES):
        super().__init__([base])
        self.adjustments, self.depth, self.scale = adjustments, check_positive("depth", depth), base.scale

    def __str__(self) -> str:
        return f"{bracketed(self.parts[0])}.adjusted"

    @cached_property
    def _signals(self) -> list[tuple[dict[str, Any], Float32Array]]:
        return [(one, self._signal_values(one)) for one in self.adjustments.signals]

    def _signal_values(self, one: dict[str, Any]) -> Float32Array:
        options = one.get("shape", "linear"), one.get("half_life_days"), one.get("now")
        values = signal_values(self.items, one["field"], *options)
        return np.asarray(values * np.float32(one["weight"]), np.float32)

    @cached_property
    def _boosts(self) -> dict[str, BoolArray]:
        conditions = {rule.boost for rule in self.adjustments.rules if rule.boost}
        return {condition: self._boosted(where(condition)) for condition in conditions}

    def _boosted(self, condition: Condition) -> BoolArray:
        """Return which items fulfill a condition; none where no item of an engine has such a field yet."""
        details = details_of(self.items)
        if details is None or any(details.lacks(each.field) for each in condition.comparisons()):
            return np.zeros(len(self.items), np.bool_)
        return Filter.of(condition, self.items).mask

    def _alone(self, queries: Queries) -> list[Queries]:
        """Return the queries one by one, with what was memoized of each."""
        known: list[Queries] | None = queries.spent.get((self, "alone"))
        if known is None:
            known = [queries.reworded([row], [text]) for row, text in enumerate(queries.texts)]
            queries.spent[self, "alone"] = known
        return known

    def _asked(self, query: Queries) -> list[tuple[str, float, Queries]]:
        """Return what the base is asked in place of one query: the text, its weight, and the queries of this call."""
        known: list[tuple[str, float, Queries]] | None = query.spent.get((self, "asked"))
        if known is None:
            main, extra = self.adjustments.synonyms.applied(query.texts[0])
            known = [(each, weight, query.reworded([0], [each])) for each, weight in [(main, 1.0), *extra]]
            query.spent[self, "asked"] = known
        return known

    def _hints(self, queries: Queries) -> tuple[str, ...]:
        """Return what the base has to say of the words that are no synonyms."""
        text = queries.texts[0]
        rest = self.adjustments.synonyms.others(text) if self.adjustments.lines else text
        return super()._hints(queries if len(rest.split()) == len(text.split()) else queries.reworded([0], [rest]))

    def _rules(self, text: str) -> list[Rule]:
        return self.adjustments.rules_for(text)

    def _pins(self, rules: Sequence[Rule], filter: Filter | None) -> dict[int, float]:
        """Return the scores of pinned items that are there, allowed and not banned."""
        banned = {id for rule in rules for id in rule.ban}
        ids = dict.fromkeys(id for rule in rules for id in rule.pin if id not in banned and id in self.items)
        numbers = [self.items.number(id) for id in ids]
        allowed = [number for number in numbers if filter is None or filter.mask[number]]
        return {number: self._pinned - place for place, number in enumerate(allowed)}

    @cached_property
    def _pinned(self) -> float:
        """The score of the first pinned item: above those that an adjusted part pins."""
        return PINNED + max((each._pinned for each in _adjusted_in(self.parts[0])), default=0.0)

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        rows = [self._found(query, k, filter, threads) for query in self._alone(queries)]
        lengths = [len(items) for items, _, _ in rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        stats = rows[0][2] if rows else Stats()
        for _, _, more in rows[1:]:
            stats += more
        items = np.concatenate([np.zeros(0, np.int32), *(items for items, _, _ in rows)])
        scores = np.concatenate([np.zeros(0, np.float32), *(scores for _, scores, _ in rows)])
        return Candidates.unchecked(offsets, items, scores, self.items, stats.with_exact(False))

    def _found(
        self, query: Queries, k: int, filter: Filter | None, threads: int
    ) -> tuple[Int32Array, Float32Array, Stats]:
        text = query.texts[0]
        rules = self._rules(text)
        allowed = self._allowed(rules, filter)
        asked = [each for _, _, each in self._asked(query)]
        most, stats = max(k, self.depth), Stats()
        numbers: list[Int32Array] = [np.array(list(self._pins(rules, allowed)), np.int32)]
        for one in asked:
            found = self.parts[0]._search_checked(one, most, allowed, threads)
            numbers.append(found.items)
            stats += found.stats
        for rule in rules:
            if rule.boost:
                inside = self._boosts[rule.boost] if allowed is None else self._boosts[rule.boost] & allowed.mask
                found = self.parts[0]._search_checked(asked[0], most, Filter(inside, self.items), threads)
                numbers.append(found.items)
        everything = np.unique(np.concatenate(numbers)).astype(np.int32)
        scores = self._scores(query, everything, allowed, threads)
        order = np.lexsort((everything, -scores))[:k]
        return everything[order], scores[order], stats

    def _matches(self, queries: Queries, threads: int) -> Int32Array | None:
        """Return what the base matches for the query and its synonyms, and what is pinned, without what is banned."""
        rules = self._rules(queries.texts[0])
        found = [np.array(list(self._pins(rules, None)), np.int32)]
        for _, _, each in self._asked(queries):
            matches = self._aligned[0].matches(each, threads)
            if matches is None:
                return None
            found.append(matches)
        everything = np.unique(np.concatenate(found)).astype(np.int32)
        allowed = self._allowed(rules, None)
        return everything if allowed is None else everything[allowed.mask[everything]]

    def _allowed(self, rules: Sequence[Rule], filter: Filter | None) -> Filter | None:
        banned = [self.items.number(id) for rule in rules for id in rule.ban if id in self.items]
        if not banned:
            return filter
        mask = np.ones(len(self.items), np.bool_) if filter is None else filter.mask.copy()
        mask[banned] = False
        return Filter(mask, self.items)

    def _scores(self, query: Queries, items: Int32Array, filter: Filter | None, threads: int) -> Float32Array:
        """Return the scores of items for one query."""
        total = np.zeros(len(items), np.float64)
        for _, weight, scores in self._base_terms(query, items, filter, threads):
            total += weight * scores
        for _, values in self._signals:
            total += values[items]
        rules = self._rules(query.texts[0])
        for rule in rules:
            if rule.boost:
                total += rule.by * self._boosts[rule.boost][items]
        pins = self._pins(rules, filter)
        for at, item in enumerate(items.tolist()):
            if item in pins:
                total[at] = pins[item]
        return total.astype(np.float32)

    def _base_terms(
        self, query: Queries, items: Int32Array, filter: Filter | None, threads: int
    ) -> list[tuple[str, float, Float64Array]]:
        """Return what the base gives items for the query and for each synonym: text, weight and scores."""
        candidates = Candidates.from_rows([items], catalog=self.items)
        terms, several = [], self._asked(query)
        for each, weight, asked in several:
            scores = self._aligned[0].score(asked, candidates, filter, threads).scores.astype(np.float64)
            if len(several) > 1 and self.scale in LIST_SCALES:
                scores = self._held(asked, items, scores, threads)
            terms.append((each, weight, scores))
        return terms

    def _held(self, asked: Queries, items: Int32Array, scores: Float64Array, threads: int) -> Float64Array:
        """Return scores that are 0 where a term does not find the item, which its scale may set anywhere."""
        known: tuple[Int32Array | None] | None = asked.memo((self, "matches"))
        if known is None:
            known = asked.memoize((self, "matches"), (self._aligned[0].matches(asked, threads),))
        found = scores if known[0] is None else np.where(np.isin(items, known[0]), scores, 0.0)
        return np.maximum(found, 0.0) if self.scale == LIST_SCALES[0] else found

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        rows = [
            self._scores(query, candidates.row(row)[0], self._allowed(self._rules(query.texts[0]), filter), threads)
            for row, query in enumerate(self._alone(queries))
        ]
        scores = np.concatenate([np.zeros(0, np.float32), *rows])
        return PairScores(scores, Stats(scored=len(candidates.items)))

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        one, rules = np.array([item], np.int32), self._rules(queries.texts[0])
        filter = self._allowed(rules, filter)  # what is banned moves no other item in the base
        score = float(self._scores(queries, one, filter, 1)[0])
        if item in (pins := self._pins(rules, filter)):
            by = next(rule.name for rule in rules if self.items[item] in rule.pin)
            place = int(self._pinned - pins[item]) + 1
            return Explanation(score, f"adjusted: pinned at place {place} by {by!r}")
        parts = []
        for text, weight, scores in self._base_terms(queries, one, filter, 1):
            share = weight * float(scores[0])
            if text == queries.texts[0] and weight == 1:
                own = self.parts[0]._explain(queries, item, filter)
                absent = own.score != 0 and not share
                parts.append(Explanation(0.0, "not found for the query itself: counts 0", [own]) if absent else own)
            elif share or not parts:
                times = "" if weight == 1 else f"{weight:g} × "
                parts.append(Explanation(share, f"{times}the synonym {text!r}"))
        for settings, values in self._signals:
            words = describe_signal(self.items, settings, item)
            parts.append(Explanation(float(values[item]), f"{settings['weight']:g} × {words}"))
        for rule in rules:
            if rule.boost and self._boosts[rule.boost][item]:
                parts.append(Explanation(rule.by, f"boost of {rule.boost!r} by {rule.name!r}"))
        return Explanation(score, "adjusted, the sum of", parts)

    def _options(self) -> dict[str, Any]:
        return {"adjustments": json.dumps(self.adjustments.to_dict(), ensure_ascii=False), "depth": self.depth}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts[0], _read(options["adjustments"]), depth=options["depth"])


def _adjusted_in(scorer: Scorer) -> Iterator[Adjusted]:
    """Yield what is adjusted in a retriever, itself or its parts."""
    if isinstance(scorer, Adjusted):
        yield scorer
    for part in scorer.children():
        yield from _adjusted_in(part)


def adjust(
    base: Retriever, adjustments: Adjustments | Mapping[str, Any] | str | Path, *, depth: int = DEFAULT_CANDIDATES
) -> Adjusted:
    """Return a retriever whose answers synonyms, signals and rules adjust.

    Parameters
    ----------
    base : Retriever
        Any retriever or composition; signals and boosts need items with metadata.
    adjustments : mapping, Adjustments or path
        {"synonyms": [...], "signals": [...], "rules": [...]}; a file with these in JSON or TOML; or any other text
        file, of synonyms in the format of Solr and Elasticsearch.
    depth : int
        How many items each search contributes, before they are adjusted.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> shop = bm25({"a": "a television", "b": "a tv stand", "c": "a lamp"})
    >>> adjust(shop, {"synonyms": ["tv, television"]})("tv").ids
    [['a', 'b']]
    >>> adjust(shop, {"rules": [{"query": "tv", "pin": ["c"], "ban": ["b"]}]})("tv").ids
    [['c']]
    """
    if not isinstance(base, Retriever):
        raise InputError(f"`base` must be a Retriever. Got {type(base).__name__}.")
    return Adjusted(base, Adjustments.of(adjustments), depth=depth)
