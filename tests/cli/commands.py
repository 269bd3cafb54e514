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


# verb: (the command, where the function is called, what hand-written options become: a value, or a predicate of it).
# Options that a signature declares have rows of their own, which `test_options_arrive` makes.
ON_ITEMS = ["{items}", "-o", "{new}"]
ON_CLICKS = ["{items}", "--clicks", "{log}", "-o", "{new}"]
ON_DENSE = ["{dense}", "--clicks", "{log}", "-o", "{new}"]
COMMANDS = {
    "index bm25": (
        ON_ITEMS,
        "index_bm25:bm25",
        {
            "--statistics {statistics}": {
                "statistics": lambda found: found.documents == 5,
                "analyzer": lambda found: found.settled,  # that of the statistics, not a new one
            },
            "--language german": {"analyzer": lambda found: "german" in repr(found).lower()},
            "--words": {"analyzer": lambda found: found("Red Figs") == ["red", "figs"]},
            "--stop-words english": {"analyzer": lambda found: found("the figs") == ["figs"]},
            "--stem english": {"analyzer": lambda found: found("the figs") == ["the", "fig"]},
            "--chars": {"analyzer": lambda found: len(found("figs")) > 1},
            "--typos": {},  # of what was built: see test_typos_and_completion
        },
    ),
    "index tokens": (
        ON_ITEMS,
        "index_tokens:tokens",
        {
            "--language german": {"analyzer": lambda found: "german" in repr(found).lower()},
            "--vocabulary {model}": {"analyzer": lambda found: len(found.vocabulary) == len(WORDS)},
            "--learn-vocabulary 40": {"analyzer": lambda found: 10 < len(found.vocabulary) <= 40},
            "--vocabulary {model} --cased": {"analyzer": lambda found: found("Fig") != found("fig")},
        },
    ),
    "index tfidf": (ON_ITEMS, "index_tfidf:tfidf", {"--kind-shares 1 0.5 0.25": {"kind_shares": close(1, 0.5, 0.25)}}),
    "index pq": (["{dense}", "-o", "{new}"], "index_pq:pq", {"--opq": {"opq": True}}),
    "train tokens": (
        ON_CLICKS,
        "train_tokens:train_tokens",
        {
            "--base {tokens}": {"0": lambda found: not found.learned and len(found.items) == 5},
            "--b 0.3": {"0": lambda found: found.b == 0.3},
            "--fields text^2": {"0": lambda found: found.fields == {"text": 2}},
            "--language german": {"0": lambda found: "german" in repr(found.encoder.words.analyzer).lower()},
            "--vocabulary {model}": {"0": lambda found: found.index.dim == len(WORDS)},
            "--learn-vocabulary 40": {"0": lambda found: 10 < found.index.dim <= 40},
            "--vocabulary {model} --cased": {"0": lambda found: found.encoder.words.analyzer("Fig") == ["[UNK]"]},
        },
    ),
    "train sidr": (
        ["{items}", "--clicks", "{log}", "--model", "{model}", "-o", "{new}"],
        "train_sidr:train_sidr",
        {},
    ),
    "train xrlinear": (
        ON_CLICKS,
        "train_xrlinear:xrlinear",
        {"--kind-shares 1 0.5 0.25": {"kind_shares": close(1, 0.5, 0.25)}},
    ),
    "train cross-encoder": (
        ["{items}", "--clicks", "{log}", "--model", "m", "-o", "{new}"],
        "train_cross_encoder:train_cross_encoder",
        {"--retriever {bm25}": {"retriever": is_kind("bm25")}, "--teacher {dense}": {"teacher": is_kind("dense")}},
    ),
    "train bi-encoder": (
        ["{items}", "--clicks", "{log}", "--model", "m", "-o", "{new}"],
        "train_bi_encoder:train_bi_encoder",
        {"--retriever {bm25}": {"retriever": is_kind("bm25")}, "--teacher {dense}": {"teacher": is_kind("dense")}},
    ),
    "train dssm": (ON_CLICKS, "train_dssm:train_dssm", {"--retriever {bm25}": {"retriever": is_kind("bm25")}}),
    "train jpq": (
        ["{dense}", "--clicks", "{log}", "--bytes", "1", "--bits", "4", "-o", "{new}"],
        "train_jpq:prepared_run",
        {
            "--bits 4": {"0": lambda found: found.index.bits == 4 and found.index.bytes == 1},
            "--query-log {more}": {"queries": ["fig", "car tree"]},
            "--teacher {bm25}": {"teacher": is_kind("bm25")},
            "--model {new}m": {"model": lambda found: str(found.folder).endswith("newm")},
            "--model {new}m --model-rate 0.01": {"model": lambda found: found.rate == 0.01},
            "--model {new}m --device cpu": {"model": lambda found: found.device == "cpu"},
        },
    ),
    "adapt pefa": (ON_DENSE, "adapt:VARIANTS.pefa", {}),
    "adapt pefa-xs": (ON_DENSE, "adapt:VARIANTS.pefa-xs", {"--calibrated no": {"calibrated": False}}),
    "adapt pefa-max": (ON_DENSE, "adapt:VARIANTS.pefa-max", {}),
    "adapt pefa-xl": (ON_DENSE, "adapt:VARIANTS.pefa-xl", {}),
    "split": (ON_CLICKS, "split:Dataset.split", {"--after 2024-05-01": {"after": "2024-05-01", "by": "time"}}),
    "convert dataset": (["{items}", "{new}"], "convert_dataset:write_dataset", {}),
    "eval": (
        ["mine={bm25}", "{items}", "--queries", "{queries}", "--qrels", "{qrels}"],
        "eval:evaluate",
        {"--measures R@5,P@1": {"measures": ["R@5", "P@1"]}},
    ),
    "compare": (
        ["{items}", "x={bm25}", "y={tokens}", "--queries", "{queries}", "--qrels", "{qrels}"],
        "compare:compare",
        {
            "--measures R@5,P@1": {"measures": ["R@5", "P@1"]},
            "--overlap 300": {"k": 300},
            "--overlap 3": {"k": 100},
        },
    ),
}
ELSEWHERE = {
    # Where the data come from and how they are read, what is written where: further below, and tests/end_to_end.
    "estimate", "help", "queries", "clicks", "qrels", "output", "overwrite", "bundle_model", "copy_model", "plot",
    "json", "markdown", "latex", "trec", "plot_bytes", "per_query", "differences", "int8", "encoder", "bytes", "model",
    "id", "text", "title", "meta", "keep_texts", "format", "separator", "encoding", "on_error", "rejected",
    "click_columns", "passage_size", "passage_overlap", "passage_min", "passage_unit", "dedupe", "dangling",
}  # fmt: skip
