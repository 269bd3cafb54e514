"""Successive halving: many candidates on few clicks and searches, then the best of each family on all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from vizsla import __version__
from vizsla.artifacts.manifest import digest
from vizsla.autopilot.limits import Limits, measured_cost
from vizsla.autopilot.proposals import BASELINE, Candidate, Workshop
from vizsla.autopilot.searches import LearningSplits, Searches, newest_clicks
from vizsla.autopilot.trials import LearningTrial, TrialStore
from vizsla.base.placement import Placement
from vizsla.base.recipe import Recipe
from vizsla.base.retriever import Retriever
from vizsla.data.dataset import Dataset
from vizsla.errors import VizslaError

FIRST_SEARCHES = 300
FIRST_CLICKS = 8000
"""What the first round is run on; a log with fewer clicks is learned from whole at once."""
KEPT_SHARE = 0.5
"""The share of a family that goes on to the next round; at least one."""
FIRST_SHARE = 0.4
"""The share of the time for the first round; families that it does not reach send the first of their candidates on."""
RESERVED = 2.5
"""The winner is built twice more, to report and to be used: so much of the time of its trials is kept for that."""


class Progress(NamedTuple):
    """One line of progress.

    Attributes
    ----------
    trial : LearningTrial
        The latest trial.
    best : LearningTrial
        The best so far of the same round.
    left : float
        Seconds of the time that are left.
    known : bool
        Whether the trial was read from an earlier run.
    """

    trial: LearningTrial
    best: LearningTrial
    left: float
    known: bool

    def __str__(self) -> str:
        one = self.trial
        said = f"{one.name:<20} nDCG@10 {one.quality:.3f} on {one.searches:,} searches, {one.cost}, {one.seconds:.1f} s"
        if one.refused:
            said += f"; over the limit: {one.refused}"
        known = " (known)" if self.known else ""
        return f"{said}{known}. Best {self.best.name} {self.best.quality:.3f}, {max(self.left, 0):.0f} s left"


class ProgressStage(NamedTuple):
    """One line of progress between and after the trials.

    Attributes
    ----------
    said : str
        The current phase, or its result.
    left : float
        Seconds of the time that are left.
    """

    said: str
    left: float

    def __str__(self) -> str:
        return f"{self.said}, {max(self.left, 0):.0f} s left"


Watch = Callable[[Progress | ProgressStage], None]


class Round(NamedTuple):
    """A round of trials: what is learned from, and what is measured on."""

    workshop: Workshop
    searches: Searches
    clicks: int


class TrialWork(NamedTuple):
    """What the trials of a round share; it travels to a machine once.

    Attributes
    ----------
    workshop : Workshop
        What builds candidates, none of which is built yet where it travels.
    searches : Searches
        The searches that they are measured on.
    limits : Limits
        Limits of the cost of a search.
    clicks : int
        How many are learned from.
    seed, threads : int
        As for `learn`.
    """

    workshop: Workshop
    searches: Searches
    limits: Limits
    clicks: int
    seed: int
    threads: int


def tried(name: str, work: TrialWork) -> LearningTrial:
    """Build a candidate and measure it."""
    start, searches = perf_counter(), work.searches
    built = work.workshop.built(name)
    found = searches.answers(built, threads=work.threads)
    seconds = perf_counter() - start
    values = searches.measure(found)
    calls = found.stats.model_calls / max(len(found), 1)
    cost = measured_cost(built, searches.texts, calls=calls, seed=work.seed)
    recipe, refused = work.workshop.settled(name), work.limits.exceeded(cost)
    family, quality = work.workshop.candidates[name].family, searches.quality(values)
    return LearningTrial(
        name, family, recipe, work.clicks, len(searches), quality, seconds, cost, refused, values
    )  # fmt: skip


def tried_elsewhere(name: str, work: TrialWork) -> LearningTrial | str:
    """Do the same on a worker, with candidates that only this trial builds; return why one cannot be built."""
    try:
        return tried(name, work._replace(workshop=work.workshop.emptied()))
    except VizslaError as error:
        if name == BASELINE:
            raise
        return str(error)


class Race:
    """Runs trials within a time, and remembers them.

    Parameters
    ----------
    candidates : mapping of str to Candidate
        The candidates.
    splits : LearningSplits
        The log.
    limits : Limits
        Limits of the cost of a search.
    store : TrialStore
        Where trials are kept.
    seconds : float
        How long it may take.
    digest_of_data : str
        Of which data the trials are.
    bindings : mapping, optional
        Live objects that recipes name.
    seed, threads : int
        As for `learn`.
    watch : callable, optional
        Is told of every trial.
    on : Placement, optional
        Where trials are made, several at a time.
    """

    def __init__(
        self,
        candidates: Mapping[str, Candidate],
        splits: LearningSplits,
        *,
        limits: Limits,
        store: TrialStore,
        seconds: float,
        digest_of_data: str,
        bindings: Mapping[str, Any] | None = None,
        seed: int = 0,
        threads: int = 1,
        watch: Watch | None = None,
        on: Placement | None = None,
    ):
        self._on, self._given = on, dict(candidates)
        self.candidates, self.splits, self.limits = dict(candidates), splits, limits
        self._store, self._data, self.bindings = store, digest_of_data, dict(bindings or {})
        self._seed, self._threads, self._watch = seed, threads, watch
        self._stop, self._seconds = perf_counter() + seconds, seconds
        self.tried: list[LearningTrial] = []
        self.stopped = ""
        self.left_out: dict[str, str] = {}
        self.workshop = self.workshop_over(splits.learn)

    def workshop_over(self, dataset: Dataset) -> Workshop:
        """Return where the candidates are built over another share of the clicks."""
        return Workshop(dataset, self.candidates, bindings=self.bindings, threads=self._threads)

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self._stop - perf_counter()

    def run(self) -> list[LearningTrial]:
        """Run both rounds and return the trials of the last one; Ctrl-C ends it with what there is."""
        final: list[LearningTrial] = []
        try:
            names = [name for name, each in self.candidates.items() if each.enters]
            final = self._final(self._halved(names))
        except KeyboardInterrupt:
            self.stopped = "by Ctrl-C"
            last = len(self.splits.choose), int(self.splits.learn.clicks.nnz)
            final = [trial for trial in self.tried if (trial.searches, trial.clicks) == last]
        if not any(trial.name == BASELINE for trial in final):
            final.append(self.trial(BASELINE, self._last_round()))
        return final

    def _last_round(self) -> Round:
        return Round(self.workshop, self.splits.choose, int(self.splits.learn.clicks.nnz))

    def _halved(self, names: list[str]) -> list[str]:
        """Return which candidates of each family are worth a trial on everything."""
        learn, choose = self.splits.learn, self.splits.choose
        if learn.clicks.nnz > 2 * FIRST_CLICKS:
            workshop = self.workshop_over(newest_clicks(learn, FIRST_CLICKS))
        else:
            workshop = self.workshop
        few = choose.sample(FIRST_SEARCHES, self._seed)
        round = Round(workshop, few, int(workshop.dataset.clicks.nnz))
        families: dict[str, list[str]] = {}
        for name in names:
            families.setdefault(self.candidates[name].family, []).append(name)
        kept: list[str] = []
        for family in families.values():
            alone = len(family) == 1 and family[0] != BASELINE
            if alone or self._is_halving_over():
                kept += family[:1]
                continue
            kept += self._ranked(family, round)[: max(1, round_up(KEPT_SHARE * len(family)))]
        return [name for name in names if name in kept or name == BASELINE]

    def _ranked(self, family: list[str], round: Round) -> list[str]:
        trials: list[LearningTrial] = []
        with closing(self._trials(family, round)) as made:
            for trial in made:
                trials.append(trial)
                if self._is_late(0.5) or self._is_halving_over():
                    break
        allowed = [trial for trial in trials if not trial.refused] or trials
        return [trial.name for trial in sorted(allowed, key=lambda trial: -trial.quality)]

    def _final(self, names: list[str]) -> list[LearningTrial]:
        """Measure on everything: what needs no building, the best first, and then what is built soonest."""
        round, final = self._last_round(), list[LearningTrial]()
        known = {trial.name: trial for trial in self.tried}
        free = [name for name in names if name in round.workshop or self._stored(name, round) is not None]

        def place(name: str) -> tuple[bool, bool, float]:
            if name in free:
                return name != BASELINE, False, -known[name].quality if name in known else 0.0
            return name != BASELINE, True, known[name].seconds if name in known else 0.0

        ordered = sorted(names, key=place)
        with closing(self._trials(ordered, round)) as made:
            for trial in made:
                final.append(trial)
                following = ordered[ordered.index(trial.name) + 1 :]
                if following and self._is_late(1 / (1 + RESERVED)) and (following[0] not in free or len(final) > 1):
                    self.stopped = self.stopped or "because the time was up"
                    break
        return final

    def _trials(self, names: list[str], round: Round) -> Generator[LearningTrial, None, None]:
        """Yield the trial of each candidate; workers make several at a time, and those that are known are read."""
        if self._on is None:
            for name in names:
                try:
                    trial = self.trial(name, round)
                except VizslaError as error:  # such as codes of more bytes than the vectors have dimensions
                    if name == BASELINE:
                        raise
                    self.left_out[name] = str(error)
                    continue
                yield trial
            return
        missing = [name for name in names if self._stored(name, round) is None]
        common = self._work(round)._replace(workshop=round.workshop.emptied())
        made = self._on.map(tried_elsewhere, missing, common=common, what="trying")
        for name in names:
            if name not in missing:
                yield self.trial(name, round)
                continue
            found = next(made)
            if isinstance(found, str):
                self.left_out[name] = found
                continue
            trial = found
            self._store.put(self._key(name, round), trial)
            self._settle(trial, round)
            self._note(trial, False)
            yield trial

    def _is_halving_over(self) -> bool:
        """Whether the first round has had its share of the time."""
        return self.left < (1 - FIRST_SHARE) * self._seconds

    def _is_late(self, share: float) -> bool:
        """Whether what is left of the time has to be kept for later."""
        spent = sum(trial.seconds for trial in self.tried)
        return self.left < 0 or self.left < spent * share * 0.5

    def trial(self, name: str, round: Round) -> LearningTrial:
        """Measure a candidate, or read what it was worth from an earlier run."""
        known = self._stored(name, round)
        if known is not None:
            self._settle(known, round)
            self._note(known, True)
            return known
        made = tried(name, self._work(round))
        self._store.put(self._key(name, round), made)
        self._note(made, False)
        return made

    def _work(self, round: Round) -> TrialWork:
        return TrialWork(round.workshop, round.searches, self.limits, round.clicks, self._seed, self._threads)

    def _stored(self, name: str, round: Round) -> LearningTrial | None:
        known = self._store.find(self._key(name, round))
        return known if known is not None and len(known.values) == len(round.searches) else None

    def _settle(self, trial: LearningTrial, round: Round) -> None:
        """Let a candidate that was built elsewhere on everything be built here with the settings that it chose."""
        if round.searches is self.splits.choose:
            candidate = self.candidates[trial.name]
            self.candidates[trial.name] = candidate._replace(recipe=self._with_objects(candidate, trial))

    def _with_objects(self, candidate: Candidate, known: LearningTrial) -> Recipe:
        given = candidate.recipe
        plain = {
            name: value
            for name, value in known.recipe.settings.items()
            if name not in given.settings and isinstance(value, bool | int | float | str | dict | None)
        }
        return given.but(**plain)

    def say(self, said: str) -> None:
        """Tell the watcher what is being done."""
        if self._watch is not None:
            self._watch(ProgressStage(said, self.left))

    def _note(self, trial: LearningTrial, known: bool) -> None:
        size = (trial.name, trial.clicks, trial.searches)
        if size in {(each.name, each.clicks, each.searches) for each in self.tried}:
            return  # where the log is small, both rounds are the same
        self.tried.append(trial)
        if self._watch is not None:
            alike = [each for each in self.tried if each.searches == trial.searches and not each.refused]
            best = max(alike or [trial], key=lambda each: each.quality)
            self._watch(Progress(trial, best, self.left, known))

    def _key(self, name: str, round: Round) -> str:
        candidate = self._given[name]
        bases = [self._given[base].recipe.to_dict() for base in candidate.bases]
        parts = [__version__, self._data, self._seed, candidate.name, candidate.recipe.to_dict(), bases,
                 round.clicks, len(round.searches), str(self.limits)]  # fmt: skip
        return digest(json.dumps(parts, sort_keys=True).encode())

    def twin(self, name: str) -> Retriever:
        """Return a candidate as it was measured in the last round."""
        return self.workshop.built(name)


def round_up(value: float) -> int:
    """Return the least whole number that is not below."""
    return int(np.ceil(value))


def family_bests(trials: list[LearningTrial]) -> list[LearningTrial]:
    """Return the best of each family among those within the limits, best first."""
    best: dict[str, LearningTrial] = {}
    for trial in trials:
        if not trial.refused and (trial.family not in best or trial.quality > best[trial.family].quality):
            best[trial.family] = trial
    return sorted(best.values(), key=lambda trial: -trial.quality)
