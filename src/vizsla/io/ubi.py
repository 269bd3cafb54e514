"""User Behavior Insights (UBI) 1.3: events of a search page as clicks.

An event says what a user did with an answer. Those whose action is a click, a purchase or a similar choice, and that
name an item, are clicks; impressions and other events are counted and left out. A query is named by its text
(`user_query`), or by the `query_id` of the answer.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from vizsla.core.validation import as_path
from vizsla.errors import DataError, InputError
from vizsla.io.atomic import writing
from vizsla.io.interactions import timestamp_of

CHOICES = {
    "click": 1.0,
    "item_click": 1.0,
    "click_through": 1.0,
    "result_click": 1.0,
    "product_click": 1.0,
    "view_item": 1.0,
    "add_to_cart": 2.0,
    "purchase": 3.0,
}
"""The weight of each action that is a choice, in lower case; others are not clicks."""


class UbiClick(NamedTuple):
    """One choice: the query's text, the item, its weight, the time and the position where these are known."""

    query: str
    item: str
    weight: float
    time: float | None
    position: int | None


def click_of(event: Mapping[str, Any], text_of: Callable[[str], str | None]) -> UbiClick | None:
    """Return the click that an event reports; None where it is no choice of an item.

    Parameters
    ----------
    event : mapping
        An event as in UBI's schema.
    text_of : function
        Returns the text of a query by its id, or None.

    Examples
    --------
    >>> event = {"action_name": "click", "user_query": "fig", "event_attributes": {"object": {"object_id": "f1"}}}
    >>> click_of(event, {}.get)
    UbiClick(query='fig', item='f1', weight=1.0, time=None, position=None)
    """
    if not isinstance(event, Mapping) or not isinstance(event.get("action_name"), str):
        raise InputError("A UBI event must be an object with an `action_name`. Got something else.")
    weight = CHOICES.get(event["action_name"].lower())
    attributes = event.get("event_attributes")
    attributes = attributes if isinstance(attributes, Mapping) else {}
    chosen, position = attributes.get("object"), attributes.get("position")
    item = chosen.get("object_id") if isinstance(chosen, Mapping) else None
    if weight is None or item is None:
        return None
    text, query_id = event.get("user_query"), event.get("query_id")
    if not isinstance(text, str) or not text:
        text = text_of(query_id) if isinstance(query_id, str) else None
    if text is None:
        raise InputError(
            f"A UBI event must have a `user_query`, or the `query_id` of a recent answer. Got {query_id!r:.80}."
        )
    place = position.get("ordinal") if isinstance(position, Mapping) else None
    moment = event.get("timestamp")
    time = None if moment is None else timestamp_of(str(moment))
    if moment is not None and time is None:
        raise InputError(f"`timestamp` must be ISO 8601 or seconds since 1970. Got {moment!r:.60}.")
    whole = isinstance(place, int) and not isinstance(place, bool) and place > 0
    return UbiClick(text, str(item), weight, time, place if whole else None)


class UbiReport(NamedTuple):
    """What was read of a UBI log.

    Attributes
    ----------
    clicks : list of UbiClick
        The choices.
    left_out : dict of str to int
        How many events of each action were left out.
    shown : dict of (str, str, int) to int
        How often an item was shown for a query's text at a position: from the answers in `ubi_queries`.
    """

    clicks: list[UbiClick]
    left_out: dict[str, int]
    shown: dict[tuple[str, str, int], int]


def read_ubi(events: str | Path, queries: str | Path | None = None) -> UbiReport:
    """Return the clicks of a UBI log.

    Parameters
    ----------
    events : path
        The index `ubi_events`, one JSON object per line.
    queries : path, optional
        The index `ubi_queries`, one JSON object per line: the texts of events that name their query by id alone, and
        the items of each answer (`query_response_hit_ids`) in their order.
    """
    texts: dict[str, str] = {}
    shown = Counter[tuple[str, str, int]]()
    for line, query in _objects(as_path(queries, "queries")) if queries is not None else ():
        if not isinstance(query.get("query_id"), str) or not isinstance(query.get("user_query"), str):
            raise DataError("a query must have `query_id` and `user_query` as texts.", path=queries, line=line)
        text = texts[query["query_id"]] = query["user_query"]
        hits = query.get("query_response_hit_ids")
        shown.update((text, str(item), place) for place, item in enumerate(hits if isinstance(hits, list) else [], 1))
    clicks, left_out = [], Counter[str]()
    for line, event in _objects(as_path(events, "events")):
        try:
            click = click_of(event, texts.get)
        except InputError as error:
            remedy = "" if queries is not None else "Give the file of queries, too."
            raise DataError(str(error), path=events, line=line, remedy=remedy) from None
        if click is None:
            left_out[event["action_name"]] += 1
        else:
            clicks.append(click)
    return UbiReport(clicks, dict(left_out), dict(shown))


def write_ubi_clicks(clicks: list[UbiClick], path: str | Path, *, overwrite: bool = False) -> None:
    """Write clicks as a CSV file with the columns that click logs are read by, and the position."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["query", "item", "weight", "time", "position"])
    for click in clicks:
        time = "" if click.time is None else f"{click.time:.3f}"
        table.writerow([click.query, click.item, f"{click.weight:g}", time, click.position or ""])
    with writing(as_path(path), overwrite=overwrite) as out:
        out.write(text.getvalue().encode())


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataError(f"a line must be JSON: {error}.", path=path, line=number) from None
            if not isinstance(value, dict):
                raise DataError("a line must be a JSON object.", path=path, line=number)
            yield number, value
