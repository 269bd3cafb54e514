"""fuse: learn on held-out clicks which parts to add, on which scale and with which weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla.base.recipe import builds
from vizsla.base.retriever import DEFAULT_DEPTH, Retriever
from vizsla.compose.weighted_sum import Sum
from vizsla.core.strings import Strings
from vizsla.core.validation import is_iterable, user_stacklevel, validate_args
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError, check_positive
from vizsla.learning.query_mix import QUERY_KINDS
from vizsla.learning.selection import MIN_QUERIES, Choice, ChoiceWarning, Judge, choose
from vizsla.learning.splits import Holdout, TooFewClicksError, draw_holdout
from vizsla.methods.cold_items import ColdItemBoost
from vizsla.methods.fusion.candidate_pool import MEASURE, MEASURED_DEPTH, CandidatePool, make_pool
from vizsla.methods.fusion.result import LearnedFusion
from vizsla.methods.fusion.rules import SignificanceRule, describe_rules, protected, select
from vizsla.methods.fusion.scaling import FusionTrial, ScoreScaling, alone
from vizsla.methods.fusion.weight_search import Search
from vizsla.typing import Float64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Part = Any
"""A Retriever, or a function from a Dataset to one."""
Parts = Sequence[Part] | Mapping[str, Part]
Build = Callable[["Dataset"], Retriever]


def named_parts(parts: Parts) -> tuple[list[str], list[Part]]:
    """Return the parts' names and the parts; without names they are called by what they are.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> named_parts([bm25(["a fig"]), bm25])[0]
    ['Bm25(1 items, lucene, english)', 'bm25']
    """
    if not is_iterable(parts):
        raise InputError(f"`parts` must be a list, or a mapping from names. Got {type(parts).__name__}.")
    given = list(parts.values()) if isinstance(parts, Mapping) else list(parts)
    for part in given:
        if not callable(part):  # retrievers are, too
            kind = type(part).__name__
            raise InputError(f"A part must be a Retriever, or a function from a dataset to one. Got {kind}.")
    if len(given) < 2:
        raise InputError(f"`parts` must be two or more. Got {len(given)}.")
    if isinstance(parts, Mapping):
        return list(Strings.of(list(parts))), given
    return _different([_called(part) for part in given]), given


def part_twin(part: Part, train: Dataset, *, threads: int = 1) -> Retriever:
    """Return the part as it would be had it never seen the clicks that are not in `train`."""
    return part.refit_on(train, threads=threads) if isinstance(part, Retriever) else built_part(part, train)


def built_part(part: Part, dataset: Dataset) -> Retriever:
    """Return a fitted part as it is, and what a function makes of the dataset."""
    built = part if isinstance(part, Retriever) else part(dataset)
    if not isinstance(built, Retriever):
        raise InputError(f"A part's function must return a Retriever. Got {type(built).__name__}.")
    if built.scale == "none":
        raise InputError("A part must give scores. Got a match set: score it with a Scorer (`>>`).")
    return built


def numbered_as(wanted: csr_array, own: Strings, items: Strings) -> csr_array:
    """Return clicks with their columns renumbered from the dataset's items to the parts'."""
    if own == items:
        return wanted
    from scipy.sparse import csr_array

    numbers = items.find_all(own)[wanted.indices]
    if len(numbers) and numbers.min() < 0:
        unknown = own[int(wanted.indices[int(np.argmin(numbers))])]
        raise InputError(f"Every click must be on an item of the parts. Got {unknown!r}.")
    return csr_array((wanted.data, numbers, wanted.indptr), shape=(wanted.shape[0], len(items)))


def _called(part: Part) -> str:
    return str(part) if isinstance(part, Retriever) else getattr(part, "__name__", type(part).__name__)


def _different(names: list[str]) -> list[str]:
    """Number names that occur more than once."""
    return [f"{name} #{at}" if names.count(name) > 1 else name for at, name in enumerate(names, 1)]


EQUAL_WEIGHTS_METHOD = "zscore"
"""How parts are normalized that are added with equal weights: of those that learn nothing, it is mostly the best."""


@builds("fuse", data="dataset", noted=False)
@validate_args
def fuse(
    parts: Parts,
    dataset: Dataset,
    *,
    cold: float | str = "auto",
    depth: int = DEFAULT_DEPTH,
    seed: int = 0,
    threads: int = 1,
) -> Retriever:
    """Combine parts by the weights that are best on held-out clicks; a part may get none, or all of it.

    The answer is an ordinary composition, or the one part that is best alone; its `report` says what was tried and
    how sure the choice is.

    Parameters
    ----------
    parts : sequence, or mapping of names
        Retrievers over one catalog, or functions from a dataset to one, such as `xrlinear`. A fitted part that
        has learned from clicks is built once more without the held-out ones, for the choice only: on clicks that it
        knows, it looks better than it is. One whose `recipe` is unknown must be given as a function.
    dataset : Dataset
        Weights are selected on its clicks, which should be those that the parts have learned from.
    cold : float in [0, 1] or "auto"
        The share of queries to come whose items have no clicks yet; weights are chosen for it. "auto" is what the log
        predicts, by its latest clicks where these have times; see `vizsla.learning.query_mix.predicted_mix`.
    depth : int
        How many candidates each part contributes, at least 10.
    seed : int
        Which clicks are held out for the selection.
    threads : int
        Number of threads; the result does not depend on it.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> from vizsla.methods.bm25 import bm25
    >>> texts = {f"i{n}": f"word{n} word{n % 7}" for n in range(60)}
    >>> log = Dataset.of(texts, clicks=[(f"word{n % 60} {m}", f"i{n % 60}") for n in range(120) for m in "ab"])
    >>> backwards = bm25({name: text[::-1] for name, text in texts.items()})
    >>> fuse([bm25(log), backwards], log)
    Bm25(60 items, lucene, english)
    """
    return learn_fusion(parts, dataset, cold=cold, depth=depth, seed=seed, threads=threads).reported


@validate_args
def learn_fusion(
    parts: Parts,
    dataset: Dataset,
    *,
    cold: float | str = "auto",
    depth: int = DEFAULT_DEPTH,
    seed: int = 0,
    threads: int = 1,
) -> LearnedFusion:
    """Learn a fusion as `fuse` does, and return it with everything that was tried.

    Some searches of the log are held out: repeated, warm and cold ones, weighed by the shares that the log predicts for
    them. Every part is searched once for them, as it would be without their clicks; then normalizations and weights are
    tried. The best part stands unless the lower confidence bound of a sum's gain over it is above 0 overall, and the
    sum is behind it by less than a standard error on each kind of query that makes up a tenth of those to come. Fewer
    parts stand against more in the same way. The gain is measured on queries that the sum was not selected by. Beside a
    part that learns from clicks, items without any may be lifted (`unclicked`), as far as the worse of both kinds gains
    by it.

    Without enough clicks to choose by, the parts are normalized and added with equal weights, with a `ChoiceWarning`.

    Parameters
    ----------
    parts, dataset, cold, depth, seed, threads
        As for `fuse`.
    """
    names, given = named_parts(parts)
    if check_positive("depth", depth) < MEASURED_DEPTH:
        raise InputError(f"`depth` must be at least {MEASURED_DEPTH}, the depth of the measure. Got {depth}.")
    check_positive("threads", threads)
    try:
        fold = draw_holdout(dataset, cold=cold, seed=seed)
    except TooFewClicksError as error:
        return _equal_sum(names, given, dataset, str(error), depth=depth)
    clock = [process_time()]
    twins = [built_part(part_twin(part, fold.train, threads=threads), fold.train) for part in given]
    clock.append(process_time())
    judge = Judge(fold.kinds, fold.mix.shares)
    # Where no part learns from clicks, or one kind of query is missing, nothing says that the others are too low.
    both = min(judge.counts["warm"], judge.counts["cold"]) >= MIN_QUERIES
    learners = [both and twin is not part for twin, part in zip(twins, given, strict=True)]
    pool = _pool(twins, fold, dataset, depth=depth, lift=any(learners), threads=threads)
    clock.append(process_time())
    tried = _tried(pool, judge, learners, [twin.scale for twin in twins])
    trials, measured = list(tried), list(tried.values())
    selected = select(judge, trials, measured)
    best = selected.best
    clock.append(process_time())
    seconds = {name: clock[at + 1] - clock[at] for at, name in enumerate(("refit", "pool", "weights"))}
    return LearnedFusion(
        names,
        choose([_named(trial) for trial in trials], measured, judge, measure=MEASURE, rule=lambda *_: best),
        _gains(names, tried, selected.honest, judge),
        describe_rules(names, trials, measured, selected, mix=fold.mix),
        seconds,
        _composed(trials[best], given, dataset, pool.rules, depth=depth),
    )


def _tried(
    pool: CandidatePool, judge: Judge, learners: list[bool], scales: list[str]
) -> dict[FusionTrial, Float64Array]:
    """Search for sums that lose on no kind of query, and for sums that lose on no common kind."""
    singles = [pool.measured(alone(part, pool.parts)) for part in range(pool.parts)]
    tried: dict[FusionTrial, Float64Array] = {}
    for kinds in dict.fromkeys([protected(judge), judge.common]):
        tried = Search(pool, SignificanceRule.of(judge, singles, kinds=kinds), learners=learners, measured=tried).run(
            scales
        )
    return tried


def _composed(
    trial: FusionTrial, given: list[Part], dataset: Dataset, rules: list[dict[str, ScoreScaling]], *, depth: int
) -> Retriever:
    """Return the sum of parts that know all clicks."""
    fitted: list[Any] = [built_part(part, dataset) if at in trial.used else None for at, part in enumerate(given)]
    lifted = ColdItemBoost.of(dataset, fitted[trial.used[0]].items) if trial.lift else None
    return trial.composed(fitted, rules, depth=depth, lifted=lifted)


def _pool(
    twins: list[Retriever], fold: Holdout, dataset: Dataset, *, depth: int, lift: bool, threads: int
) -> CandidatePool:
    # A sum refuses parts that do not know the same items: better before anything is searched.
    equal = Sum([(1.0, twin.normalized("rank")) for twin in twins])
    wanted = numbered_as(fold.wanted, dataset.item_ids, equal.items)
    without = ColdItemBoost.of(fold.train, equal.items).units == 0 if lift else None
    return make_pool(twins, fold.texts, wanted, depth=depth, unclicked=without, threads=threads)


def _named(trial: FusionTrial) -> dict[str, Any]:
    return {"normalization": trial.how, "weights": list(trial.weights), "lift": trial.lift}


def _gains(
    names: list[str], tried: dict[FusionTrial, Float64Array], values: Float64Array, judge: Judge
) -> list[dict[str, Any]]:
    gains = []
    for at, name in enumerate(names):
        for kind in judge.reported:
            gain = judge.gain(values, tried[alone(at, len(names))], kind)
            gains.append({"part": name, "queries": kind, "gain": gain.mean, "error": gain.error, "p": gain.p})
    return gains


def _equal_sum(names: list[str], given: list[Part], dataset: Dataset, problem: str, *, depth: int) -> LearnedFusion:
    """Return the sum of normalized parts with equal weights, and say that nothing could be chosen."""
    summed = f"the sum of {len(names)} parts by {EQUAL_WEIGHTS_METHOD} with equal weights"
    message = f"{problem} This is {summed}: weigh them yourself, or add clicks."
    warnings.warn(message, ChoiceWarning, stacklevel=user_stacklevel())
    trial = FusionTrial(EQUAL_WEIGHTS_METHOD, (1 / len(given),) * len(given))
    tried = _named(trial) | dict.fromkeys(("all", *QUERY_KINDS), 0.0)
    joined = trial.composed([built_part(part, dataset) for part in given], [{}] * len(given), depth=depth)
    return LearnedFusion(names, Choice(MEASURE, 0, 0, [tried], 0), [], message, {}, joined)
