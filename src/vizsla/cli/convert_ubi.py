"""vizsla convert ubi: clicks of a User Behavior Insights log as a CSV file."""

from __future__ import annotations

import argparse

from vizsla.errors import InputError
from vizsla.io.ubi import read_ubi, write_ubi_clicks
from vizsla.learning.propensity import PositionedClick, position_propensities, unbiased_weights


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add both ends."""
    parser.add_argument("events", metavar="EVENTS", help="the index ubi_events, one JSON object per line")
    parser.add_argument("output", metavar="OUT", help="the CSV file to write: query, item, weight, time, position")
    parser.add_argument(
        "--queries", metavar="FILE", help="the index ubi_queries: texts of events without `user_query`, and answers"
    )
    parser.add_argument(
        "--correct-positions",
        action="store_true",
        help="weigh each click by how seldom its position is looked at; needs --queries with the hits of each answer",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace OUT where it exists")


def run(arguments: argparse.Namespace) -> None:
    """Read, write, and say what was left out."""
    found = read_ubi(arguments.events, arguments.queries)
    clicks, said = found.clicks, ""
    if arguments.correct_positions:
        if not found.shown:
            raise InputError(
                "`--queries` must give what was shown (`query_response_hit_ids`) to correct positions. Got none."
            )
        positioned = [PositionedClick(*click) for click in clicks]
        known = position_propensities(positioned, found.shown)
        weights = unbiased_weights(positioned, known)
        clicks = [click._replace(weight=weight) for click, weight in zip(clicks, weights.tolist(), strict=True)]
        said = f"; looked at, by position: {' '.join(f'{one:.2f}' for one in known)}"
    write_ubi_clicks(clicks, arguments.output, overwrite=arguments.overwrite)
    rest = ", ".join(f"{count:,} {action}" for action, count in sorted(found.left_out.items())) or "none"
    print(f"{arguments.output}: {len(clicks):,} clicks; other events: {rest}{said}")
