"""The paper's Figure 3 (fraction of clicks used) and Table 4 (the base's weight), as rows and as plots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.pefa_collection import Collection
from benchmarks.rows import Row
from vizsla.base.retriever import Retriever
from vizsla.evaluation.plots import plot_curves
from vizsla.methods.dense import Dense
from vizsla.methods.pefa import PefaXl, PefaXs, pefa_xl, pefa_xs

SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.95)
WEIGHTS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
SPLITS = ("test-seen", "test-unseen")
Curves = dict[str, list[tuple[float, float]]]


def clicks_rows(one: Collection, base: Dense, chosen: dict[str, PefaXs | PefaXl], folder: Path | None) -> list[Row]:
    """Return R@10 with a part of the clicks, settings as chosen on all."""
    curves: Curves = {}
    for share in (0.0, *SHARES, 1.0):
        clicks = one.clicks(share)
        for name, system in chosen.items():
            part: Retriever = _again(base, system, clicks) if share else base
            for split in SPLITS:
                curves.setdefault(f"{name}, {split}", []).append((100 * share, one.recall(part, split, k=10)))
    if folder is not None:
        title = f"{one.name}: clicks used (paper: Figure 3)"
        file = folder / f"{one.name}-clicks.png"
        plot_curves(curves, file, xlabel="% of the clicks", ylabel="R@10", title=title, cost=False)
    return _rows(one.name, curves, lambda share: f"{share:.0f} % of the clicks")


def weight_rows(one: Collection, base: Dense, folder: Path | None) -> list[Row]:
    """Return R@100 by the base's weight: the shape of Table 4."""
    curves: Curves = {}
    for weight in WEIGHTS:
        systems = {
            "paper's xs": pefa_xs(base, one.data, weight=weight, calibrated=False),
            "calibrated xs": pefa_xs(base, one.data, weight=weight, calibrated=True),
            "paper's xl, k 32": pefa_xl(
                base, one.data, weight=weight, neighbors=32, votes="mean", near=0.0, threshold=0.0, scale=1.0
            ),
        }
        for name, system in systems.items():
            for split in SPLITS:
                curves.setdefault(f"{name}, {split}", []).append((weight, one.recall(system, split, k=100)))
    if folder is not None:
        title = f"{one.name}: the base's weight (paper: Table 4)"
        file = folder / f"{one.name}-weight.png"
        plot_curves(curves, file, xlabel="weight of the base", ylabel="R@100", title=title, cost=False)
    return _rows(one.name, curves, lambda weight: f"weight {weight:g}, R@100", reference=1.0)


def _again(base: Dense, system: PefaXs | PefaXl, clicks: list[tuple[str, str, float]]) -> Retriever:
    """Build with other clicks and the same settings."""
    if isinstance(system, PefaXl):
        how = system.settings
        return pefa_xl(
            base, clicks, weight=how.weight, neighbors=how.neighbors, votes=how.votes, near=how.near,
            scale=how.scale, threshold=how.threshold,
        )  # fmt: skip
    return PefaXs.build(base, pefa_xs(base, clicks, weight=1.0).log, system.settings)


def _rows(name: str, curves: Curves, said: Callable[[float], str], *, reference: float = 0.0) -> list[Row]:
    rows = []
    for system, points in curves.items():
        base = dict(points)[reference]
        rows += [
            Row(f"{name} {said(x)}, {system}", y, "base", base, "", "", lower_is_better=False)
            for x, y in points
            if x != reference
        ]
    return rows
