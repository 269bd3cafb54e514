"""vizsla index anchors: score anchor queries with an expensive scorer, and make a search under a budget of them."""

from __future__ import annotations

import argparse
import sys
from time import perf_counter

from vizsla.artifact import load
from vizsla.cli.options import add_data, add_output, check_output, load_retriever, open_data
from vizsla.errors import InputError
from vizsla.scorer import Scorer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the scorer, the retrievers and the anchors."""
    from vizsla.methods.cur.anchor_queries import HOW
    from vizsla.methods.cur.factors import STORAGES

    add_data(parser)
    add_output(parser)
    parser.add_argument("--scorer", metavar="PATH", required=True, help="the expensive scorer, a saved artefact")
    parser.add_argument(
        "--prior", metavar="PATH", action="append", default=[], help="a cheap retriever; may be repeated"
    )
    parser.add_argument("--anchors", type=int, default=200, metavar="N", help="anchor queries (default: 200)")
    parser.add_argument(
        "--choose", default="random", choices=[how for how in HOW if how != "clusters"], help="how they are chosen"
    )
    parser.add_argument("--budget", type=int, default=100, metavar="N", help="calls a query (default: 100)")
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="of a search (default: 10)")
    parser.add_argument("--storage", default="float16", choices=list(STORAGES), help="of factors (default: float16)")
    parser.add_argument("--estimate", action="store_true", help="only say how many calls and hours it will take")
    parser.add_argument("--seed", type=int, default=0, help="fixes what is random (default: 0)")
    parser.set_defaults(build=build)


def build(arguments: argparse.Namespace) -> None:
    """Say what it costs, score, fit, save; the same command continues where it was stopped."""
    from vizsla.methods.cur import anchor_cost, residual_cur, score_anchors
    from vizsla.methods.cur.anchor_queries import anchor_queries
    from vizsla.methods.cur.fit_cost import fit_seconds
    from vizsla.methods.cur.prior import check_priors
    from vizsla.methods.cur.rounds import Plan

    start, scorer = perf_counter(), _scorer(arguments.scorer)
    priors = [load_retriever(path) for path in arguments.prior]
    check_priors(priors, scorer.items)  # before a call is paid for
    if not arguments.estimate:
        check_output(arguments)
    queries = anchor_queries(open_data(arguments), arguments.anchors, how=arguments.choose, seed=arguments.seed)
    plan = Plan(arguments.budget, arguments.rounds)
    fit = f"about {fit_seconds(queries, scorer.items, priors, plan):.0f} seconds more to fit the search to them"
    print(f"{len(queries):,} anchor queries: {anchor_cost(scorer, queries)}; {fit}", file=sys.stderr)
    if arguments.estimate:
        return
    scores = f"{arguments.output.rstrip('/')}.anchors"
    anchors = score_anchors(scorer, queries, scores, storage="float32", overwrite=True)
    options = {"budget": arguments.budget, "rounds": arguments.rounds}
    built = residual_cur(scorer, anchors, priors, storage=arguments.storage, seed=arguments.seed, **options)
    built.save(arguments.output, overwrite=arguments.overwrite)
    seconds = perf_counter() - start
    print(f"{arguments.output}: {built!r}, {seconds:.1f} s; the anchors' scores stay in {scores}")


def _scorer(path: str) -> Scorer:
    loaded = load(path)
    if not isinstance(loaded, Scorer):
        raise InputError(f"`--scorer` must be a scorer's artefact. Got kind {loaded.kind!r} in {path}.")
    return loaded
