"""The five papers, table by table: the command, the paper's figure, ours, and whether they say the same.

`python -m benchmarks.papers [pefa|jpq|xrlinear|adacur|sidr] [--table 4] [--write]` prints them. The papers' collections
are not here, so figures are compared by what they show, not by their size. Each of ours stands in a page of results,
which names how it was measured; `--write` makes `benchmarks/results/papers.md` of all.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.paper_elements import ELEMENTS
from vizsla._internal.terminal import markdown_table

RESULTS = Path(__file__).with_name("results")
PAGE = RESULTS / "papers.md"
VERDICTS = ("same", "partly", "different", "not measured", "cannot be run here")
TITLES = {
    "pefa": "PEFA (WSDM 2024)",
    "jpq": "JPQ (CIKM 2021)",
    "xrlinear": "XR-Linear (KDD 2021)",
    "adacur": "ADACUR (2023)",
    "sidr": "SiDR",
}


@dataclass(frozen=True)
class PaperFinding:
    """One finding of a paper's table or figure beside ours.

    Parameters
    ----------
    paper : str
        A key of `TITLES`.
    table : str
        "2" for Table 2, "F3" for Figure 3.
    what : str
        What is shown.
    theirs : str
        The paper's figure, on its data.
    ours : str
        Ours, on our data; empty where it was not measured.
    page : str
        The page of results that has our figure.
    command : str
        What measures it.
    verdict : str
        One of `VERDICTS`.
    why : str
        What differs, or why it is missing.
    """

    paper: str
    table: str
    what: str
    theirs: str
    ours: str = ""
    page: str = ""
    command: str = ""
    verdict: str = "not measured"
    why: str = ""

    @property
    def cells(self) -> list[str]:
        """The row of the table."""
        place = f"Figure {self.table[1:]}" if self.table.startswith("F") else f"Table {self.table}"
        page = f" ([{self.page}]({self.page}.md))" if self.page else ""
        command = f"`{self.command}`" if self.command else ""
        return [place, self.what, self.theirs, self.ours + page, self.verdict, self.why, command]


NQ = "NQ-320K with encoders that were fine-tuned on it: neither is here"
PEFA_COMMAND = "python -m benchmarks.pefa --plots FOLDER"
JPQ_COMMAND = "python -m benchmarks.jpq"
ABLATION = f"{JPQ_COMMAND} --sets squad-sent --sizes 8 --fast --ablation"
XR_SWEEP = "vizsla sweep MODEL DATA --split test-seen --efforts 1,2,5,10,50"
ADACUR_COMMAND = "python -m benchmarks.adacur --no-costs --oracles"
SIDR_COMMAND = "python -m benchmarks.sidr_train"
SIDR_ABLATIONS = "python -m benchmarks.sidr_ablations --queries 600 --full"

FINDINGS = (
    PaperFinding(
        "pefa", "2", "XS over an encoder, seen items, R@10", "80.82 to 86.67 (MPNet); +9.22 in the mean of five",
        ".437 to .582 (tldr)", "pefa", PEFA_COMMAND, "same",
        f"MiniLM as it comes; {NQ}; measured before the preset; items without clicks kept their full base score",
    ),
    PaperFinding(
        "pefa", "2", "XS over an encoder, seen items, R@10", "the same", ".857 to .837 (squad-sent)", "pefa",
        PEFA_COMMAND, "different", "the base finds .857 already; Vizsla's own XS has .870",
    ),
    PaperFinding(
        "pefa", "2", "XL over an encoder, seen items, R@10", "80.82 to 88.72 (MPNet); +11.82 in the mean of five",
        ".437 to .597 (tldr), .857 to .833 (squad-sent)", "pefa", PEFA_COMMAND, "partly",
        "as above; the default XL has .557 and .872",
    ),
    PaperFinding("pefa", "3", "pre-trained encoders on Trivia-QA, R@20", "+18.67 (XS), +17.07 (XL)",
                 verdict="cannot be run here", why="no loader and no collection"),
    PaperFinding("pefa", "4", "λ and k, R@100", "λ .5 best for XS, .1 for XL; k 32 saturates",
                 "seen: XS .804 at λ .3 (.800 at .5), XL .781 at λ .1 and k 32 (.774, .762 at 16, 64)", "paper-tables",
                 "python -m benchmarks.paper_tables pefa-4", "same", "tldr; the preset, which loses unseen items"),
    PaperFinding("pefa", "5", "three product search logs", "gains over MPNet", verdict="cannot be run here",
                 why="private"),
    PaperFinding(
        "pefa", "6", "XS costs what its base costs", "one index, the same latency", "1.00 × / 0.99 × (tldr, flat)",
        "pefa", "python -m benchmarks.pefa", "same", "CPU time per query against the base's, in a batch / alone",
    ),
    PaperFinding(
        "jpq", "1", "JPQ against OPQ at the same bytes", "MRR@10 .341 against .305 (MARCO passage, 96 bytes)",
        "R@10 .884 against .838 (squad-sent seen, 48 bytes)", "jpq", JPQ_COMMAND, "same",
        "Vizsla's JPQ: a matrix on the query side, a teacher, synthetic queries; MS MARCO is not here",
    ),
    PaperFinding(
        "jpq", "1", "JPQ keeps most of the uncompressed quality", "30 times smaller",
        ".863 / .671 against flat .857 / .664 at 24 bytes", "jpq", JPQ_COMMAND, "same", "64 times smaller here",
    ),
    PaperFinding(
        "jpq", "1", "DPQ gains little over OPQ", "MRR@10 .311 against .305", ".748 / .508 against .579 / .344",
        "jpq", ABLATION, "different", "squad-sent, 8 bytes; codes and centroids learn from clicks; 17 points above OPQ",
    ),
    PaperFinding("jpq", "1", "Annoy, FALCONN, FLANN, IMI, ScaNN", "all below JPQ", verdict="not measured",
                 command="python -m benchmarks.pq --only rivals",
                 why="IMI is a row of the command, not run yet; the others are not built"),
    PaperFinding("jpq", "3", "against BoW models and doc2query", "above all", verdict="cannot be run here",
                 why="MS MARCO and trained expansion models are not here"),
    PaperFinding(
        "jpq", "6", "ablation: + negatives, + loss, + trained centroids", "each step gains",
        "R@10 seen .579, .635, .699, .767", "jpq", ABLATION, "same",
        "LambdaRank, own rates; one set, 8 bytes; unseen items lose at the last step",
    ),
    PaperFinding("jpq", "F4", "quality by bytes", "JPQ above all at every size", ".775, .839, .863, .884 at 8 to 48",
                 "jpq", JPQ_COMMAND, "same",
                 "R@10 of squad-sent seen; OPQ .579, .727, .786, .838; `--plots FOLDER` draws it"),
    PaperFinding("jpq", "F5", "quality by speed", "JPQ above all at every latency",
                 command="python -m benchmarks.jpq --plots FOLDER", why="the command draws it; not run yet"),
    PaperFinding("jpq", "2", "the preset with a transformer", "MRR@10 .341", verdict="not measured",
                 command="vizsla train jpq BASE --clicks LOG --paper -o OUT",
                 why="the preset is tested step by step against torch; its rates are for half a million queries"),
    PaperFinding("xrlinear", "2", "n-gram features: unigrams, + bigrams, + character trigrams",
                 "R@10 40.71 with two kinds, 42.86 with three",
                 ".517, .521, .535 (tldr seen)", "paper-tables", "python -m benchmarks.paper_tables xrlinear-2", "same",
                 "the preset; it never finds items without clicks"),
    PaperFinding("xrlinear", "2", "against DSSM", "R@10 42.86 against 18.37", ".535 against .650 (tldr seen)",
                 "paper-tables", "python -m benchmarks.paper_tables xrlinear-2", "different",
                 "`train_dssm` is the light form: bags of n-grams, no layers above; a small log, short items"),
    PaperFinding(
        "xrlinear", "2", "against BM25", "R@10 42.86 against 11.62", ".594 (tldr), .780 (squad-sent)", "xrlinear",
        "python -m benchmarks.xrlinear", "partly",
        "with item texts; BM25 has .362 and .803 ([pefa](pefa.md)), so that it wins on squad-sent",
    ),
    PaperFinding(
        "xrlinear", "3", "pruning: ε .1 to .45, R@10", "42.86 to 38.08", ".536 to .299 (tldr)", "paper-tables",
        "python -m benchmarks.paper_tables xrlinear-3", "partly",
        "the preset; 16.2 MB become 4.1; a small log has few weights above .45, so that pruning costs more",
    ),
    PaperFinding(
        "xrlinear", "4", "beam 1, 10, 50 of the preset, R@100", "20.95, 57.63, 65.74", ".279, .550, .638 (tldr)",
        "paper-tables", "python -m benchmarks.paper_tables xrlinear-3", "same",
    ),
    PaperFinding(
        "xrlinear", "4", "beam 1, 10, 50, R@100", "20.95, 57.63, 65.74", ".507, .703, .711", "xrlinear", XR_SWEEP,
        "same", "tldr; a tree of two layers loses less at beam 1 than one of five",
    ),
    PaperFinding("xrlinear", "1", "latency of encoders", "DSSM and BERT", verdict="cannot be run here",
                 why="a production system's encoders"),
    PaperFinding(
        "adacur", "F2", "ADACUR above ANNCUR, same budget, no prior", "at every k and budget",
        ".72 / .620 / .237 against .29 / .180 / .089 at 50 calls", "adacur", ADACUR_COMMAND, "same",
        "late interaction on squad-sent, 10 rounds; ANNCUR at its best split of three",
    ),
    PaperFinding(
        "adacur", "F2", "ADACUR with a prior above re-ranking the prior", "for every k",
        "1 / .895 / .369 against 1 / .959 / .450 at 50 calls", "adacur", ADACUR_COMMAND, "partly",
        "above BM25's re-ranking everywhere; below MiniLM's for k = 10 and 100 at few calls, where MiniLM is the "
        "scorer's own encoder",
    ),
    PaperFinding("adacur", "F3", "number of rounds", "saturates at 5 to 10", ".397, .631, .693 with 2, 5, 20 (top 10)",
                 "paper-tables", "python -m benchmarks.paper_tables adacur-3", "partly",
                 "2,000 items, 50 calls, random first round; with MiniLM first .845, .867, .843"),
    PaperFinding("adacur", "F6", "TopK above SoftMax sampling", "for all k", ".631 against .027 (top 10)",
                 "paper-tables", "python -m benchmarks.paper_tables adacur-3", "same",
                 "raw scores lie so close that SoftMax draws nearly at random"),
    PaperFinding("adacur", "F2", "ADACUR above ANNCUR with a retriever's anchor items", "for every k",
                 ".867 against .895 (top 10)", "paper-tables", "python -m benchmarks.paper_tables adacur-3",
                 "different",
                 "best of nine splits, .9, where MiniLM is the scorer's own encoder; top 100 .366 against .422"),
    PaperFinding("adacur", "F7", "average approximation error by exact rank", "ANNCUR largest at the top",
                 "0.13 for ranks 1 to 10, 0.06 to 100, 0.03 beyond", "paper-tables",
                 "python -m benchmarks.paper_tables adacur-7", "same",
                 "random anchor items, 25 of 50 calls; the oracle's best items have 0.00, 0.04 and 0.11"),
    PaperFinding(
        "adacur", "F8", "oracle that masks the best items", "far worse for k = 1 and 10",
        ".510 / .421 / .181 with the best 100 masked, 1.000 / 1.000 / .307 with none (ε .5)", "paper-tables",
        "python -m benchmarks.paper_tables adacur-7", "same",
        "top 1 / 10 / 100 on 2,000 items, 50 calls, half for anchor items; all of ε and k_m are in the table",
    ),
    PaperFinding("adacur", "F10", "MUVER, distilled dual encoders", "below ADACUR", verdict="cannot be run here",
                 why="ZESHEL and the trained models are not here"),
    PaperFinding(
        "sidr", "1", "beta above BM25, top-1", "39.8 against 22.7 (NQ)", "MRR@10 .774 against .670 (squad-sent seen)",
        "sidr", SIDR_COMMAND, "same", "with a learned table beside the transformer; 200 steps",
    ),
    PaperFinding(
        "sidr", "1", "late parametric at m = 100 reaches full search", "50.3 against 49.1", ".788 against .789",
        "sidr", SIDR_COMMAND, "same", "MRR@10; R@100 is that of beta, .947 against .959",
    ),
    PaperFinding("sidr", "2", "MS MARCO and BEIR", "full above VDR and DPR", verdict="cannot be run here",
                 why="the collections are not here"),
    PaperFinding(
        "sidr", "4", "without the semi-parametric loss beta breaks", "39.8 to 12.3",
        ".624 to .479 (MRR@10, a plain head)", "sidr", SIDR_ABLATIONS, "same",
        "with our initial head it does not break: .684 to .661",
    ),
    PaperFinding(
        "sidr", "4", "w/o neg: in-batch only", "39.8 to 24.4", ".684 to .648", "sidr", SIDR_ABLATIONS, "partly",
        "MRR@10; this row was called \"w/o retrieved neg\" before, which in the paper is static BM25 negatives",
    ),
    PaperFinding("sidr", "4", "w/o retrieved neg: static BM25 negatives", "39.8 to 32.3",
                 command="python -m benchmarks.sidr_ablations --only \"w/o retrieved neg\"",
                 why="`SidrSettings(static_negatives=True)` is there; not run yet"),
    PaperFinding("sidr", "4", "m = 1", "41.2 against 39.8", ".678 against .684", "sidr", SIDR_ABLATIONS, "same",
                 "MRR@10, a difference within the noise of one seed"),
    PaperFinding("sidr", "4", "m = 100", "37.3 against 39.8",
                 command="python -m benchmarks.sidr_ablations --only \"retrieved neg (m=100)\"", why="not run"),
    PaperFinding(
        "sidr", "7", "queries need weights more than expansion", "weights +20.1, expansion little",
        "MRR@10 lexical .718, binary .197", "sidr", SIDR_COMMAND, "same", "of .774 with both",
    ),
    PaperFinding(
        "sidr", "8", "beta, then another encoder", "+ E5 57.7", "+ MiniLM .699", "sidr", SIDR_COMMAND, "different",
        "MiniLM's vectors have seen no click, and lose MRR@10 against beta's .774",
    ),
    PaperFinding(
        "sidr", "8", "cost in embedded texts: BM25, beta, late search, full search",
        "0, 3.6k, 364k and 21m for 3.6k queries", "0, 3,885, 16,743 and 17,332 for 3,885 queries", "sidr",
        SIDR_COMMAND, "different",
        "late search of BM25's best 20; queries in so small a catalog meet nearly all of its 13,447 items",
    ),
    PaperFinding("sidr", "3", "latency on a GPU", "", verdict="cannot be run here", why="there is no GPU"),
)  # fmt: skip

CLAIM_VERDICTS = ("shown", "partly shown", "refuted", "not measured")


@dataclass(frozen=True)
class Claim:
    """What a paper says in its abstract, and whether it holds on our collections.

    Parameters
    ----------
    paper : str
        A key of `TITLES`.
    what : str
        The claim.
    verdict : str
        One of `CLAIM_VERDICTS`.
    ours : str
        The figures.
    page : str
        The page of results that has them; empty where there is none yet.
    sure : str
        Its significance: paired randomization, 10,000 flips, unless it says otherwise.
    """

    paper: str
    what: str
    verdict: str
    ours: str
    page: str = ""
    sure: str = ""

    @property
    def cells(self) -> list[str]:
        """The row of the table."""
        page = f" ([{self.page}]({self.page}.md))" if self.page else ""
        return [TITLES[self.paper], self.what, self.verdict, self.ours + page, self.sure]


CLAIMS = (
    Claim("pefa", "clicks lift an encoder's R@10 by about 10 points", "partly shown",
          "tldr .437 to .582 (XS), .597 (XL); squad-sent .857 to .837, .833 to the letter, .870 by the defaults",
          "pefa", "defaults on seen items: p = .0001"),
    Claim("pefa", "the same over a fine-tuned encoder", "partly shown", "squad-sent seen / unseen: .891 / .902; our "
          "defaults XS .900 / .910, XL .898 / .924; to the letter XS .867 / .041, XL .869 / .674", "dense",
          "p < .01 for each difference"),
    Claim("jpq", "beats OPQ at the same bytes", "shown",
          "R@10 of squad-sent seen, 8 to 48 bytes: .775, .839, .863, .884 against .579, .727, .786, .838", "jpq",
          "p = .0001 at every size"),
    Claim("jpq", "keeps the quality of uncompressed vectors", "shown", "24 bytes: .863 / .671, flat: .857 / .664",
          "jpq", "p = .46 and .23 (no difference)"),
    Claim("jpq", "beats DPQ", "partly shown", "squad-sent, 8 bytes, seen / unseen: DPQ .748 / .685; the paper's "
          "steps .767 / .654, ours .787 / .722", "jpq", "1,683 and 2,202 queries; not tested"),
    Claim("jpq", "the same from a fine-tuned encoder", "shown", "24 bytes, squad-sent seen / unseen: .885 / .902; OPQ "
          ".831 / .858; flat .891 / .902", "dense", "against OPQ p = .0001; against flat p = .30 and 1.0"),
    Claim("xrlinear", "beats BM25", "partly shown", "R@10 of tldr seen / unseen: .594 / .276, BM25 .415 / .456",
          "paper-tables", "p = .0001, both; on squad-sent .780 against .803, not tested"),
    Claim("xrlinear", "beats DSSM", "refuted", "tldr seen / unseen: the preset .535 / .000, defaults .594 / .276, "
          "DSSM .650 / .364", "paper-tables", "p = .0001, all; 5,537 and 1,701 queries"),
    Claim("xrlinear", "pruning by ε .3 costs little", "refuted", "R@10 .536 at ε .1, .427 at .3; 16.2 and 5.9 MB",
          "paper-tables", "5,537 queries; not tested"),
    Claim("xrlinear", "a beam of 10 is nearly as good as 50", "shown", "R@100 .507, .703, .711 at beams 1, 10, 50",
          "xrlinear"),
    Claim("adacur", "beats ANNCUR at the same budget", "shown",
          "late interaction, 50 calls, top 10: .620 against .180", "adacur", "100 queries; not tested"),
    Claim("adacur", "with a prior beats re-ranking the prior", "partly shown",
          "BM25: yes; MiniLM, 50 calls, top 10: .895 against .959", "adacur", "100 queries; not tested"),
    Claim("adacur", "not the paper's: a stopping rule saves 25 % of the calls within .005 of top-10 recall",
          "partly shown",
          "residual CUR, 100 calls: a posterior's rule, not in the library, ends after 58.7 (tuning) and 60.6 (test) "
          "at .9927 and .9927 of .9973 and .9987; `stop=3` after 83.4 at .987", "adacur",
          "150 test queries: p = .016 for the loss of .006"),
    Claim("sidr", "beta beats BM25", "shown", "MRR@10 .774 against .670, .726 against .662", "sidr", "not tested"),
    Claim("sidr", "the semi-parametric objective is essential", "partly shown",
          "plain head: .624 to .479; with our initial head .684 to .661", "sidr", "one seed"),
    Claim("sidr", "late search at m = 100 is within a point of full search", "partly shown",
          "MRR@10 .788 against .789; R@100 .947 against .959", "sidr"),
    Claim("sidr", "a token index is as cheap as BM25's", "shown", "0.11 CPU s and 0.8 MB against 0.17 s and 2.7 MB",
          "sidr"),
)  # fmt: skip

HEADER = ["", "what", "paper", "Vizsla", "verdict", "what differs", "command"]
INTRODUCTION = """# The papers: measured results

Each table and figure of the five papers: what the paper shows, what Vizsla shows on its own collections, and the
command. The papers' collections are not here, so sizes of figures cannot agree; the verdict says whether they show the
same. Every figure of ours stands in the page that is linked, which says how it was measured.
`python -m benchmarks.papers NAME --table N` prints a part.

`paper=True` of [PEFA](../../docs/methods/pefa.md), [JPQ](../../docs/methods/jpq.md),
[XR-Linear](../../docs/methods/xrlinear.md), [ADACUR and ANNCUR](../../docs/methods/adacur.md) is the papers' arithmetic
to the letter; each page lists what the defaults do instead. Most figures below are of the defaults.
"""
MISSING = """
## What is not as in the papers

Elements without a preset. [The papers' formulas](../../docs/reference/papers.md) has what the presets have to the
letter, and what the defaults do instead.
"""


def page() -> str:
    """Return the page of all papers."""
    claims = markdown_table(["", "claim", "verdict", "figures", "significance"], [each.cells for each in CLAIMS])
    parts = [INTRODUCTION, f"\n## Headline claims\n\n{claims}\n"]
    for name, title in TITLES.items():
        parts.append(f"\n## {title}\n\n{table_of([each for each in FINDINGS if each.paper == name])}\n")
    parts.append(MISSING)
    for name, title in TITLES.items():
        cells = [each.cells for each in ELEMENTS if each.paper == name]
        parts.append(f"\n### {title}\n\n{markdown_table(['', 'state', 'instead, or why'], cells)}\n")
    return "".join(parts)


def table_of(rows: Sequence[PaperFinding]) -> str:
    """Return findings as a Markdown table."""
    return markdown_table(HEADER, [each.cells for each in rows])


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("paper", nargs="?", choices=list(TITLES), help="one paper (default: all)")
    parser.add_argument("--table", metavar="N", help="one table, or a figure such as F3")
    parser.add_argument("--write", action="store_true", help=f"write benchmarks/results/{PAGE.name}")
    given = parser.parse_args()
    rows = [each for each in FINDINGS if given.paper in (None, each.paper) and given.table in (None, each.table)]
    if not rows:
        parser.error(f"no such table: {given.table}")
    if given.write:
        PAGE.write_text(page(), encoding="utf-8")
        return
    for name, title in TITLES.items():
        if some := [each for each in rows if each.paper == name]:
            print(f"{title}\n\n{table_of(some)}\n")


if __name__ == "__main__":
    main()
