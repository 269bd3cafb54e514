"""vizsla engine: keep a live catalog of items and clicks, and search it."""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from vizsla._internal.terminal import escape_control, printable_json, working
from vizsla.artifacts.strict_json import distinct
from vizsla.autopilot.relearn import relearn
from vizsla.base.page import Page
from vizsla.base.queries import Queries
from vizsla.base.recipe import BUILDERS, Recipe
from vizsla.cli.learn import print_progress
from vizsla.cli.options import (
    DATA_HELP,
    READING,
    add_reading,
    named,
    open_items,
    read_clicks,
    read_lines,
    unique_names,
    with_unit,
)
from vizsla.cli.search import (
    add_page_options,
    add_syntax,
    hit_row,
    page_options,
    print_counts,
    print_parents,
    shown_fields,
)
from vizsla.cli.signatures import SignatureOptions
from vizsla.compose.adjustments import adjust
from vizsla.core.candidates import Candidates
from vizsla.core.display import show_answers, show_blocks
from vizsla.core.explanation import Explanation
from vizsla.data.conditions import Condition, where
from vizsla.encoders.open import open_encoder
from vizsla.engine.engine import Engine
from vizsla.engine.sync import OPTIONS, SyncReport
from vizsla.errors import DataError, InputError
from vizsla.io.open import open_dataset

ITEMS_PER_TRANSACTION = 1000
"""Items per transaction of an import: Ctrl-C stops between two."""
WATCH_S = 1.0
"""How long `sync --watch` waits between two looks."""
SYNCING = SignatureOptions(open_dataset, only=(*OPTIONS, "on_error"), metavars=READING.metavars)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the engine, and what this action needs."""
    kind = parser.get_default("kind")
    parser.add_argument("engine", metavar="ENGINE", help="the engine's folder")
    ACTIONS[kind][0](parser)


def run(arguments: argparse.Namespace) -> int:
    """Do it, and say what was done; return the exit code."""
    return ACTIONS[arguments.kind][1](arguments) or 0


def _say(text: str) -> None:
    """Print a line, without what a terminal would obey: names of folders and snapshots may hold it."""
    print(escape_control(text), flush=True)


def _create_options(parser: argparse.ArgumentParser) -> None:
    what = "a member: NAME=KIND, NAME={JSON recipe}, or NAME=EXPRESSION over members that come before; may be repeated"
    parser.add_argument("--member", metavar="NAME=WHAT", action="append", default=[], help=what)
    parser.add_argument("--default", metavar="NAME", help="the member that answers (default: the last one)")
    kinds = "what a field is: number, date, text, list or boolean; may be repeated"
    parser.add_argument("--field", metavar="NAME=KIND", action="append", default=[], help=kinds)


def _create(arguments: argparse.Namespace) -> None:
    members = {name: _member(text) for name, text in unique_names(arguments.member or ["words=bm25"]).items()}
    fields = dict(named(pair) for pair in arguments.field)
    with Engine.create(arguments.engine, members=members, default=arguments.default, metadata=fields) as engine:
        _say(f"{arguments.engine}: members {', '.join(engine.members)}, default {engine.generation().default}")


def _member(text: str) -> Recipe | str:
    if text in BUILDERS:
        return Recipe.of(text)
    if not text.lstrip().startswith("{"):
        return text
    try:
        return Recipe.from_dict(json.loads(text, object_pairs_hook=lambda pairs: _with_encoder(distinct(pairs))))
    except ValueError as error:
        raise InputError(
            f'`--member` must be JSON as {{"recipe": …, "settings": …}}. Got {text!r:.80}: {error}.'
        ) from None


def _with_encoder(values: dict[str, Any]) -> dict[str, Any]:
    """Mark the options of an encoder as a mapping, which recipes tell from recipes by a word."""
    given = values.get("encoder")
    return values if not isinstance(given, dict) else {**values, "encoder": {"mapping": given}}


def _items_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("items", metavar="ITEMS", help=DATA_HELP)
    add_reading(parser)


def _put(arguments: argparse.Namespace) -> None:
    dataset, count = open_items(arguments.items, arguments), 0
    with Engine.open(arguments.engine) as engine, working("storing"):
        act = engine.add if arguments.kind == "add" else engine.upsert
        for batch in _batches(dataset.items):
            count += act(batch)
    done = "added" if arguments.kind == "add" else "stored"
    _say(f"{arguments.engine}: {count:,} {done}, {_count(arguments)} items")


def _count(arguments: argparse.Namespace) -> str:
    with Engine.open(arguments.engine, maintenance="manual") as engine:
        return f"{engine.count():,}"


def _batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    left = iter(items)
    while batch := list(islice(left, ITEMS_PER_TRANSACTION)):
        yield batch


def _delete_options(parser: argparse.ArgumentParser) -> None:
    ids = parser.add_argument("ids", metavar="ID", nargs="+", default=[], help="ids of items")
    ids.required = False
    parser.add_argument("--from", dest="file", metavar="FILE", help="more ids, one a line; '-' is standard input")
    parser.add_argument("--where", metavar="CONDITION", help="all items that fulfill it, such as 'price<5'")
    parser.add_argument("--path", metavar="PATH", help="all items that `sync` has read from this file or folder")
    parser.add_argument("--missing-ok", action="store_true", help="ignore ids that are no items, or a path never read")


def _delete(arguments: argparse.Namespace) -> None:
    ids = [*arguments.ids, *(read_lines(arguments.file) if arguments.file is not None else [])]
    if not ids and arguments.where is None and arguments.path is None:
        raise InputError("At least one id, --where or --path must be given. Got none.")
    unknown = "ignore" if arguments.missing_ok else "raise"
    with Engine.open(arguments.engine) as engine, engine.transaction() as changes:
        before = engine.count()
        if ids:
            changes.delete(ids, unknown=unknown)
        if arguments.path is not None:
            changes.delete(path=arguments.path, unknown=unknown)
        if arguments.where is not None:
            changes.delete(where=_condition(arguments.where))
    with Engine.open(arguments.engine) as engine:
        _say(f"{arguments.engine}: {before - engine.count():,} deleted, {engine.count():,} items")


def _condition(text: str) -> Condition:
    condition: Condition = where(text)
    return condition


def _update_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("item", metavar="ID", nargs="?", help="an item")
    what = "a field and its value; an empty value removes the field"
    parser.add_argument("fields", metavar="FIELD=VALUE", nargs="*", default=[], help=what)
    rows = "many items: a CSV, TSV or JSONL file with a column `id` and the fields to change; '-' reads it"
    parser.add_argument("--from", dest="file", metavar="FILE", help=rows)


def _update(arguments: argparse.Namespace) -> None:
    if (arguments.file is None) == (arguments.item is None) or (arguments.item is not None and not arguments.fields):
        raise InputError("Either ID and FIELD=VALUE or --from FILE must be given. Got both, or less.")
    rows: Iterable[dict[str, Any]] = [{"id": arguments.item, **unique_names(arguments.fields)}]
    with Engine.open(arguments.engine) as engine:
        count, kinds = 0, engine.fields
        for batch in _batches(rows if arguments.file is None else _rows(arguments.file)):
            changes: dict[str, dict[str, Any]] = {}
            for row in batch:
                id = row.pop("id")
                changes[id] = changes.get(id, {}) | {name: _value(each, kinds.get(name)) for name, each in row.items()}
            count += engine.update_metadata(changes)
        _say(f"{arguments.engine}: {count:,} changed")


def _value(given: Any, kind: str | None) -> Any:
    """Return the value of a field: no value for an empty text, and a number where the field has numbers."""
    if given == "":
        return None
    if kind == "number" and isinstance(given, str):
        with suppress(ValueError):
            return json.loads(given)
    return given


def _rows(path: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a CSV, TSV or JSONL file, which must have ids."""
    lines = read_lines(path)
    if lines and lines[0].startswith("{"):
        rows: Iterable[Any] = (_json_row(path, number, line) for number, line in enumerate(lines, 1))
    else:
        rows = csv.DictReader(lines, delimiter="\t" if lines and "\t" in lines[0] else ",", restkey="", restval="")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not isinstance(row.get("id"), str) or "" in row:
            raise DataError("expected a text `id` and a value for each field.", path=path, line=number)
        yield row


def _json_row(path: str, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise DataError(f"expected a JSON object ({error}).", path=path, line=number) from None


def _click_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="?", help="what was asked")
    parser.add_argument("item", metavar="ID", nargs="?", help="the item that was chosen")
    parser.add_argument("--weight", type=float, default=1.0, metavar="W", help="what it weighs (default: 1)")
    parser.add_argument("--clicks", metavar="FILE", help="a log of many: query text, item, weight, time; '-' reads it")
    parser.add_argument("--queries", metavar="FILE", help="query texts, when the clicks name queries by id")
    add_reading(parser)


def _click(arguments: argparse.Namespace) -> None:
    if (arguments.clicks is None) == (arguments.query is None or arguments.item is None):
        raise InputError("Either QUERY and ID or --clicks FILE must be given. Got both or none.")
    with Engine.open(arguments.engine) as engine:
        if arguments.clicks is None:
            count = engine.click(arguments.query, arguments.item, arguments.weight)
        else:
            count = sum(map(engine.clicks, _batches(_known(engine, arguments))))
        _say(f"{arguments.engine}: {count:,} clicks stored")


def _unclick_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--query", metavar="QUERY", help="clicks of this query")
    parser.add_argument("--item", metavar="ID", help="clicks on this item")
    moment = "clicks from before a date or moment, as 2026-11-30 or 2026-11-30T12:00"
    parser.add_argument("--before", metavar="DATE", help=f"{moment}; of several conditions all must hold")


def _unclick(arguments: argparse.Namespace) -> None:
    before = None if arguments.before is None else _date(arguments.before)
    with Engine.open(arguments.engine) as engine:
        count = engine.delete_clicks(query=arguments.query, item=arguments.item, before=before)
    _say(f"{arguments.engine}: {count:,} clicks deleted")


def _date(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"`--before` must be a date, as 2026-11-30 or 2026-11-30T12:00. Got {text!r:.40}.") from None


def _known(engine: Engine, arguments: argparse.Namespace) -> Iterator[tuple[Any, ...]]:
    """Yield the clicks of a log; those on items that are gone are left out and counted, unless they must raise."""
    if getattr(arguments, "dangling", None) == "raise":
        yield from _clicks_of(arguments)
        return
    items, unknown, example = engine.generation().items, 0, ""
    for click in _clicks_of(arguments):
        if not isinstance(click[1], str) or items.find(click[1]) >= 0:
            yield click
        else:
            unknown, example = unknown + 1, example or click[1]
    if unknown:
        said = f"{unknown:,} clicks of {arguments.clicks} left out: unknown item, for example {example!r:.80}"
        print(escape_control(f"vizsla: warning: {said}"), file=sys.stderr)


def _clicks_of(arguments: argparse.Namespace) -> Iterator[tuple[Any, ...]]:
    """Yield the clicks of a log; JSONL and standard input, which may be JSONL or CSV, are read here."""
    path = str(arguments.clicks)
    if path != "-" and not path.endswith(".jsonl"):
        yield from _logged(read_clicks(arguments))
        return
    lines = read_lines(path)
    if lines and not lines[0].startswith("{"):
        with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8") as file:
            file.write("\n".join(lines))
            file.flush()
            arguments.clicks = file.name
            yield from list(_logged(read_clicks(arguments)))
        return
    for number, line in enumerate(lines, 1):
        try:
            known = json.loads(line)
            yield known["query"], known["item"], known.get("weight"), known.get("time")
        except (ValueError, TypeError, KeyError, AttributeError):
            problem = 'expected an object with "query" and "item", and perhaps "weight" and "time".'
            raise DataError(problem, path=path, line=number) from None


def _logged(clicks: Any) -> Iterator[tuple[Any, ...]]:
    """Yield clicks with the texts of their queries; with times, where the log has any."""
    if not hasattr(clicks, "events"):
        yield from clicks
        return
    texts, ids = [query.text for query in clicks.queries], clicks.item_ids
    if clicks.events is not None:
        for query, item, weight, moment in zip(*clicks.events, strict=True):
            yield texts[query], ids[int(item)], float(weight), float(moment)
        return
    matrix = clicks.clicks.tocoo()
    for query, item, weight in zip(matrix.row, matrix.col, matrix.data, strict=True):
        yield texts[query], ids[int(item)], float(weight)


def _search_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="?", help="what to search for")
    parser.add_argument("--similar", metavar="ID", help="find what is most like this item, in place of a query")
    parser.add_argument("-k", type=int, default=10, metavar="N", help="how many hits (default: 10)")
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="leave out the first hits (default: 0)")
    parser.add_argument("--where", metavar="CONDITION", help="only items that fulfill it, such as 'price<5'")
    parser.add_argument("--using", metavar="NAME", default="", help="the member that answers (default: the engine's)")
    add_syntax(parser)
    parser.add_argument("--explain", action="store_true", help="say why each item is there")
    add_page_options(parser)
    parser.add_argument("--show", metavar="FIELDS", help="a table with these columns, in place of a block per hit")
    parser.add_argument("--json", action="store_true", help="one JSON object per hit; one in all with facets and such")


def _search(arguments: argparse.Namespace) -> None:
    alike = arguments.similar is not None
    if alike == (arguments.query is not None) or (alike and (arguments.offset or page_options(arguments))):
        raise InputError("`query` must be given, or --similar ID without options of a page. Got both, or neither.")
    if alike and arguments.explain:
        raise InputError("`--explain` must be given with a query. Got --similar.")
    asked = None if arguments.where is None else _condition(arguments.where)
    # What was paid for the answer to these queries serves the reasons.
    query: Any = Queries([arguments.query]) if arguments.explain else arguments.query
    named = {"where": asked, "using": arguments.using, "syntax": arguments.syntax}
    with Engine.open(arguments.engine, maintenance="manual") as engine:
        page = None
        if alike:
            member = engine.member(arguments.using) if arguments.using else engine
            found = member.similar(arguments.similar, arguments.k, where=asked)
        elif options := page_options(arguments):
            page = engine.page(query, arguments.k, offset=arguments.offset, **named, **options)
            found = page.candidates
        else:
            found = engine.search(query, arguments.k, offset=arguments.offset, **named)
        reasons: list[Explanation] = []
        fields = shown_fields(arguments.show)
        if arguments.explain:
            member = engine.member(arguments.using) if arguments.using else engine
            how = {"where": asked, "syntax": arguments.syntax}
            reasons = [member.explain(query, id, **how) for id in found.ids[0]]
        if arguments.json:
            _print_json(found, page, reasons, arguments.offset, fields)
            return
        shown: dict[str, Any] = {"k": arguments.k, "offset": arguments.offset}
        found = found.with_query_ids([arguments.similar if alike else arguments.query])
        others = [] if page is None else [hit.more for hit in page]
        if fields is not None:
            show_answers(found, **shown, others=others, fields=fields)
        else:
            show_blocks(found, **shown, others=others)
        for hint in found.hints:
            _say(hint)
        if page is not None:
            print_counts(page)
            print_parents(page)
        for id, reason in zip(found.ids[0], reasons, strict=False):
            _say(f"\n{id}\n{reason}")


def _print_json(
    found: Candidates, page: Page | None, reasons: list[Explanation], offset: int, fields: list[str] | None
) -> None:
    if page is not None:
        shown = page.to_dict(fields)
        for hit, reason in zip(shown.get("hits", ()), reasons, strict=False):
            hit["why"] = reason.to_dict()
        print(printable_json(json.dumps(shown, ensure_ascii=False)))
        return
    for at, (hit, known) in enumerate(zip(found[0], found.metadata(0, fields), strict=True)):
        row = {"rank": offset + at + 1, **hit_row(hit), "metadata": known}
        why = {"why": reasons[at].to_dict()} if reasons else {}
        print(printable_json(json.dumps(row | why, ensure_ascii=False)))


def _adjust_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="synonyms, signals and rules, in JSON or TOML; or synonyms alone")
    parser.add_argument(
        "--using", metavar="NAME", default="", help="whose answers are adjusted (default: the engine's)"
    )
    name = "what the adjusted member is called; one of this name is replaced (default: adjusted)"
    parser.add_argument("--name", metavar="NAME", default="adjusted", help=name)
    parser.add_argument("--default", action="store_true", help="let it answer unless another member is named")


def _adjust(arguments: argparse.Namespace) -> None:
    with Engine.open(arguments.engine) as engine:
        base = arguments.using or engine.generation().default
        if base == arguments.name and not arguments.using:  # adjusted anew
            base = engine.generation().definitions[base].needs[0]
        made = adjust(engine.member(base), arguments.file)
        engine.add_member(arguments.name, made, replace=True)
        if arguments.default:
            engine.set_default(arguments.name)
    _say(f"{arguments.engine}: {arguments.name} is {base} with {made.adjustments}")


def _sync_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a folder of documents, a document, or a file of items")
    parser.add_argument("--watch", action="store_true", help="look again every second, until Ctrl-C")
    SYNCING.add_to(parser.add_argument_group("how data are read"))


def _sync(arguments: argparse.Namespace) -> None:
    options = with_unit(SYNCING.given(arguments))
    with Engine.open(arguments.engine) as engine:
        with working("reading"):
            report = engine.sync(arguments.path, **options)
        told = _tell_sync(arguments, report, None)
        while arguments.watch:
            time.sleep(WATCH_S)
            try:
                report = engine.sync(arguments.path, **options) if Path(arguments.path).exists() else _absent(arguments)
            except DataError as error:  # it may be half written
                report = SyncReport(left_out=(str(error),))
            told = _tell_sync(arguments, report, told)


def _absent(arguments: argparse.Namespace) -> SyncReport:
    return SyncReport(left_out=(f"{arguments.path} is not there; nothing is deleted",))


def _tell_sync(arguments: argparse.Namespace, report: SyncReport, before: SyncReport | None) -> SyncReport:
    """Print what was done, if anything was or this is the first report, and what is newly left out."""
    for said in report.left_out:
        if before is None or said not in before.left_out:
            print(escape_control(f"vizsla: {said}"), file=sys.stderr, flush=True)
    if report.added or report.changed or report.deleted or before is None:
        _say(f"{arguments.engine}: {report}")
    return report


def _none(parser: argparse.ArgumentParser) -> None:
    """Add nothing."""


def _compact_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--erase", action="store_true", help="leave nothing of deleted items and clicks on the disk")


def _compact(arguments: argparse.Namespace) -> None:
    with Engine.open(arguments.engine) as engine, working("merging"):
        engine.compact(erase=arguments.erase)
    _say(f"{arguments.engine}: {_count(arguments)} items in one segment")


LEARNING = SignatureOptions(relearn, metavars={"limit": "AMOUNTS", "time": "TIME"}, notes={"limit": "default: none"})


def _learn_options(parser: argparse.ArgumentParser) -> None:
    LEARNING.add_to(parser)
    parser.add_argument("--encoder", metavar="MODEL", help="a dense encoder to try: a folder or a hub id")


def _learn(arguments: argparse.Namespace) -> None:
    encoder = None if arguments.encoder is None else open_encoder(arguments.encoder)
    with Engine.open(arguments.engine) as engine:
        found = relearn(engine, encoder=encoder, watch=print_progress, **LEARNING.given(arguments))
    found.report.show()
    _say(found.said)


def _rebuild_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("member", metavar="NAME", nargs="?", help="which (default: all that are built whole)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="how many to use (default: 1)")


def _rebuild(arguments: argparse.Namespace) -> None:
    with Engine.open(arguments.engine) as engine, working("building"):
        engine.rebuild(arguments.member, threads=arguments.threads)
    _say(f"{arguments.engine}: rebuilt {arguments.member or 'all members that are built whole'}")


def _members_options(parser: argparse.ArgumentParser) -> None:
    what = "NAME=KIND, NAME={JSON recipe}, or NAME=EXPRESSION over members that are there; may be repeated"
    parser.add_argument("--add", metavar="NAME=WHAT", action="append", default=[], help=what)
    drop = "a member that no other is made of; may be repeated"
    parser.add_argument("--drop", metavar="NAME", action="append", default=[], help=drop)
    parser.add_argument("--default", metavar="NAME", help="the member that answers unless another is named")


def _members(arguments: argparse.Namespace) -> None:
    with Engine.open(arguments.engine) as engine, working("building"):
        for name, text in unique_names(arguments.add).items():
            engine.add_member(name, _member(text))
        if arguments.default is not None:
            engine.set_default(arguments.default)
        for name in arguments.drop:
            engine.drop_member(name)
        default = engine.generation().default
        for name, shown in engine.members.items():
            _say(f"{name}  {shown}{'  (default)' if name == default else ''}")


def _name_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the snapshot")


def _snapshot(arguments: argparse.Namespace) -> None:
    with Engine.open(arguments.engine) as engine:
        engine.snapshot(arguments.name) if arguments.kind == "snapshot" else engine.rollback(arguments.name)
    _say(f"{arguments.engine}: {arguments.kind} {arguments.name}")


def _log_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object per line")


def _log(arguments: argparse.Namespace) -> None:
    """Print the history, or the snapshots."""
    with Engine.open(arguments.engine, maintenance="manual") as engine:
        rows = engine.history() if arguments.kind == "history" else engine.snapshots()
    for row in rows:
        if arguments.json:
            print(printable_json(json.dumps(row, ensure_ascii=False)))
        else:
            moment = datetime.fromtimestamp(row["time"]).strftime("%Y-%m-%d %H:%M:%S")
            _say("  ".join([moment, *(str(row[name]) for name in ("action", "detail", "name") if name in row)]))


def _check_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repair", action="store_true", help="make damaged segments anew from the catalog")


def _check(arguments: argparse.Namespace) -> int:
    with Engine.open(arguments.engine) as engine:
        problems = engine.check(repair=arguments.repair)
    for problem in problems:
        _say(problem)
    _say(f"{arguments.engine}: {len(problems)} problems" if problems else f"{arguments.engine}: sound")
    return int(bool(problems))


def _stats(arguments: argparse.Namespace) -> None:
    with Engine.open(arguments.engine, maintenance="manual") as engine:
        print(json.dumps(engine.stats(), indent=2))


def _backup_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FOLDER", required=True, help="the new folder")


def _backup(arguments: argparse.Namespace) -> None:
    with Engine.open(arguments.engine) as engine, working("copying"):
        engine.backup(Path(arguments.output))
    _say(f"{arguments.output}: a copy of {arguments.engine}")


def _restore(arguments: argparse.Namespace) -> None:
    with working("copying"), Engine.restore(arguments.engine, arguments.output, maintenance="manual") as engine:
        _say(f"{arguments.output}: {engine.count():,} items of {arguments.engine}")


Action = tuple[Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], Any]]
ACTIONS: dict[str, Action] = {
    "create": (_create_options, _create),
    "add": (_items_options, _put),
    "upsert": (_items_options, _put),
    "delete": (_delete_options, _delete),
    "update": (_update_options, _update),
    "click": (_click_options, _click),
    "unclick": (_unclick_options, _unclick),
    "search": (_search_options, _search),
    "adjust": (_adjust_options, _adjust),
    "sync": (_sync_options, _sync),
    "compact": (_compact_options, _compact),
    "learn": (_learn_options, _learn),
    "rebuild": (_rebuild_options, _rebuild),
    "members": (_members_options, _members),
    "snapshot": (_name_options, _snapshot),
    "snapshots": (_log_options, _log),
    "rollback": (_name_options, _snapshot),
    "history": (_log_options, _log),
    "check": (_check_options, _check),
    "stats": (_none, _stats),
    "backup": (_backup_options, _backup),
    "restore": (_backup_options, _restore),
}
