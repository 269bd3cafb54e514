"""How a plan is written into an artefact, and read from one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vizsla.methods.cur.rounds import Plan

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


def write_plan(writer: ArtifactWriter, plan: Plan, pool_size: int, seed: int) -> None:
    """Record how calls are spent."""
    writer.parameters(budget=plan.budget, rounds=plan.rounds, how=plan.how, epsilon=plan.epsilon)
    writer.parameters(first_calls=plan.first, pool_size=pool_size, seed=seed)


def read_plan(reader: ArtifactReader) -> tuple[Plan, int, int]:
    """Return the plan, the pool's size and the seed."""
    names = {"budget": int, "rounds": int, "how": str, "epsilon": float}
    given = {name: reader.parameter(name, kind) for name, kind in names.items()}
    plan = Plan(**given, first=reader.parameter("first_calls", (int, type(None))))
    return plan, reader.parameter("pool_size", int), reader.parameter("seed", int)
