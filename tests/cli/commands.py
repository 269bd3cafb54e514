"""Commands, the functions that they are made for, and what becomes of each option there."""

from __future__ import annotations

import numpy as np

ITEMS = {"a": "red fig tree", "b": "green fig", "c": "old oak tree", "d": "green car", "e": "red car"}
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *sorted({word for text in ITEMS.values() for word in text.split()}),
]


def is_kind(kind):
    return lambda found: getattr(found, "kind", None) == kind


def close(*values):
    return lambda found: np.allclose(found, values)


# verb: (the command, the function, what option becomes what: a value, or a predicate of it)
COMMANDS = {
    "index bm25": (
        ["{items}", "-o", "{new}"],
        "vizsla.methods.bm25:bm25",
        {
            "--variant robertson": {"variant": "robertson"},
            "--k1 0.9": {"k1": 0.9},
            "--b 0.3": {"b": 0.3},
            "--delta 0.7": {"delta": 0.7},
            "--statistics {statistics}": {
                "statistics": lambda found: found.documents == 5,
                "analyzer": lambda found: found.settled,  # that of the statistics, not a new one
            },
            "--language german": {"analyzer": lambda found: "german" in repr(found).lower()},
            "--words": {"analyzer": lambda found: found("Red Figs") == ["red", "figs"]},
            "--stop-words english": {"analyzer": lambda found: found("the figs") == ["figs"]},
            "--stem english": {"analyzer": lambda found: found("the figs") == ["the", "fig"]},
            "--chars": {"analyzer": lambda found: len(found("figs")) > 1},
        },
    ),
    "index tokens": (
        ["{items}", "-o", "{new}"],
        "vizsla.methods.tokens.model:tokens",
        {
            "--b 0.3": {"b": 0.3},
            "--seed 7": {"seed": 7},
            "--language german": {"analyzer": lambda found: "german" in repr(found).lower()},
            "--vocabulary {model}": {"analyzer": lambda found: len(found.vocabulary) == len(WORDS)},
            "--learn-vocabulary 40": {"analyzer": lambda found: 10 < len(found.vocabulary) <= 40},
            "--vocabulary {model} --cased": {"analyzer": lambda found: found("Fig") != found("fig")},
        },
    ),
    "index tfidf": (
        ["{items}", "-o", "{new}"],
        "vizsla.methods.tfidf:tfidf",
        {"--kind-shares 1 0.5 0.25": {"kind_shares": close(1, 0.5, 0.25)}, "--entries 9": {"entries": 9}},
    ),
    "index pq": (
        ["{dense}", "-o", "{new}"],
        "vizsla.methods.pq:pq",
        {
            "--bytes 1": {"bytes": 1},
            "--bits 4": {"bits": 4},
            "--no-opq": {"opq": False},
            "--opq": {"opq": True},
            "--memory-mb 99": {"memory_mb": 99},
            "--rounds 3": {"rounds": 3},
            "--threads 2": {"threads": 2},
            "--seed 7": {"seed": 7},
        },
    ),
    "train tokens": (
        ["{items}", "--clicks", "{log}", "-o", "{new}"],
        "vizsla.methods.tokens.train_tokens:train_tokens",
        {
            "--base {tokens}": {"0": lambda found: not found.learned and len(found.items) == 5},
            "--b 0.3": {"0": lambda found: found.b == 0.3},
            "--language german": {"0": lambda found: "german" in repr(found.encoder.words.analyzer).lower()},
            "--vocabulary {model}": {"0": lambda found: found.index.dim == len(WORDS)},
            "--learn-vocabulary 40": {"0": lambda found: 10 < found.index.dim <= 40},
            "--vocabulary {model} --cased": {"0": lambda found: found.encoder.words.analyzer("Fig") == ["[UNK]"]},
            "--epochs 4": {"epochs": 4},
            "--rate 0.3": {"rate": 0.3},
            "--negatives 9": {"negatives": 9},
            "--temperature 0.5": {"temperature": 0.5},
            "--expansions 3": {"expansions": 3},
            "--batch 11": {"batch": 11},
            "--half-life 30": {"half_life": 30.0},
            "--seed 7": {"seed": 7},
        },
    ),
    "train sidr": (
        ["{items}", "--clicks", "{log}", "--model", "{model}", "-o", "{new}"],
        "vizsla.methods.sidr.train_sidr:train_sidr",
        {
            "--checkpoint {new}c": {"checkpoint": lambda found: str(found).endswith("newc")},
            "--no-semi-parametric": {"semi_parametric": False},
            "--no-item-tokens": {"item_tokens": False},
            "--whole-head": {"whole_head": True},
            "--plain-head": {"leveled": False},
            "--seed 7": {"seed": 7},
            **{
                f"--{name.replace('_', '-')} {number}": {name: number}
                for number, name in enumerate(
                    [
                        "epochs",
                        "most_steps",
                        "batch",
                        "vectors",
                        "wrong",
                        "retrieved",
                        "table_epochs",
                        "served_epochs",
                        "masked_steps",
                        "frozen_layers",
                        "max_tokens",
                    ],
                    21,
                )
            },
            **{
                f"--{name.replace('_', '-')} {rate}": {name: rate}
                for rate, name in [(0.011, "rate"), (0.012, "head_rate"), (0.013, "bias_rate"), (0.014, "dropout")]
            },
        },
    ),
    "train xrlinear": (
        ["{items}", "--clicks", "{log}", "-o", "{new}"],
        "vizsla.methods.xrlinear.build:xrlinear",
        {
            "--kind-shares 1 0.5 0.25": {"kind_shares": close(1, 0.5, 0.25)},
            "--branching 8": {"branching": 8},
            "--max-leaf 3": {"max_leaf": 3},
            "--representation blend": {"representation": "blend"},
            "--share 0.2": {"share": 0.2},
            "--negatives man": {"negatives": "man"},
            "--loss logistic": {"loss": "logistic"},
            "--C 3": {"C": 3.0},
            "--threshold 0.2": {"threshold": 0.2},
            "--bias 0.5": {"bias": 0.5},
            "--transform sigmoid": {"transform": "sigmoid"},
            "--max-nonzeros 12": {"max_nonzeros": 12},
            "--weights int8": {"weights": "int8"},
            "--click-weights raw": {"click_weights": "raw"},
            "--no-item-texts": {"item_texts": False},
            "--no-cold-start": {"cold_start": False},
            "--beam 3": {"beam": 3},
            "--half-life 30": {"half_life": 30.0},
            "--seed 7": {"seed": 7},
            "--threads 2": {"threads": 2},
        },
    ),
    "train cross-encoder": (
        ["{items}", "--clicks", "{log}", "--model", "m", "-o", "{new}"],
        "vizsla.methods.cross_encoder:train_cross_encoder",
        {
            "--form dot": {"form": "dot"},
            "--layers 2": {"layers": 2},
            "--max-tokens 33": {"max_tokens": 33},
            "--retriever {bm25}": {"retriever": is_kind("bm25")},
            "--teacher {dense}": {"teacher": is_kind("dense")},
            "--share 0.2": {"share": 0.2},
            "--loss hinge": {"loss": "hinge"},
            "--rate 0.01": {"rate": 0.01},
            "--cold 0.3": {"cold": 0.3},
            "--bfloat16": {"bfloat16": True},
            "--checkpoint c": {"checkpoint": "c"},
            "--seed 7": {"seed": 7},
            "--threads 2": {"threads": 2},
            **{
                f"--{name.replace('_', '-')} {number}": {name: number}
                for number, name in enumerate(
                    ["epochs", "most_steps", "batch", "negatives", "depth", "every", "patience", "held_out"], 21
                )
            },
        },
    ),
    "train jpq": (
        ["{dense}", "--clicks", "{log}", "--bytes", "1", "--bits", "4", "-o", "{new}"],
        "vizsla.methods.jpq.train_jpq:prepared_run",
        {
            "--bits 4": {"0": lambda found: found.index.bits == 4 and found.index.bytes == 1},
            "--query-log {more}": {"queries": ["fig", "car tree"]},
            "--teacher {bm25}": {"teacher": is_kind("bm25")},
            "--share 0.2": {"share": 0.2},
            "--handicap 0.5": {"handicap": 0.5},
            "--cold 0.3": {"cold": 0.3},
            "--paper": {"paper": True},
            "--loss hinge": {"loss": "hinge"},
            "--stage loss": {"stage": "loss"},
            "--adapter-rate 0.01": {"adapter_rate": 0.01},
            "--centroid-rate 0.02": {"centroid_rate": 0.02},
            "--sharpness 2.5": {"sharpness": 2.5},
            "--imagined 0.4": {"imagined": 0.4},
            "--recodings 2": {"recodings": 2},
            "--model {new}m": {"model": lambda found: str(found.folder).endswith("newm")},
            "--model {new}m --model-rate 0.01": {"model": lambda found: found.rate == 0.01},
            "--model {new}m --device cpu": {"model": lambda found: found.device == "cpu"},
            "--checkpoint c": {"checkpoint": "c"},
            "--seed 7": {"seed": 7},
            "--threads 2": {"threads": 2},
            **{
                f"--{name} {number}": {name: number}
                for number, name in enumerate(["epochs", "stop", "batch", "negatives", "depth"], 21)
            },
        },
    ),
    "adapt pefa": (["{dense}", "--clicks", "{log}", "-o", "{new}"], "vizsla.methods.pefa:pefa", {}),
    "adapt pefa-xs": (
        ["{dense}", "--clicks", "{log}", "-o", "{new}"],
        "vizsla.methods.pefa:pefa_xs",
        {
            "--weight 0.3": {"weight": 0.3},
            "--calibrated yes": {"calibrated": True},
            "--calibrated no": {"calibrated": False},
        },
    ),
    "adapt pefa-max": (
        ["{dense}", "--clicks", "{log}", "-o", "{new}"],
        "vizsla.methods.pefa:pefa_max",
        {"--weight 0.3": {"weight": 0.3}, "--margin 0.2": {"margin": 0.2}, "--item-weight 0.1": {"item_weight": 0.1}},
    ),
    "adapt pefa-xl": (
        ["{dense}", "--clicks", "{log}", "-o", "{new}"],
        "vizsla.methods.pefa:pefa_xl",
        {
            "--weight 0.3": {"weight": 0.3},
            "--neighbors 7": {"neighbors": 7},
            "--near 0.2": {"near": 0.2},
            "--threshold 0.4": {"threshold": 0.4},
            "--votes max": {"votes": "max"},
        },
    ),
    "split": (
        ["{items}", "--clicks", "{log}", "-o", "{new}"],
        "vizsla.data.dataset:Dataset.split",
        {
            "--held-out 0.4": {"held_out": 0.4, "by": "random"},
            "--cold 0.3": {"cold": 0.3},
            "--by time": {"by": "time"},
            "--after 2024-05-01": {"after": "2024-05-01", "by": "time"},
            "--seed 7": {"seed": 7},
        },
    ),
    "convert": (["{items}", "{new}"], "vizsla.io.write:write_dataset", {"--to trec": {"format": "trec"}}),
    "eval": (
        ["mine={bm25}", "{items}", "--queries", "{queries}", "--qrels", "{qrels}"],
        "vizsla.evaluation:evaluate",
        {},
    ),
    "compare": (
        ["{items}", "x={bm25}", "y={tokens}", "--queries", "{queries}", "--qrels", "{qrels}"],
        "vizsla.evaluation:compare",
        {"--baseline y": {"baseline": "y"}, "--overlap 300": {"k": 300}, "--overlap 3": {"k": 100}},
    ),
}
EVALUATION = {
    "--split dev": {"last": "dev"},
    "--measures R@5,P@1": {"measures": ["R@5", "P@1"]},
    "--threads 2": {"threads": 2},
    "--latency-queries 3": {"latency_queries": 3},
}
for verb in ("eval", "compare"):
    COMMANDS[verb][2].update(EVALUATION)
for verb in ("adapt pefa", "adapt pefa-xs", "adapt pefa-max", "adapt pefa-xl"):
    COMMANDS[verb][2].update(
        {"--cold 0.3": {"cold": 0.3}, "--seed 7": {"seed": 7}, "--half-life 30": {"half_life": 30.0}}
    )
LIKE_THE_DEFAULT = ("--opq", "--overlap 3", "--held-out 0.4")  # told from it by other rows
ELSEWHERE = {
    # Where the data come from and how they are read, what is written where: further below, and tests/end_to_end.
    "help", "queries", "clicks", "qrels", "output", "overwrite", "bundle_model", "copy_model", "plot", "json",
    "markdown", "trec", "plot_bytes", "per_query", "differences", "int8", "encoder", "bytes", "model", "id",
    "text", "title", "meta", "keep_texts", "format", "separator", "encoding", "on_error", "rejected",
    "click_columns", "passage_words", "overlap_words",
}  # fmt: skip
