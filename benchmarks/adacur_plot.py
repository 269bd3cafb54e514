"""The curves of the benchmark as a picture: a panel a depth, recall against calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

STYLES = {"re-rank": ":", "anncur": "-.", "adacur": "--", "axn": (0, (5, 1)), "residual": "-", "oracle": (0, (1, 3))}


def plot_curves(curves: dict[str, dict[int, list[float]]], depths: Sequence[int], path: Path, *, title: str) -> None:
    """Draw all systems; a family shares its line style."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(depths), figsize=(5 * len(depths), 4.6), sharey=True)
    for at, (depth, panel) in enumerate(zip(depths, panels, strict=True)):
        for number, (name, curve) in enumerate(curves.items()):
            style = STYLES[name.split()[0]]
            wide = 2.2 if name.startswith("residual") else 1.2
            budgets = sorted(curve)
            values = [curve[budget][at] for budget in budgets]
            panel.plot(
                budgets, values, linestyle=style, linewidth=wide, color=f"C{number % 10}", marker=".", label=name
            )
        panel.set(xscale="log", xlabel="calls a query", title=f"top-{depth} recall, {title}", ylim=(0, 1.02))
        panel.set_xticks(sorted(next(iter(curves.values()))), [str(budget) for budget in next(iter(curves.values()))])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    panels[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
