"""Tables and figures of the papers, measured with `paper=True` on our collections.

    python -m benchmarks.paper_tables NAME [--write]

NAME is one of `TABLES`; `--write` puts the table into `benchmarks/results/paper-tables.md`. Nothing is chosen on test
queries: every setting of a grid is shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.corpus import data_folder
from benchmarks.pefa_collection import Collection
from vizsla._internal.terminal import markdown_table
from vizsla.data.dataset import Dataset
from vizsla.evaluation.significance import mean_interval, p_values
from vizsla.typing import Float64Array

PAGE = Path(__file__).with_name("results") / "paper-tables.md"
SPLITS = ("test-seen", "test-unseen")
DEPTHS = (10, 100, 1000)


@dataclass(frozen=True)
class PaperTable:
    """A measured table.

    Parameters
    ----------
    header : list of str
        Names of the columns.
    cells : list of lists of str
        The rows.
    notes : list of str
        What stands below it: differences between rows, with their significance.
    """

    header: list[str]
    cells: list[list[str]]
    notes: Sequence[str] = ()

    def to_markdown(self) -> str:
        """Return the table and its notes."""
        return "\n".join([markdown_table(self.header, self.cells), *(f"\n{note}" for note in self.notes)])


def tested(what: str, ours: Float64Array, theirs: Float64Array) -> str:
    """Return the mean difference of two systems over the same queries, with its 95 % interval and p-value."""
    gaps = ours - theirs
    low, high = mean_interval(gaps)
    p = p_values(gaps[:, None])[0]
    return f"{what}: {gaps.mean():+.3f} ({low:+.3f} to {high:+.3f}), p = {p:.4f}, {len(gaps)} queries."


def recalls(data: Dataset, system: Any, split: str, depths: Sequence[int]) -> Float64Array:
    """Return the share of each query's items among the best so many: queries × depths."""
    judged, found = data.qrels(split), system(data.query_texts(split)[1], k=max(depths))
    rows = np.flatnonzero(np.diff(judged.indptr))
    wanted = [judged.indices[judged.indptr[row] : judged.indptr[row + 1]] for row in rows]
    lists = [found.row(at)[0] for at in range(len(wanted))]
    pairs = list(zip(wanted, lists, strict=True))
    return np.array([[np.isin(items, row[:depth]).mean() for depth in depths] for items, row in pairs])


def shown(values: Sequence[float] | Float64Array) -> list[str]:
    """Return numbers as the tables have them."""
    return [f"{value:.3f}".removeprefix("0") for value in values]


def pefa_4(name: str) -> PaperTable:
    """Table 4: λ for XS, λ and k for XL, to the letter."""
    from vizsla.methods.pefa import pefa_xl, pefa_xs

    one = Collection(name)
    base, cells = one.base(), []
    found: dict[str, dict[str, Float64Array]] = {}

    def add(label: list[str], system: Any) -> None:
        each = {split: recalls(one.data, system, split, DEPTHS) for split in SPLITS}
        found[" ".join(label).strip()] = each
        cells.append(label + [cell for split in SPLITS for cell in shown(each[split].mean(axis=0))])

    add(["MiniLM", "", ""], base)
    for weight in (0.1, 0.3, 0.5, 0.7, 0.9):
        add(["XS", f"{weight:g}", ""], pefa_xs(base, one.data, weight=weight, paper=True))
    for weight in (0.1, 0.3, 0.5, 0.7, 0.9):
        for neighbors in (16, 32, 64):
            system = pefa_xl(base, one.data, weight=weight, neighbors=neighbors, paper=True)
            add(["XL", f"{weight:g}", str(neighbors)], system)
    header = ["", "λ", "k", *(f"{split.removeprefix('test-')} R@{depth}" for split in SPLITS for depth in DEPTHS)]
    notes = [
        tested(f"{name} against MiniLM, {split.removeprefix('test-')} R@{depth}", ours[split][:, at], theirs)
        for name, ours in found.items()
        if name in ("XS 0.5", "XL 0.1 32")
        for split in SPLITS
        for at, depth in enumerate(DEPTHS[:2])
        for theirs in (found["MiniLM"][split][:, at],)
    ]
    return PaperTable(header, cells, notes)


def xrlinear_2(name: str) -> PaperTable:
    """Table 2: n-gram features of the preset, BM25 with the paper's k1 and b, and the light DSSM."""
    from vizsla import xrlinear
    from vizsla.learning import train_dssm
    from vizsla.methods.bm25 import bm25
    from vizsla.methods.dense import dense
    from vizsla.text.ngrams import NgramTfidf

    data = Dataset.open(data_folder() / name)
    asked, cells = data.query_texts("train")[1], []
    found: dict[str, dict[str, Float64Array]] = {}

    def add(label: str, build: Callable[[], Any]) -> None:
        start = process_time()
        system = build()
        used = f"{process_time() - start:.0f}"
        each = found[label] = {split: recalls(data, system, split, (10, 50, 100)) for split in SPLITS}
        cells.append([label, used] + [cell for split in SPLITS for cell in shown(each[split].mean(axis=0))])

    features = {
        "unigrams": {"bigrams": 0, "trigrams": 0},
        "unigrams, bigrams": {"trigrams": 0},
        "unigrams, bigrams, character trigrams": {},
    }
    for label, kinds in features.items():
        encoder = NgramTfidf.fit(asked, **kinds)  # type: ignore[arg-type]
        add(f"XR-Linear, {label}", lambda encoder=encoder: xrlinear(data, encoder=encoder, paper=True))
    add("XR-Linear, defaults", lambda: xrlinear(data))
    add("BM25 (k1 .5, b .45)", lambda: bm25(data, k1=0.5, b=0.45))
    add("BM25, defaults", lambda: bm25(data))
    add("DSSM (n-gram bags)", lambda: dense(data, train_dssm(data)))
    header = ["", "CPU s", *(f"{split.removeprefix('test-')} R@{depth}" for split in SPLITS for depth in (10, 50, 100))]
    notes = [
        tested(
            f"{ours} against {theirs}, {split.removeprefix('test-')} R@10", found[ours][split][:, 0], other[split][:, 0]
        )
        for ours in (f"XR-Linear, {list(features)[-1]}", "XR-Linear, defaults")
        for theirs, other in found.items()
        if theirs.startswith(("BM25", "DSSM"))
        for split in SPLITS
    ]
    return PaperTable(header, cells, notes)


def xrlinear_3(name: str) -> PaperTable:
    """Table 3: pruning thresholds of the preset; Table 4: its beams."""
    from vizsla import xrlinear
    from vizsla.methods.xrlinear.model import prune

    data = Dataset.open(data_folder() / name)
    model, cells = xrlinear(data, paper=True, threshold=0.0), []
    by_threshold, by_beam = {}, {}
    for threshold in (0.1, 0.2, 0.3, 0.35, 0.4, 0.45):
        pruned = prune(model, threshold)
        found = by_threshold[threshold] = recalls(data, pruned, "test-seen", (10, 50, 100))
        cells.append([f"ε {threshold:g}", "10", f"{pruned.nbytes / 1e6:.1f}", *shown(found.mean(axis=0))])
    model = prune(model, 0.1)
    for beam in (1, 5, 10, 15, 20, 50, 75, 100):
        found = by_beam[beam] = recalls(data, model.with_effort(beam), "test-seen", (10, 50, 100))
        cells.append(["ε 0.1", str(beam), f"{model.nbytes / 1e6:.1f}", *shown(found.mean(axis=0))])
    notes = [
        tested("ε 0.3 against 0.1, R@10", by_threshold[0.3][:, 0], by_threshold[0.1][:, 0]),
        tested("beam 10 against 50, R@100", by_beam[10][:, 2], by_beam[50][:, 2]),
    ]
    return PaperTable(["pruning", "beam", "MB", "R@10", "R@50", "R@100"], cells, notes)


def late_world() -> tuple[Any, Any, Any]:
    """Return late interaction over 2,000 items of squad-sent, its scorer, and what makes so many of its anchors."""
    from benchmarks.adacur_replay import Replay
    from benchmarks.adacur_worlds import Wish, late_squad
    from vizsla.core.strings import Strings
    from vizsla.methods.cur import AnchorScores

    world = late_squad(Wish(items=2000))
    asked = world.asked
    scorer = Replay(Strings.of(world.items), asked.texts, world.scores)

    def anchors(count: int) -> AnchorScores:
        rows = {asked.texts[row]: row for row in asked.part("anchors")[:count]}  # two of them may ask the same
        return AnchorScores.of(scorer.items, rows, world.scores[list(rows.values())], storage="float32")

    return world, scorer, anchors


def _top(world: Any, system: Any, part: Sequence[int], budget: int) -> Float64Array:
    from vizsla.methods.cur.plan import best_places

    texts = [world.asked.texts[row] for row in part]
    found = system(texts, k=budget)
    shares = [
        [np.isin(best_places(world.scores[row], depth), found.row(at)[0]).mean() for depth in (1, 10, 100)]
        for at, row in enumerate(part)
    ]
    return np.array(shares)


def adacur_3(budget: int) -> PaperTable:
    """Figures 2, 3 and 6, and Q_train: rounds; TopK, SoftMax and Random; anchor queries; ANNCUR's nine splits."""
    from vizsla.compose.budgeted import rerank
    from vizsla.methods.cur import adacur, anncur

    world, scorer, anchors = late_world()
    part, cells = list(world.asked.part("testing"))[:100], []
    first, shares = world.minilm, {}

    def add(label: list[str], system: Any) -> None:
        found = shares[" ".join(label[:3]).strip()] = _top(world, system, part, budget)
        cells.append([*label, *shown(found.mean(axis=0))])

    add(["MiniLM, re-ranked", "", "", ""], rerank(first, scorer, budget=budget))

    for how in ("topk", "softmax", "random"):
        for rounds in (2, 5, 10, 20):
            made = adacur(scorer, anchors(500), budget=budget, rounds=rounds, how=how, paper=True)
            add(["ADACUR", how, str(rounds), "500"], made)
    for rounds in (2, 5, 10, 20):
        made = adacur(scorer, anchors(500), budget=budget, rounds=rounds, first=first, paper=True)
        add(["ADACUR, MiniLM first", "topk", str(rounds), "500"], made)
    for count in (100, 200):
        add(["ADACUR", "topk", "5", str(count)], adacur(scorer, anchors(count), budget=budget, paper=True))
    for tenths in range(1, 10):
        calls = max(1, tenths * budget // 10)
        made = anncur(scorer, anchors(500), budget=budget, anchor_items=calls, paper=True)
        add([f"ANNCUR, split .{tenths}", "random", "", "500"], made)
        made = anncur(scorer, anchors(500), budget=budget, first=first, first_calls=calls, paper=True)
        add([f"ANNCUR, MiniLM's, split .{tenths}", "", "", "500"], made)
    random = max((f"ANNCUR, split .{tenths} random" for tenths in range(1, 10)), key=lambda n: shares[n][:, 1].mean())
    pairs = [("ADACUR topk 5", random), ("ADACUR, MiniLM first topk 5", "MiniLM, re-ranked")]
    notes = [
        tested(f"{ours} rounds against {theirs}, top {depth}", shares[ours][:, at], shares[theirs][:, at])
        for ours, theirs in pairs
        for at, depth in enumerate((1, 10, 100))
    ]
    return PaperTable(["", "how", "rounds", "anchor queries", "top 1", "top 10", "top 100"], cells, notes)


def adacur_7(budget: int) -> PaperTable:
    """Figure 7: the mean error of the estimates by exact rank; the oracles of C.2 by ε and k_m."""
    from benchmarks.adacur_oracle import estimates, oracle_recalls
    from vizsla.methods.cur.factors import Factors

    world, _, _ = late_world()
    part = list(world.asked.part("testing"))[:100]
    known, exact = world.scores[list(world.asked.part("anchors"))], world.scores[part]
    factors, cells = Factors.of(known), []
    for how in ("random", "topk", "softmax"):
        for epsilon in (0.0, 0.25, 0.5, 0.75) if how != "random" else (0.0,):
            for masked in (0, 1, 10, 100) if how != "random" else (0,):
                settings = {"how": how, "epsilon": epsilon, "masked": masked}
                found = oracle_recalls(known, exact, budget=budget, depths=(1, 10, 100), **settings)  # type: ignore[arg-type]
                errors = []
                for row, scores in enumerate(exact):
                    guessed, _ = estimates(factors, scores, row, budget // 2, **settings)  # type: ignore[arg-type]
                    order = np.argsort(-scores, kind="stable")
                    gaps = np.abs(guessed - scores)[order]
                    errors.append([gaps[:10].mean(), gaps[10:100].mean(), gaps[100:].mean()])
                means = np.mean(errors, axis=0)
                cells.append([how, f"{epsilon:g}", str(masked), *shown(found), *(f"{mean:.2f}" for mean in means)])
    header = ["anchor items", "ε", "k_m", "top 1", "top 10", "top 100", "error 1-10", "11-100", "rest"]
    return PaperTable(header, cells)


def adacur_stop(budget: int) -> PaperTable:
    """The stopping rule, which the paper does not have: calls and recall by `stop`, on tuning and on test queries."""
    from vizsla.methods.bm25 import bm25
    from vizsla.methods.cur import adacur, residual_cur

    world, scorer, anchors = late_world()
    known, cells = anchors(500), []
    priors = [world.minilm, bm25(world.items)]
    for stop in (None, 4.0, 3.0, 2.0, 1.5, 1.0, 0.5):
        systems = {
            "ADACUR, MiniLM first": adacur(scorer, known, budget=budget, first=world.minilm, stop=stop),
            "residual CUR": residual_cur(scorer, known, priors, budget=budget, stop=stop),
        }
        for name, system in systems.items():
            row = [name, "" if stop is None else f"{stop:g}"]
            for part in ("tuning", "testing"):
                asked = list(world.asked.part(part))
                calls = system([world.asked.texts[at] for at in asked], k=10).stats.model_calls / len(asked)
                row += [f"{calls:.1f}", *shown(_top(world, system, asked, budget).mean(axis=0)[:2])]
            cells.append(row)
    parts = [f"{part}: {what}" for part in ("tuning", "test") for what in ("calls", "top 1", "top 10")]
    return PaperTable(["", "stop", *parts], sorted(cells, key=lambda row: row[0]))


TABLES: dict[str, tuple[str, Callable[[], PaperTable]]] = {
    "pefa-4": ("PEFA, Table 4 (tldr)", lambda: pefa_4("tldr")),
    "pefa-4-squad": ("PEFA, Table 4 (squad-sent)", lambda: pefa_4("squad-sent")),
    "xrlinear-2": ("XR-Linear, Table 2 (tldr)", lambda: xrlinear_2("tldr")),
    "xrlinear-2-squad": ("XR-Linear, Table 2 (squad-sent)", lambda: xrlinear_2("squad-sent")),
    "xrlinear-3": ("XR-Linear, Tables 3 and 4 (tldr, seen items)", lambda: xrlinear_3("tldr")),
    "adacur-3": ("ADACUR, Figures 2, 3 and 6 (late interaction, 2,000 items, 50 calls)", lambda: adacur_3(50)),
    "adacur-7": ("ADACUR, Figures 7 and 8 (late interaction, 2,000 items, 50 calls)", lambda: adacur_7(50)),
    "adacur-stop": ("Budgeted search with a stopping rule (late interaction, 2,000 items)", lambda: adacur_stop(100)),
}
INTRODUCTION = """# The papers' tables, on our collections

`python -m benchmarks.paper_tables NAME --write` measures a table with `paper=True` and puts it here. Every setting of a
grid is shown, so none is chosen on test queries. [The papers](papers.md) has what each says.
"""


def write(title: str, name: str, table: str) -> None:
    """Put a table into the page, in place of an earlier one."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else INTRODUCTION
    head, *sections = text.split("\n## ")
    kept = [section.rstrip() for section in sections if not section.startswith(f"{title}\n")]
    kept.append(f"{title}\n\n`python -m benchmarks.paper_tables {name}`\n\n{table}")
    PAGE.write_text(head.rstrip() + "\n" + "".join(f"\n## {section}\n" for section in sorted(kept)), encoding="utf-8")


def main() -> None:
    """Measure a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper_tables", description=__doc__)
    parser.add_argument("name", choices=list(TABLES))
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    given = parser.parse_args()
    title, measure = TABLES[given.name]
    table = measure().to_markdown()
    print(f"{title}\n\n{table}")
    if given.write:
        write(title, given.name, table)


if __name__ == "__main__":
    main()
