"""vizsla index anchors: score anchor queries with an expensive scorer, and make a search under a budget of them."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from vizsla._internal.terminal import working
from vizsla.artifacts.artifact import load
from vizsla.artifacts.manifest import MANIFEST
from vizsla.base.scorer import Scorer
from vizsla.cli.options import add_data, add_output, check_output, load_retriever, open_data
from vizsla.cli.signatures import SignatureOptions
from vizsla.errors import InputError
from vizsla.methods.cur import AnchorScores, adacur, anchor_cost, anncur, residual_cur, score_anchors
from vizsla.methods.cur.anchors import ANCHOR_STRATEGIES, AnchorCost, anchor_queries, still_right
from vizsla.methods.cur.basis_selection import fit_seconds
from vizsla.methods.cur.budgeted import BudgetedSearch
from vizsla.methods.cur.components import check_priors
from vizsla.methods.cur.plan import Plan
from vizsla.scorers.cross_encoder import CrossEncoder

if TYPE_CHECKING:
    from vizsla.base.retriever import Retriever
    from vizsla.data.dataset import Dataset

ANCHORS = SignatureOptions(
    anchor_queries,
    names={"count": "anchors", "how": "choose"},
    choices={"how": tuple(how for how in ANCHOR_STRATEGIES if how != "clusters")},  # which needs an encoder
)
SEARCH = SignatureOptions(
    residual_cur,
    only=("budget", "rounds", "stop", "rank", "ridge", "basis", "storage", "seed", "threads"),
    notes={"storage": "default: float16"},
)
PAPERS = SignatureOptions(adacur, anncur, only=("first_calls", "paper"))
METHODS: dict[str, Callable[..., BudgetedSearch]] = {"residual": residual_cur, "adacur": adacur, "anncur": anncur}
STORAGE = "float16"
"""Of a residual's factors: half the size on the disk."""
MODEL_FILES = ("model.onnx", "config.json")
"""One of them makes a folder that of a model."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the scorer, the retrievers and the anchors."""
    add_data(parser)
    add_output(parser)
    dear = "the expensive scorer: a saved artifact, or a cross-encoder's folder"
    parser.add_argument("--scorer", metavar="PATH", required=True, help=dear)
    parser.add_argument(
        "--prior", metavar="PATH", action="append", default=[], help="a cheap retriever; may be repeated"
    )
    searched = "residual CUR, ADACUR, or ANNCUR; the latter two take one --prior, for their first items"
    parser.add_argument("--method", choices=list(METHODS), default="residual", help=f"{searched} (default: residual)")
    ANCHORS.add_to(parser)
    SEARCH.add_to(parser)
    PAPERS.add_to(parser)
    parser.add_argument("--estimate", action="store_true", help="only say how many calls and hours it will take")


def run(arguments: argparse.Namespace) -> None:
    """Say what it costs, score, fit, save; the same command continues where it was stopped."""
    start, data = perf_counter(), open_data(arguments)
    scorer = _scorer(arguments.scorer, data)
    priors = [load_retriever(path) for path in arguments.prior]
    options = {**SEARCH.given(arguments), **PAPERS.given(arguments)}
    check_priors(priors, scorer.items)  # before a call is paid for
    _check_options(arguments.method, len(priors), options)
    if not arguments.estimate:
        check_output(arguments)
    queries = anchor_queries(data, **ANCHORS.given(arguments))
    plan = Plan(*(options.get(name, SEARCH.options[name].default) for name in ("budget", "rounds")))
    fitting = fit_seconds(queries, scorer.items, priors, plan) if arguments.method == "residual" else 0.0
    fit = f"about {fitting:.0f} seconds more to fit the search to them"
    scores = f"{arguments.output.rstrip('/')}.anchors"
    anchors = _paid_for(scorer, queries, scores)
    cost = AnchorCost(0, 0.0, 0) if anchors else anchor_cost(scorer, queries, scores)
    said = f"{scores} holds these scores already, and they are used again" if anchors else str(cost)
    print(f"{len(queries):,} anchor queries: {said}; {fit}", file=sys.stderr)
    if arguments.estimate:
        return
    if anchors is None:
        anchors = score_anchors(scorer, queries, scores, storage="float32", shard=cost.shard(), overwrite=True)
    with working("fitting"):
        built = _built(arguments.method, scorer, anchors, priors, options)
    built.save(arguments.output, overwrite=arguments.overwrite)
    seconds = perf_counter() - start
    print(f"{arguments.output}: {built!r}, {seconds:.1f} s; the anchors' scores stay in {scores}")


def _check_options(method: str, priors: int, options: dict[str, Any]) -> None:
    """Raise for what the method does not take."""
    known = inspect.signature(METHODS[method]).parameters
    wrong = next((name for name in options if name not in known and name != "threads"), None)
    if wrong is not None:
        flag = f"--{wrong.replace('_', '-')}"
        raise InputError(f"`{flag}` must be left out with `--method {method}`. Got {options[wrong]!r}.")
    if method != "residual" and priors > 1:
        raise InputError(f"`--prior` must be given once at most with `--method {method}`. Got {priors} of them.")


def _built(
    method: str, scorer: Scorer, anchors: AnchorScores, priors: list[Retriever], options: dict[str, Any]
) -> BudgetedSearch:
    if method == "residual":
        return residual_cur(scorer, anchors, priors, **{"storage": STORAGE, **options})
    given = {name: value for name, value in options.items() if name != "threads"}
    return METHODS[method](scorer, anchors, first=priors[0] if priors else None, **given)


def _paid_for(scorer: Scorer, queries: list[str], path: str) -> AnchorScores | None:
    """Return the anchors' scores that an earlier command has paid for, where they are still right."""
    known = load(path) if (Path(path) / MANIFEST).exists() else None
    return known if isinstance(known, AnchorScores) and still_right(known, scorer, queries) else None


def _scorer(path: str, data: Dataset) -> Scorer:
    if not (Path(path) / MANIFEST).exists() and any((Path(path) / name).exists() for name in MODEL_FILES):
        return CrossEncoder(data, path)
    loaded = load(path)
    if not isinstance(loaded, Scorer):
        raise InputError(f"`--scorer` must be a scorer's artifact. Got kind {loaded.kind!r} in {path}.")
    return loaded
