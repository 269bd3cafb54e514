"""Draw the picture of docs/methods/pq.md: recall against bytes per item, as printed by `benchmarks.jpq`.

Run `python -m benchmarks.bytes_plot` to write docs/images/quality-bytes.svg again.
"""

from __future__ import annotations

from pathlib import Path

from vizsla.evaluation.plots import plot_points

TARGET = Path(__file__).parents[1] / "docs" / "images" / "quality-bytes.svg"

# R@10 of squad-sent, queries about items with clicks: `python -m benchmarks.jpq`.
POINTS = {
    "OPQ 8": (8.0, 0.579),
    "OPQ 16": (16.0, 0.727),
    "OPQ 48": (48.0, 0.838),
    "JPQ 8": (8.0, 0.775),
    "JPQ 16": (16.0, 0.839),
    "JPQ 24": (24.0, 0.863),
    "JPQ 48": (48.0, 0.884),
    "MiniLM, uncompressed": (1536.0, 0.857),
}


def main() -> None:
    """Write the picture."""
    title = "squad-sent: quality against index size"
    plot_points(POINTS, TARGET, xlabel="bytes per item", ylabel="R@10, items with clicks", title=title)


if __name__ == "__main__":
    main()
