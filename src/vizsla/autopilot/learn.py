"""learn: from items and clicks to the best search within limits, without naming a method."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from vizsla._internal.terminal import abbreviate
from vizsla.autopilot.delivery import Winner, as_engine, as_stored, lock_of, locked_winner, read_lock
from vizsla.autopilot.fusing import PartPool, SearchPlan
from vizsla.autopilot.learning_report import (
    LearningReport,
    measured_system,
    regressions_of,
    shrinkage,
    slices_of,
)
from vizsla.autopilot.limits import Limits, SearchCost, measured_cost, seconds_of
from vizsla.autopilot.log_summary import LogSummary
from vizsla.autopilot.proposals import BASELINE, Candidate, Workshop, own_encoder, proposed
from vizsla.autopilot.race import ProgressStage, Race, Watch, family_bests
from vizsla.autopilot.refinements import (
    BUDGETS,
    RERANKED,
    SCORER,
    RememberedVectors,
    best_signal,
    budgeted_candidates,
    reranked_plans,
    signal_candidates,
)
from vizsla.autopilot.rivals import Rival, rival_of
from vizsla.autopilot.searches import LearningSplits, newest_clicks, split_log
from vizsla.autopilot.sidr_candidate import SIDR, model_bindings, sidr_plan
from vizsla.autopilot.trials import LearningTrial, TrialStore, data_digest
from vizsla.autopilot.without_clicks import (
    SAID,
    TAUGHT,
    Standing,
    held_queries,
    pseudo_searches,
    teaching,
    unjudged_plans,
)
from vizsla.base.encoder import Encoder
from vizsla.base.placement import Placement
from vizsla.base.recipe import Recipe
from vizsla.base.scorer import Scorer
from vizsla.core.validation import as_path, check_type, validate_args
from vizsla.data.dataset import Dataset
from vizsla.encoders.persistence import given_encoder
from vizsla.errors import InputError, VizslaError
from vizsla.learning.query_mix import text_numbers
from vizsla.typing import Float64Array

MAX_PARTS = 5
"""So many candidates, the best of their families, may be fused."""
HOPELESS = 0.25
"""A family below this share of the best one's quality is no part of a fusion, unless it knows repeated queries."""
MAX_SCORED = 300
"""So many searches choose and report where a scorer takes part: its calls are dear."""
CURVE_SHARES = (0.25, 0.5)
"""Shares of the clicks, the newest, that the best part learns from again to see what more of them would bring."""
WORK_SUFFIX = ".learn"
"""Beside the engine or artifact: trials, report and lock."""


class Finalist(NamedTuple):
    """What may win: a plan, what it is worth on the searches that choose, and what it costs."""

    plan: SearchPlan
    values: Float64Array
    cost: SearchCost
    refused: str


@validate_args
def learn(
    dataset: Dataset,
    path: str | Path | None = None,
    *,
    limit: str = "",
    time: str = "10m",
    encoder: Encoder | None = None,
    scorer: Scorer | None = None,
    model: str | Path | None = None,
    against: Any = None,
    artifact: bool = False,
    runners_up: bool = False,
    replay: str | Path | None = None,
    seed: int = 0,
    threads: int = 1,
    watch: Watch | None = None,
    on: Placement | None = None,
) -> Any:
    """Find the best search for these items and clicks, within limits, and say how good it is.

    The log is split by time into clicks to learn from, searches to choose by, and searches to report on, which are
    opened once; a log without times by query. Methods are tried by successive halving, and the best of each family are
    fused. Of candidates that are equal to within noise the cheapest is taken.

    Parameters
    ----------
    dataset : Dataset
        Items and clicks. Without clicks nothing can be judged; then words and vectors, if there is an encoder, are
        added with equal weights, or where that is over the limit, tokens that the model taught; the report says so.
    path : path, optional
        A new folder for an engine whose default member is the winner. Trials, report and lock are written beside it,
        in `PATH.learn`. Without it the winner is returned as a retriever in memory.
    limit : str
        What a search may cost on this machine, such as "5 ms, 200 bytes/item, 50 calls"; times are 95th percentiles.
    time : str
        How long to search, such as 90s, 10m or 1h.
    encoder : Encoder, optional
        A dense encoder to try; without one, latent semantic analysis of the items.
    scorer : Scorer, optional
        Scores pairs of a query and an item, such as a cross-encoder over the items' texts: re-ranking by it is tried.
        An engine searches by its members alone, and a scorer cannot be one: this needs `artifact` or no `path`.
    model : path, optional
        The folder of a BERT-like checkpoint with its tokenizer: SiDR is trained on it, as far as the time allows.
    against : Retriever, run or path, optional
        What is used today: a retriever, an artifact, or a TREC run by query ids or texts. The report says to keep it if
        nothing is surely better.
    artifact : bool
        Save an artifact in place of an engine.
    runners_up : bool
        Keep the other candidates of the last round as members of the engine.
    replay : path, optional
        A lock file of an earlier run: build its winner again, without searching.
    seed : int
        Seed of all random numbers.
    threads : int
        How many to use.
    watch : callable, optional
        Is told of every trial.
    on : Placement, optional
        Where trials are made, several at a time. Milliseconds are then those of machines that do other work, too.

    Returns
    -------
    Engine or Retriever
        The winner; its `report` says why.

    Examples
    --------
    >>> items = {f"i{n}": f"word{n} thing{n % 9}" for n in range(60)}
    >>> log = [(f"nick{n % 60}", f"i{n % 60}", 1.0, 86400.0 * n) for n in range(1200)]
    >>> found = learn(Dataset.of(items, clicks=log), time="60s")
    >>> found("nick7").ids[0][0], found.report.measured[0].quality > 0.9
    ('i7', True)
    """
    start, limits, seconds = perf_counter(), Limits.parse(limit), seconds_of(time)
    check_type("dataset", dataset, Dataset, "a Dataset")
    if on is not None:
        check_type("on", on, Placement, "a Placement")
    target = None if path is None else as_path(path)
    if target is not None and target.exists():
        raise InputError(f"`path` must be new. Got {target}, which is there: choose another.")
    if target is None and (artifact or runners_up):
        raise InputError("`path` must be given for an artifact or an engine. Got none.")
    if scorer is not None and target is not None and not artifact:
        raise InputError(
            "`artifact` must be given with a `scorer`: an engine searches by its members alone, and a scorer, which is "
            "bound to the items that it was made of, cannot be one. Got a path alone."
        )
    work = None if target is None else _work_folder(target)
    bindings: dict[str, Any] = {} if scorer is None else {SCORER: scorer}
    if model is not None:
        bindings |= model_bindings(model)
    if encoder is not None:
        bindings["encoder"] = RememberedVectors(encoder, work) if on is None else encoder  # a file does not travel
    if replay is not None:
        lock = read_lock(replay)
        winner = locked_winner(lock, dataset)
        if encoder is None:
            bindings |= own_encoder(dataset, winner.candidates)
        return _delivered(
            winner, dataset, target, artifact, {}, bindings, threads, lock["seed"], None, expected=lock["digest"]
        )
    if not dataset.clicks.nnz:
        winner, report = _unjudged(dataset, limits, seconds, bindings, seed, threads)
        return _delivered(winner, dataset, target, artifact, {}, bindings, threads, seed, report)
    splits = split_log(dataset, seed=seed)
    if scorer is not None:
        splits = splits.sampled(MAX_SCORED, seed)
    found = choose_search(
        dataset, splits, rival_of(against, dataset), limits=limits, seconds=seconds, work=work,
        bindings=bindings, seed=seed, threads=threads, watch=watch, on=on,
    )  # fmt: skip
    report = found.report
    report.seconds = perf_counter() - start
    others = found.others if runners_up else {}
    if watch is not None:
        watch(ProgressStage("building the winner on all clicks", seconds - report.seconds))
    return _delivered(found.winner, dataset, target, artifact, others, bindings, threads, seed, report)


def choose_search(
    dataset: Dataset,
    splits: LearningSplits,
    rival: Rival | None,
    *,
    limits: Limits,
    seconds: float,
    work: Path | None = None,
    bindings: Mapping[str, Any] | None = None,
    seed: int = 0,
    threads: int = 1,
    watch: Watch | None = None,
    on: Placement | None = None,
) -> ChosenSearch:
    """Choose a search by a log, and report on it; what `learn` does before it builds the winner on everything.

    Parameters
    ----------
    dataset : Dataset
        All items and clicks.
    splits : LearningSplits
        Its parts.
    rival : Rival, optional
        What is used today.
    limits : Limits
        What a search may cost.
    seconds : float
        How long to search.
    work : Path, optional
        The folder where trials are kept.
    bindings : mapping, optional
        Live objects by name: "encoder", "scorer", and for SiDR "model" and "analyzer".
    seed, threads, watch, on
        As for `learn`.
    """
    given, stop = dict(bindings or {}), perf_counter() + seconds
    candidates = proposed(splits.learn, encoder=given.get("encoder")) | signal_candidates(dataset)
    notes = list[str]()
    if "model" in given:
        sidr = sidr_plan(splits.learn, given, seconds, seed=seed)
        if sidr.candidate is None:
            notes.append(f"{SIDR} was left out: {sidr.said}.")
        else:
            candidates[SIDR] = sidr.candidate
    with TrialStore(None if work is None else work / "trials.sqlite") as store:
        race = Race(
            candidates, splits, limits=limits, store=store, seconds=stop - perf_counter(),
            digest_of_data=data_digest(dataset),
            bindings=given, seed=seed, threads=threads, watch=watch, on=on,
        )  # fmt: skip
        return _Choice(dataset, race, limits, rival, seed, threads, notes).made()


def _work_folder(target: Path) -> Path:
    work = target.with_name(target.name + WORK_SUFFIX)
    work.mkdir(parents=True, exist_ok=True)
    return work


def _unjudged(
    dataset: Dataset, limits: Limits, seconds: float, bindings: Mapping[str, Any], seed: int, threads: int
) -> tuple[Winner, LearningReport]:
    """Choose without clicks, by what is best without labels, and say that nothing was judged."""
    start, encoder = perf_counter(), bindings.get("encoder")
    candidates = {BASELINE: Candidate(BASELINE, "words", Recipe.of("bm25"))}
    if encoder is not None:
        candidates = proposed(dataset, encoder=encoder)
    # As an engine would read it back: with the same items the same tokens are taught again.
    workshop = Workshop(as_stored(dataset), candidates, bindings=bindings, threads=threads)
    if (taught := teaching(workshop, seconds, seed=seed, threads=threads)) is not None:
        workshop.candidates = candidates = {**candidates, TAUGHT: taught.candidate}
    taught_items = 0 if taught is None else taught.items
    searches = pseudo_searches(dataset, held_queries(dataset, taught_items, seed=seed))
    answers = {}
    finalists: list[Finalist] = []
    for plan in unjudged_plans(candidates):
        built = Winner.of(plan, candidates).composed(workshop)
        answers[plan.expression] = searches.answers(built, threads=threads)
        cost = measured_cost(built, searches.texts, calls=0, seed=seed)
        values = searches.measure(answers[plan.expression])
        finalists.append(Finalist(plan, values, cost, limits.exceeded(cost)))
    notes = []
    if taught is not None:
        teacher = searches.answers(taught.teacher, threads=threads)
        for at, one in enumerate(finalists):
            if TAUGHT in one.plan.parts:
                told = f"{'Tokens' if one.plan.simple else 'Words with tokens'} taught by {taught.said}"
                own = answers[one.plan.expression]
                standing = Standing.of(searches, own, answers[BASELINE], teacher, told)
                notes.append(standing.said)
                if not standing.stands:
                    finalists[at] = one._replace(refused=one.refused or "no clear gain over words")
    chosen = next((one for one in finalists if not one.refused), None)
    if chosen is None:
        raise InputError(f"`limit` must be one that BM25 keeps. Got {limits}.")
    rows = [
        measured_system(
            " + ".join(one.plan.parts), one.plan.expression, searches, one.values,
            chosen.values, cost=one.cost,
        )
        for one in sorted(finalists, key=lambda one: one is not chosen)
    ]  # fmt: skip
    split = {"by": "no clicks", "learn_clicks": 0, "choose_searches": 0, "report_searches": len(searches)}
    winner = Winner.of(chosen.plan, candidates)
    recipes = {name: each.recipe.to_dict() for name, each in winner.candidates.items()}
    report = LearningReport(
        " ".join([SAID.format(chosen.plan.expression), *notes]), chosen.plan.expression, recipes,
        LogSummary.of(dataset).to_dict(), split, str(limits), [],
        [_finalist_said(one, searches.quality(one.values), False) for one in finalists], rows, 0.0, 0.0, 0.0, [], [],
        seconds=perf_counter() - start,
    )  # fmt: skip
    return winner, report


def _finalist_said(one: Finalist, quality: float, equal: bool) -> dict[str, Any]:
    return {
        "expression": one.plan.expression, "quality": quality, "refused": one.refused,
        "ms": None if np.isnan(one.cost.ms) else one.cost.ms, "bytes_per_item": one.cost.bytes_per_item,
        "calls": one.cost.calls, "equal": equal,
    }  # fmt: skip


class ChosenSearch(NamedTuple):
    """What was chosen, why, and the settled candidates beside it."""

    winner: Winner
    report: LearningReport
    others: dict[str, Candidate]


class _Choice:
    """Chooses among what a race has tried, and reports."""

    def __init__(
        self,
        dataset: Dataset,
        race: Race,
        limits: Limits,
        rival: Rival | None,
        seed: int,
        threads: int,
        notes: list[str],
    ):
        self._dataset, self._race, self._limits, self._rival = dataset, race, limits, rival
        self._seed, self._threads = seed, threads
        self._splits: LearningSplits = race.splits
        self._notes = notes

    def made(self) -> ChosenSearch:
        """Run the race, fuse, choose and report."""
        trials = self._race.run()
        if self._race.stopped:
            self._notes.append(f"The search for candidates was stopped {self._race.stopped}.")
        self._notes += [f"{name} was left out: {said}" for name, said in self._race.left_out.items()]
        finalists = self._singles(trials)
        curve: list[dict[str, float]] = []
        try:
            finalists += self._fused(trials)
            finalists += self._refined(finalists)
            curve = self._curve(trials)
        except KeyboardInterrupt:
            self._notes.append("Fusing was stopped by Ctrl-C.")
        chosen, equal = self._chosen(finalists)
        return self._reported(chosen, equal, finalists, trials, curve)

    def _singles(self, trials: list[LearningTrial]) -> list[Finalist]:
        return [Finalist(SearchPlan(one.name, (one.name,)), one.values, one.cost, one.refused) for one in trials]

    def _fused(self, trials: list[LearningTrial]) -> list[Finalist]:
        """Return sums of the best of each family, from two parts on."""
        bests = family_bests(trials)
        if not bests:
            return []
        least = HOPELESS * bests[0].quality
        parts = [one.name for one in bests if one.quality >= least or one.family == "memory"][:MAX_PARTS]
        if len(parts) < 2:
            return []
        race, choose = self._race, self._splits.choose
        race.say(f"fusing {', '.join(parts)}")
        twins = {name: race.twin(name) for name in parts}
        pool = PartPool(twins, choose, self._splits.learn, threads=self._threads)
        found = []
        for trial in pool.grown(maximum=MAX_PARTS)[1:]:
            found.append(self._finalist(pool.plan(trial)))
        return found

    def _finalist(self, plan: SearchPlan) -> Finalist:
        """Measure a plan on the searches that choose."""
        choose, built = self._splits.choose, Winner.of(plan, self._race.candidates).composed(self._race.workshop)
        answers = choose.answers(built, threads=self._threads)
        calls = answers.stats.model_calls / max(len(answers), 1)
        cost = measured_cost(built, choose.texts, calls=calls, seed=self._seed, timed=self._limits.ms is not None)
        values = choose.measure(answers)
        self._race.say(f"{abbreviate(plan.expression)} nDCG@10 {choose.quality(values):.3f}, {cost}")
        return Finalist(plan, values, cost, self._limits.exceeded(cost))

    def _refined(self, finalists: list[Finalist]) -> list[Finalist]:
        """Return the best finalist with a signal, where that surely helps, and the best of all re-ranked."""
        race, choose, found = self._race, self._splits.choose, list[Finalist]()

        def best() -> SearchPlan:
            allowed = [one for one in [*finalists, *found] if not one.refused] or finalists
            return max(allowed, key=lambda one: choose.quality(one.values)).plan

        signals = {name: race.twin(name) for name, one in race.candidates.items() if one.family == "signals"}
        plan = best()
        built = Winner.of(plan, race.candidates).composed(race.workshop)
        if (more := best_signal(plan, built, signals, choose, threads=self._threads)) is not None:
            found.append(self._finalist(more))
        if SCORER in race.bindings:
            found += self._scored(best())
        return found

    def _scored(self, plan: SearchPlan) -> list[Finalist]:
        """Return the plan with its best re-ranked, and searches by the scorer under a budget, while there is time."""
        race, found = self._race, list[Finalist]()
        scorer, items = race.bindings[SCORER], len(self._dataset.items)
        budgeted = budgeted_candidates(plan, race.candidates, scorer, items)
        race.candidates |= budgeted
        plans = [(depth, one) for depth, one in zip(RERANKED, reranked_plans(plan), strict=True)]
        plans += [(budget, SearchPlan(name, (name,))) for budget, name in zip(BUDGETS, budgeted, strict=False)]
        texts, each, late = len(set(self._splits.choose.texts)), 0.0, list[str]()
        for calls, one in plans:
            if each * calls * texts > race.left:
                late.append(one.expression)
                continue
            start = perf_counter()
            try:
                found.append(self._finalist(one))
            except VizslaError as error:  # such as a scorer without all items
                self._notes.append(f"{one.expression} was left out: {error}")
                continue
            each = max(each, (perf_counter() - start) / (calls * texts))
        if late:
            told = f": the scorer takes {1000 * each:.1f} ms per call" if each else ""
            self._notes.append(f"There was no time for {', '.join(late)}{told}.")
        return found

    def _curve(self, trials: list[LearningTrial]) -> list[dict[str, float]]:
        """Return what the best part that learns is worth after shares of the clicks, as far as the time allows."""
        race, splits = self._race, self._splits
        learners = [one for one in trials if race.candidates[one.name].learns and not one.refused]
        if not learners or race.stopped:
            return []
        best = max(learners, key=lambda one: one.quality)
        total, points = splits.learn_clicks, []
        for share in CURVE_SHARES:
            if best.seconds * share > race.left / 2:
                continue
            workshop = race.workshop_over(newest_clicks(splits.learn, round(share * total)))
            values = splits.choose.measure(splits.choose.answers(workshop.built(best.name), threads=self._threads))
            points.append({"clicks": round(share * total), "quality": splits.choose.quality(values)})
        return [*points, {"clicks": total, "quality": best.quality}] if points else []

    def _chosen(self, finalists: list[Finalist]) -> tuple[Finalist, list[Finalist]]:
        """Return the cheapest of those that are equal to the best to within a standard error, and all of these."""
        allowed = [one for one in finalists if not one.refused]
        if not allowed:
            nearest = min(finalists, key=lambda one: one.cost.bytes)
            raise InputError(
                f"`limit` must be one that some candidate keeps. Got {self._limits}: {nearest.plan.expression} "
                f"takes {nearest.cost}."
            )
        choose = self._splits.choose
        best = max(allowed, key=lambda one: choose.quality(one.values))
        gaps = {id(one): choose.interval(best.values - one.values) for one in allowed}
        equal = [one for one in allowed if gaps[id(one)].mean <= gaps[id(one)].error]
        cheapest = min(equal, key=lambda one: (one.cost.calls, len(one.plan.parts), one.cost.bytes))
        return cheapest, equal

    def _reported(
        self,
        chosen: Finalist,
        equal: list[Finalist],
        finalists: list[Finalist],
        trials: list[LearningTrial],
        curve: list[dict[str, float]],
    ) -> ChosenSearch:
        """Build the chosen one and its rivals on all clicks before the report split, and open that once."""
        self._race.say(f"building {abbreviate(chosen.plan.expression)} for the report")
        settled = self._settled(trials)
        splits, choose, report = self._splits, self._splits.choose, self._splits.report
        workshop = Workshop(splits.before_report, settled, bindings=self._race.bindings, threads=self._threads)
        of_name = {one.plan.expression: one for one in finalists}
        singles = [name for name in dict.fromkeys([*chosen.plan.parts, BASELINE]) if name in of_name]
        plans = [chosen.plan, *(SearchPlan(name, (name,)) for name in singles)]
        plans += [
            one.plan
            for one in finalists
            if one.plan != chosen.plan and one.plan.expression in chosen.plan.expression and not one.plan.simple
        ]  # what was refined
        answers, values = {}, {}
        for plan in {plan.expression: plan for plan in plans}.values():
            found = report.answers(Winner.of(plan, settled).composed(workshop), threads=self._threads)
            answers[plan.expression], values[plan.expression] = found, report.measure(found)
        winner, kept = chosen.plan, ""
        for plan in plans[1:]:
            gain = report.interval(values[plan.expression] - values[winner.expression])
            if gain.low > 0 and not of_name[plan.expression].refused:
                kept = f"{plan.expression} is returned: it reports {gain.mean:.3f} more than what was chosen."
                winner = plan
        own = values[winner.expression]
        rows = [
            measured_system(
                expression if len(expression) < 24 else "learned", expression, report, each, own,
                chosen=choose.quality(of_name[expression].values), cost=of_name[expression].cost,
            )
            for expression, each in sorted(values.items(), key=lambda pair: pair[0] != winner.expression)
            if expression in of_name
        ]  # fmt: skip
        rival_row = None
        baseline = (values[BASELINE], answers[BASELINE])
        if self._rival is not None:
            baseline = self._rival.measured(report)
            rival_row = measured_system(self._rival.name, "what is used today", report, baseline[0], own)
            rows.append(rival_row)
            if self._rival.note:
                self._notes.append(self._rival.note)
        keep = rival_row is not None and rival_row.behind_low <= 0
        moved = shrinkage(choose, of_name[winner.expression].values, report, own)
        counts = self._click_counts(splits.before_report)
        said = self._said(winner, equal, rows, moved, kept, keep)
        made = LearningReport(
            said, winner.expression,
            {name: each.recipe.to_dict() for name, each in Winner.of(winner, settled).candidates.items()},
            LogSummary.of(self._dataset).to_dict(), self._split_said(), str(self._limits),
            [trial.to_dict() for trial in self._race.tried],
            [_finalist_said(one, choose.quality(one.values), any(one is each for each in equal)) for one in finalists],
            rows, moved.mean, moved.low, moved.high, slices_of(report, counts, own, baseline[0]),
            regressions_of(report, self._dataset, (own, answers[winner.expression]), baseline), self._notes,
            curve=curve, advice=self._advice(of_name[winner.expression], finalists, curve),
        )  # fmt: skip
        final = {trial.name for trial in trials}
        others = {name: each for name, each in settled.items() if name in final}
        needed: dict[str, Candidate] = {}
        for name in others:
            needed |= Winner.of(SearchPlan(name, (name,)), settled).candidates
        return ChosenSearch(Winner.of(winner, settled), made, needed)

    def _advice(self, winner: Finalist, finalists: list[Finalist], curve: list[dict[str, float]]) -> list[str]:
        """Return what would be needed to gain more, in sentences."""
        said, choose = [], self._splits.choose
        refused = [one for one in finalists if one.refused]
        if refused:
            best = max(refused, key=lambda one: choose.quality(one.values))
            gain = choose.interval(best.values - winner.values)
            if gain.low > 0:
                said.append(
                    f"A wider limit: {best.plan.expression} takes {best.refused} and gives {gain.mean:.3f} more."
                )
        if len(curve) > 1:
            last = curve[-1]["quality"] - curve[-2]["quality"]
            clicks = f"{curve[-2]['clicks']:,} to {curve[-1]['clicks']:,} clicks"
            said.append(
                f"More clicks: the best part gained {last:.3f} from {clicks}; twice as many may bring about as much."
                if last > 0.005
                else f"More clicks would hardly help: the best part gained {last:.3f} from {clicks}."
            )
        if "encoder" not in self._race.bindings:
            said.append("A model: no encoder was given. `--encoder MODEL` adds dense vectors.")
        if SCORER not in self._race.bindings:
            said.append("Re-ranking: no scorer was given. `--scorer MODEL` tries a cross-encoder on the best hits.")
        return said

    def _settled(self, trials: list[LearningTrial]) -> dict[str, Candidate]:
        """Return the candidates with the settings that they have chosen for themselves."""
        known = dict(self._race.candidates)
        for trial in trials:
            workshop = self._race.workshop
            if trial.name in workshop:
                known[trial.name] = known[trial.name]._replace(recipe=workshop.settled(trial.name))
        return known

    def _split_said(self) -> dict[str, Any]:
        splits = self._splits
        return {
            "by": splits.by, "learn_clicks": int(splits.learn.clicks.nnz), "choose_searches": len(splits.choose),
            "report_searches": len(splits.report), "report_mix": splits.report.mix.shares,
        }  # fmt: skip

    @staticmethod
    def _click_counts(dataset: Dataset) -> Mapping[str, float]:
        texts, number = text_numbers(dataset)
        totals = np.bincount(number, dataset.clicks.sum(axis=1), minlength=len(texts))
        return dict(zip(texts, totals.tolist(), strict=True))

    def _said(
        self, winner: SearchPlan, equal: list[Finalist], rows: list[Any], moved: Any, kept: str, keep: bool
    ) -> str:
        first = rows[0]
        said = [
            f"{winner.expression}: nDCG@10 {first.quality:.3f} ({first.low:.3f} to {first.high:.3f}) on "
            f"{len(self._splits.report):,} searches that nothing was chosen by, opened once."
        ]
        if kept:
            said.append(kept)
        families = {name: self._race.candidates[name].family for name in winner.parts}
        if not winner.simple:
            said.append(f"Its parts: {', '.join(f'{name} ({family})' for name, family in families.items())}.")
        others = [one.plan.expression for one in equal if one.plan != winner]
        if others and not kept:
            said.append(f"{len(others)} more were equal to within noise, and not cheaper: {', '.join(others)}.")
        said += [f"{row.name} has {row.quality:.3f}: {row.verdict}." for row in rows[1:] if row.name != first.name]
        said.append(
            f"From the searches that chose it to these its figure changed by {-moved.mean:+.3f} "
            f"({-moved.high:+.3f} to {-moved.low:+.3f})."
        )
        if keep:
            said.append("Keep what you have: what was learned is not surely better.")
        return " ".join(said)


def _delivered(
    winner: Winner,
    dataset: Dataset,
    target: Path | None,
    artifact: bool,
    others: Mapping[str, Candidate],
    bindings: Mapping[str, Any],
    threads: int,
    seed: int,
    report: LearningReport | None,
    *,
    expected: str = "",
) -> Any:
    """Build the winner on all clicks, and put it where it was asked for, with its report and lock beside it."""
    workshop = Workshop(as_stored(dataset), winner.candidates, bindings=bindings, threads=threads)
    composed = winner.composed(workshop)
    encoder = bindings.get("encoder")
    vectors = encoder if isinstance(encoder, RememberedVectors) else None
    if vectors is not None:
        composed = given_encoder(composed, vectors.encoder)
    lock = lock_of(winner, dataset, composed, seed=seed)
    if expected and lock["digest"] != expected:
        raise InputError(
            f"`replay` must give the digest of the lock ({expected}). Got {lock['digest']}: give the same "
            "`encoder`, and use the versions that the lock names."
        )
    if report is not None:
        report.lock = lock
    made: Any = composed
    if target is not None:
        _write_beside(target, lock, report)
        if artifact:
            composed.save(target)
        else:
            made = _stored_engine(winner, dataset, target, others, vectors)
    if made is composed:
        made = object.__new__(type(composed))
        made.__dict__.update(vars(composed))
    made.report = report
    return made


def _stored_engine(
    winner: Winner,
    dataset: Dataset,
    target: Path,
    others: Mapping[str, Candidate],
    vectors: RememberedVectors | None,
) -> Any:
    """Return the engine; where it is not finished, nothing is left of it, so that the path is new the next time."""
    try:
        return as_engine(winner, dataset, target, others=others, vectors=vectors)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise


def _write_beside(target: Path, lock: dict[str, Any], report: LearningReport | None) -> None:
    work = _work_folder(target)
    (work / "lock.json").write_text(json.dumps(lock, indent=1) + "\n", encoding="utf-8")
    if report is not None:
        report.to_json(work / "report.json")
        report.to_html(work / "report.html")
