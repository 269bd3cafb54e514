"""vizsla convert ubi: clicks of a User Behavior Insights log as a CSV file."""

from __future__ import annotations

import argparse

from vizsla.io.ubi import read_ubi, write_ubi_clicks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add both ends."""
    parser.add_argument("events", metavar="EVENTS", help="the index ubi_events, one JSON object per line")
    parser.add_argument("output", metavar="OUT", help="the CSV file to write: query, item, weight, time, position")
    parser.add_argument("--queries", metavar="FILE", help="the index ubi_queries, for events without `user_query`")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT where it exists")


def run(arguments: argparse.Namespace) -> None:
    """Read, write, and say what was left out."""
    found = read_ubi(arguments.events, arguments.queries)
    write_ubi_clicks(found.clicks, arguments.output, overwrite=arguments.overwrite)
    rest = ", ".join(f"{count:,} {action}" for action, count in sorted(found.left_out.items())) or "none"
    print(f"{arguments.output}: {len(found.clicks):,} clicks; other events: {rest}")
