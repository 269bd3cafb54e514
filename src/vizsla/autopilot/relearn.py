"""relearn: choose an engine's default member again by its newest clicks, and swap it only for a sure gain."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from vizsla.autopilot.delivery import Winner
from vizsla.autopilot.fusing import NEW_ITEMS
from vizsla.autopilot.learn import WORK_SUFFIX, choose_search
from vizsla.autopilot.learning_report import LearningReport, signed
from vizsla.autopilot.limits import Limits, seconds_of
from vizsla.autopilot.race import Watch
from vizsla.autopilot.refinements import RememberedVectors
from vizsla.autopilot.rivals import Rival
from vizsla.autopilot.searches import split_log
from vizsla.base.encoder import Encoder
from vizsla.base.recipe import NESTED_SETTINGS, Recipe
from vizsla.base.retriever import Retriever
from vizsla.compose.parser import parse
from vizsla.core.validation import validate_args
from vizsla.data.dataset import Dataset
from vizsla.engine.definitions import COMPOSITE, names_in
from vizsla.engine.engine import Engine
from vizsla.errors import InputError

INCUMBENT = "current member"
HISTORY = "history.jsonl"
"""A line for each time, in the folder beside the engine."""


class Relearned(NamedTuple):
    """What became of it.

    Attributes
    ----------
    swapped : bool
        Whether another member answers now.
    default : str
        The member that answers.
    report : LearningReport
        What was tried, and how the incumbent did on the same searches.
    said : str
        What was done and what has drifted, in sentences.
    """

    swapped: bool
    default: str
    report: LearningReport
    said: str


@validate_args
def relearn(
    engine: Engine,
    *,
    limit: str = "",
    time: str = "10m",
    encoder: Encoder | None = None,
    seed: int = 0,
    threads: int = 1,
    watch: Watch | None = None,
) -> Relearned:
    """Choose again by an engine's clicks; swap the default member if the gain on the newest of them is significant.

    The member that answers now is built from the clicks before the newest tenth, as the candidates are, and measured on
    that tenth. The engine is searched and written meanwhile as always. Members before the swap stay, and a snapshot is
    taken, so `rollback` undoes it.

    Parameters
    ----------
    engine : Engine
        With clicks.
    limit, time, encoder, seed, threads, watch
        As for `learn`.
    """
    dataset = engine.dataset()
    if not dataset.clicks.nnz:
        raise InputError("`engine` must have clicks to choose by. Got none.")
    splits = split_log(dataset, seed=seed)
    name = engine.generation().default
    rival = None
    if name:
        rival = Rival(
            INCUMBENT, dataset, system=incumbent(engine, name, splits.before_report, threads=threads), fair=True
        )
    work = engine.path.with_name(engine.path.name + WORK_SUFFIX)
    work.mkdir(exist_ok=True)
    bindings = {} if encoder is None else {"encoder": RememberedVectors(encoder, work)}
    found = choose_search(
        dataset, splits, rival, limits=Limits.parse(limit), seconds=seconds_of(time), work=work, bindings=bindings,
        seed=seed, threads=threads, watch=watch,
    )  # fmt: skip
    row = next((one for one in found.report.measured if one.name == INCUMBENT), None)
    swapped = row is None or row.behind_low > 0
    default = _swap(engine, found.winner, encoder) if swapped else name
    said = [f"{default} answers now." if swapped else f"{name} stays: nothing is significantly better."]
    if row is not None:
        said.append(f"It had {row.quality:.3f} on the newest searches; the best candidate had "
                    f"{found.report.measured[0].quality:.3f} ({signed(-row.behind)} to it).")  # fmt: skip
        said += _drift(work / HISTORY, row.quality)
    line = {"swapped": swapped, "default": default, "expression": found.report.winner,
            "quality": found.report.measured[0].quality if swapped or row is None else row.quality}  # fmt: skip
    with (work / HISTORY).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    found.report.to_json(work / "report.json")
    found.report.to_html(work / "report.html")
    return Relearned(swapped, default, found.report, " ".join(said))


def incumbent(engine: Engine, name: str, dataset: Dataset, *, threads: int = 1) -> Retriever:
    """Return a member as it would be, built from another dataset's clicks.

    Parameters
    ----------
    engine : Engine
        Whose member.
    name : str
        Which.
    dataset : Dataset
        The same items, with some of the clicks.
    threads : int
        How many to use.
    """
    definitions, built = engine.generation().definitions, dict[str, Retriever]()

    def of(member: str) -> Retriever:
        if member not in built:
            definition = definitions[member]
            if definition.type == COMPOSITE:
                parts = {each: of(each) for each in names_in(definition.expression)}
                built[member] = parse(definition.expression, parts)
            else:
                recipe = Recipe.stored(definition.recipe or {})
                parts = {each: of(each) for each in recipe.members}
                built[member] = recipe.build(dataset, threads=threads, members=parts, bindings=engine.objects)
        return built[member]

    return of(name)


def _swap(engine: Engine, winner: Winner, encoder: Encoder | None) -> str:
    """Add the winner's members under new names, and let it answer."""
    names = [*winner.candidates, NEW_ITEMS, "learned"]
    version = 2
    while any(f"{name}_{version}" in engine.members for name in names):
        version += 1
    renamed = {name: f"{name}_{version}" for name in names}
    engine.snapshot(f"before_learned_{version}")
    for name, candidate in winner.candidates.items():
        changes: dict[str, Any] = {
            key: renamed[value]
            for key, value in candidate.recipe.settings.items()
            if key in NESTED_SETTINGS and isinstance(value, str) and value in renamed
        }
        if encoder is not None and "encoder" in candidate.recipe.settings:
            changes["encoder"] = encoder
        engine.add_member(renamed[name], candidate.recipe.but(**changes))
    expression = winner.plan.expression
    if winner.plan.simple:
        default = renamed[expression]
    else:
        if NEW_ITEMS in expression:
            engine.add_member(renamed[NEW_ITEMS], Recipe.of("cold_item_boost"))
        default = renamed["learned"]
        engine.add_member(default, re.sub(r"[A-Za-z_]\w*", lambda word: renamed.get(word[0], word[0]), expression))
    engine.set_default(default)
    return default


def _drift(history: Any, quality: float) -> list[str]:
    """Return how the incumbent's figure has changed since it was chosen."""
    if not history.exists():
        return []
    last = json.loads(history.read_text(encoding="utf-8").splitlines()[-1])
    drift = signed(quality - last["quality"])
    return [f"When it was last measured it had {last['quality']:.3f}: it drifted by {drift}."]
