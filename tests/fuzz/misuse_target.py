"""Target "misuses": the public names of the library and their methods, called with arguments that make no sense.

A call starts from arguments that are right, as far as somebody wrote them down here, and one or two of them become
something else. Names that nobody wrote down are called with nothing but nonsense.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import vizsla
from tests.contract.catalog import CLICKED, CLICKS, ITEMS
from tests.contract.registry import RETRIEVERS, OverlapPairs, anchors, sidr_encoder
from tests.fuzz.uses import UseError, described
from vizsla.base.index import Index
from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.encoders.late import WordEncoder
from vizsla.errors import VizslaError
from vizsla.methods import Statistics
from vizsla.methods.cur import residual_cur
from vizsla.methods.pq import pq

NONSENSE: list[Any] = [
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    2**70,
    -(2**70),
    1.5,
    -0.5,
    float("nan"),
    float("inf"),
    1e300,
    "",
    "x",
    "\ud800",
    b"x",
    "\x00",
    [],
    [1, 2],
    [None],
    ["a", "a"],
    [["a"], "b"],
    {},
    {1: 2},
    {"a": None},
    {"a": {"b": "c"}},
    (),
    object(),
    np.zeros(0),
    np.zeros((2, 3)),
    np.array(["a"]),
    np.array([None]),
    np.array(3),
    np.array([np.nan]),
    np.array([2**40]),
    np.zeros((2, 0)),
    lambda *given: None,
    range(3),
    Ellipsis,
    1j,
    {"x"},
    np.float64("nan"),
    slice(None),
    Path("nowhere"),
]
SLOW = {"rounds", "epochs", "iterations", "samples", "latency_queries", "starts"}
"""Large numbers here mean long work, as they say."""
JPQ = {"click_loss_weight": 0.5, "epochs": 1, "batch": 16, "stop": 1, "negatives": 4, "depth": 5}
MADE = (
    "bm25 lucene",
    "tokens learned",
    "sidr",
    "tfidf",
    "xrlinear",
    "late interaction",
    "dense flat",
    "jpq",
    "cold items",
)
SEQUENCE = {"__getitem__", "take", "row", "known"}
OURS = (VizslaError,)
FILES = {"path", "source", "name"}
Call = tuple[str, Callable[..., Any], dict[str, Any]]


class MisuseTarget:
    """Calls and sees; a case's number and the seed decide everything."""

    def __init__(self, scratch: Path, seed: int, only: str = ""):
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        os.chdir(scratch)  # some of the nonsense is a path, and some calls write
        self.scratch, self.seed = scratch, seed
        self.calls = [call for call in calls(scratch) if only in call[0]]

    def run(self, case: int, kept: list[int] | None = None) -> tuple[str, list[str]]:
        """Make one call; with `kept`, leave all but these of its wrong arguments right."""
        name, function, right = self.calls[case % len(self.calls)]
        given, random = dict(right), np.random.default_rng([self.seed, case])
        chosen = random.permutation(list(right))[: 1 + int(random.random() < 0.2)].tolist()
        said = []
        for place, argument in enumerate(chosen):
            value = NONSENSE[int(random.integers(len(NONSENSE)))]
            large = isinstance(value, int | float) and abs(value) > 1e5
            if (kept is None or place in kept) and not (argument in SLOW and large):
                given[argument] = value
                said.append(f"{name}({argument}={value!r:.60})")
        return self._outcome(function, given), said

    def _outcome(self, function: Callable[..., Any], given: dict[str, Any]) -> str:
        try:
            function(**given)
            return "answered"
        except OURS:
            return "refused"
        except OSError as error:
            return "refused" if FILES & given.keys() else f"failure: {described(error)}"
        except UseError as failure:
            return f"failure: {failure}"
        except Exception as error:
            return f"failure: {described(error)}"


@cache
def _dataset() -> vizsla.Dataset:
    return vizsla.Dataset.of(ITEMS, queries=CLICKED, clicks=CLICKS, qrels=[(q, i, 1) for q, i, _ in CLICKS[:20]])


def calls(scratch: Path) -> list[Call]:
    """Return every call with arguments that are right."""
    lsa, base = vizsla.encoders.LsaEncoder.fit(ITEMS.values(), dim=8), vizsla.bm25(ITEMS)
    dense, table = vizsla.dense(ITEMS, lsa), Strings.of(ITEMS)
    triples = [(CLICKED[q], item, weight) for q, item, weight in CLICKS]
    right: dict[str, dict[str, Any]] = {
        "Analyzer": {},
        "AnyLanguage": {"language": "english", "content": ["war"]},
        "Budget": {"scorer": base, "calls": 10},
        "Candidates": {"offsets": [0, 1], "items": [0], "scores": [1.0]},
        "Filter": {"mask": np.ones(len(ITEMS), bool), "items": table},
        "FunctionEncoder": {"function": lambda texts: [[1.0]] * len(texts), "dim": 1, "name": "one"},
        "FunctionScorer": {"function": lambda query, texts: [1.0] * len(texts), "texts": ITEMS},
        "Item": {"id": "a", "text": "b"},
        "LabelTree": {"layers": [[0, 2]], "items": [0, 1]},
        "Queries": {"texts": ["a"]},
        "Recipe": {"kind": "bm25", "settings": {"k1": 1.2}},
        "PrecomputedEncoder": {"texts": ["a", "b"], "vectors": np.eye(2)},
        "ScoreCache": {
            "scorer": vizsla.FunctionScorer(lambda query, texts: [1.0] * len(texts), ITEMS, name="one"),
            "path": scratch / "cache.db",
        },
        "Vectors": {"ids": table, "rows": np.zeros((len(ITEMS), 2), np.float32), "fingerprint": "f"},
        "CrossEncoder": {"texts": ITEMS, "model": OverlapPairs()},
        "FunctionRetriever": {"function": lambda query, k: [], "items": list(ITEMS)},
        "HttpReranker": {"texts": ITEMS, "url": "http://127.0.0.1:9", "model": "m"},
        "JpqSettings": {},
        "LateParametric": {"encoder": lsa, "texts": ITEMS, "path": scratch / "late.db"},
        "EmbeddingCache": {"encoder": lsa, "path": scratch / "embeddings.db", "max_bytes": 1 << 20},
        "Retrying": {"scorer": base},
        "TextScorer": {"texts": ITEMS},
        "WordEncoder": {"base": lsa},
        "WordPiece": {"tokens": ["[UNK]", "fig", "##s"]},
        "adacur": {"scorer": dense, "anchors": anchors(), "first": base, "pool": base, "budget": 8, "rounds": 2},
        "anchor_cost": {"scorer": dense, "queries": ["fig", "pear"], "sample": 4},
        "anchor_queries": {"dataset": _dataset(), "count": 4, "how": "clusters", "encoder": lsa},
        "anncur": {"scorer": dense, "anchors": anchors(), "budget": 8, "pool": base},
        "tokens": {"items": ITEMS},
        "bm25": {"items": ITEMS},
        "fuse": {"parts": [base, dense], "dataset": _dataset()},
        "jpq": {"base": dense, "clicks": _dataset(), "bytes": 4, "rounds": 2, **JPQ},
        "late_interaction": {"items": ITEMS, "encoder": WordEncoder(lsa), "path": scratch / "tokens"},
        "learn_fusion": {"parts": {"a": base, "b": dense}, "dataset": _dataset()},
        "pq": {"base": dense, "bytes": 4, "bits": 8, "rounds": 2, "seed": 0, "threads": 1},
        "rerank": {"first": base, "scorer": dense},
        "residual_cur": {"scorer": dense, "anchors": anchors(), "priors": [base], "budget": 8, "rounds": 2, "rank": 2},
        "reused_anchors": {
            "search": residual_cur(dense, anchors(), [base], budget=8, rounds=2),
            "anchors": anchors(),
            "queries": ["fig", "pear"],
            "scored": dense(["fig", "pear"], k=5),
        },
        "score_anchors": {"scorer": dense, "queries": ["fig", "pear"], "path": scratch / "anchors", "overwrite": True},
        "sidr": {"items": ITEMS, "encoder": sidr_encoder()},
        "tfidf": {"items": ITEMS},
        "click_memory": {"items": ITEMS, "clicks": triples},
        "cold_item_boost": {"dataset": _dataset()},
        "train_jpq": {"base": pq(dense, bytes=4), "clicks": _dataset(), **JPQ},
        "train_tokens": {"base": vizsla.tokens(ITEMS), "clicks": _dataset(), "epochs": 1},
        "dense": {"items": ITEMS, "encoder": lsa},
        "compare": {"systems": {"a": base, "b": dense}, "dataset": _dataset()},
        "evaluate": {"system": base, "dataset": _dataset()},
        "sweep": {"setting": "b", "systems": {0.5: base}, "dataset": _dataset()},
        "load": {"path": scratch / "nowhere"},
        "open_dataset": {"source": scratch / "nowhere"},
        "open_encoder": {"name": "nowhere"},
        "parse": {"expression": "a + a", "names": {"a": base}},
        "pefa": {"base": dense, "clicks": triples},
        "pefa_max": {"base": dense, "clicks": triples, "weight": 0.5, "margin": 0.5, "item_weight": 0.5},
        "pefa_xl": {
            "base": dense,
            "clicks": triples,
            "weight": 0.5,
            "neighbors": 3,
            "votes": "mean",
            "near": 0.0,
            "scale": 1.0,
            "threshold": 0.0,
        },
        "pefa_xs": {"base": dense, "clicks": triples, "weight": 0.5, "calibrated": False},
        "shards": {"parts": [base]},
        "xrlinear": {
            "dataset": _dataset(),
            "kind_shares": (1.0, 1.0, 1.0),
            "click_weights": "none",
            "cold_start": False,
        },
    }
    tokens = vizsla.late_interaction(ITEMS, WordEncoder(lsa)).tokens
    made = [RETRIEVERS[name].make() for name in MADE] + [sidr_encoder(), lsa, lsa.ngrams, anchors(), tokens]
    right |= {type(thing).__name__: parts_of(thing) for thing in [*made, Statistics.of(ITEMS), _dataset()]}
    modules = [vizsla.base, vizsla.encoders, vizsla.learning, vizsla.methods, vizsla.scorers, vizsla.text]
    named = [(vizsla, name) for name in vizsla.__all__[1:]] + [(one, name) for one in modules for name in one.__all__]
    public = {name: getattr(one, name) for one, name in named if name not in ("ChoiceWarning", "Engine")}
    public = {name: thing for name, thing in public.items() if not inspect.isabstract(thing)}
    found: list[Call] = [_call(name, thing, right.get(name)) for name, thing in public.items()]
    described = RETRIEVERS["bm25 with details"].make().items
    makers = {
        "Dataset.of": (vizsla.Dataset.of, {"items": ITEMS, "queries": CLICKED, "clicks": CLICKS}),
        "LsaEncoder.fit": (vizsla.encoders.LsaEncoder.fit, {"texts": list(ITEMS.values()), "dim": 4}),
        "NgramTfidf.fit": (vizsla.text.NgramTfidf.fit, {"texts": list(ITEMS.values())}),
        "Statistics.of": (vizsla.methods.Statistics.of, {"items": ITEMS}),
        "Analyzer.named": (vizsla.text.Analyzer.named, {"name": "words"}),
        "AnyLanguage.from_dict": (vizsla.text.AnyLanguage.from_dict, {"values": vizsla.text.AnyLanguage().to_dict()}),
        "Analyzer.from_dict": (vizsla.text.Analyzer.from_dict, {"values": vizsla.text.Analyzer().to_dict()}),
        "Candidates.from_dict": (Candidates.from_dict, {"answers": {"q": {"a": 1.0}}}),
        "Candidates.from_rows": (Candidates.from_rows, {"rows": [np.zeros(1, np.int32)]}),
        "Candidates.ranked": (Candidates.ranked, {"offsets": [0, 1], "items": [0], "scores": [1.0]}),
        "Queries.of": (vizsla.base.Queries.of, {"queries": ["a"]}),
        "Filter.of": (vizsla.Filter.of, {"where": [], "items": table}),
        "where one": (lambda condition: vizsla.where(condition).mask(described), {"condition": "length<20"}),
        "Strings.of": (Strings.of, {"strings": ["a"]}),
        "Strings.unique": (Strings.unique, {"strings": ["a"]}),
        "Vectors.encode": (
            vizsla.encoders.Vectors.encode,
            {"items": ITEMS, "encoder": lsa, "path": scratch / "v", "overwrite": True},
        ),
        **{
            f"make_index {kind}": (_index_maker(kind), {"vectors": np.eye(8, dtype=np.float32)})
            for kind in ("flat", "hnsw", "ivf")
        },
    }
    found += [_call(name, function, given) for name, (function, given) in makers.items()]
    objects = {
        "Dataset": _dataset(),
        "Strings": table,
        "Filter": base.filter([]),
        "Statistics": Statistics.of(ITEMS),
    }
    objects |= {"Candidates": base("fig"), "Ngrams": vizsla.text.NgramTfidf.fit(ITEMS.values()), "LsaEncoder": lsa}
    objects |= {
        name: case.make() for name, case in RETRIEVERS.items() if " " not in name or "dense" in name or "pefa" in name
    }
    for name, thing in objects.items():
        found += _methods(name, thing, scratch)
    return found


def _index_maker(kind: str) -> Callable[..., Index]:
    from vizsla.indexes.factory import make_index

    def make(vectors: Any, storage: Any = None, **options: Any) -> Index:
        return make_index(kind, vectors, storage=storage, **options)

    options = {"hnsw": ("M", "ef", "construction", "threads"), "ivf": ("lists", "probes", "recall", "rounds", "seed")}
    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in options.get(kind, ())]
    usual = list(inspect.signature(make).parameters.values())[:2]
    make.__signature__ = inspect.Signature([*usual, *parameters])  # type: ignore[attr-defined]
    return make


def parts_of(thing: Any) -> dict[str, Any]:
    """Return the arguments that made a thing: its attributes of the same names."""
    names = list(inspect.signature(type(thing)).parameters)
    return {name: getattr(thing, name) for name in names if not inspect.ismethod(getattr(thing, name, thing.__init__))}


def _call(name: str, function: Callable[..., Any], right: dict[str, Any] | None) -> Call:
    """Return the call with all its options by name, so that each of them can become nonsense."""
    parameters = inspect.signature(function).parameters.values()
    given = dict(right or {})
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    for parameter in parameters:
        if parameter.kind in plain and parameter.name not in given:
            empty = parameter.default is inspect.Parameter.empty
            given[parameter.name] = None if empty and right is None else parameter.default
    return name, function, {key: value for key, value in given.items() if value is not inspect.Parameter.empty}


def _methods(name: str, thing: Any, scratch: Path) -> list[Call]:
    usual: dict[str, Any] = {
        "queries": ["fig", "pear"],
        "query": "fig",
        "item": next(iter(ITEMS)),
        "where": None,
        "k": 3,
        "texts": ["fig"],
        "candidates": vizsla.bm25(ITEMS)(["fig", "pear"]),
        "items": {"new": "fig"},
        "ids": [next(iter(ITEMS))],
        "effort": 5,
        "clicks": [("fig", next(iter(ITEMS)), 1.0)],
        "path": scratch / "saved",
        "overwrite": True,
        "how": "minmax",
        "numbers": [0],
        "weight": 0.5,
        "layer": 0,
        "node": 0,
        "string": "fig",
        "strings": ["fig"],
        "split": "test",
        "item_id": next(iter(ITEMS)),
        "term": "fig",
        "feature": 0,
        "shares": (1.0, 1.0, 1.0),
        "threads": 1,
        "rows": 1,
        "number": 0,
    }
    left_out = {
        "unchecked",
        "close",
        "clear",
        "reset",
        "form",
        "with_scores",
        "with_catalog",
        "with_upper_bounds",
        "with_stats",
        "with_ms",
    }
    left_out |= {
        "index_rows",
        "item_rows",
        "over",
        "translated",
        "of",
        "of_rows",
        "from_dict",
        "matches",
        "ranked",
        "open",
        "load",
    }
    left_out |= {
        "scales",
        "placed_first",
        "tells_scale",
        "unique",
        "with_repeats",
        "build",
        "fit",
        "encode",
        "named",
        "remember",
        "grown_encoder",
    }
    found = []
    for method, function in inspect.getmembers(thing, inspect.ismethod):
        wanted = not method.startswith("_") or method in {"__call__", "__getitem__", "__mul__", "__add__", "__rshift__"}
        if wanted and method not in left_out:
            names = [p.name for p in inspect.signature(function).parameters.values() if p.kind != p.VAR_POSITIONAL]
            fitting = usual | _of_method(thing, method)
            given = {k: fitting[k] for k in names if k in fitting and not (method == "to_trec" and k == "path")}
            if all(key in given or _optional(function, key) for key in names) and given:
                found.append(_call(f"{name}.{method}", _indexed(function) if method in SEQUENCE else function, given))
    return found


def _of_method(thing: Any, method: str) -> dict[str, Any]:
    """Return what this method wants by a name that others use for something else."""
    if method in ("search_encoded", "score_encoded"):
        return {"rows": thing.encode(["fig", "pear"])}
    if method == "encoded":
        return {"queries": vizsla.base.Queries.of(["fig", "pear"])}
    known = {"scaled": {"how": "linear"}, "filter": {"where": list(ITEMS)[:3]}, "to_csr": {"items": len(ITEMS)}}
    known |= {key: {"query": 0} for key in ("__getitem__", "known", "row")}
    return known.get(method, {"texts": None} if method == "show" else {})


def _optional(function: Callable[..., Any], name: str) -> bool:
    return inspect.signature(function).parameters[name].default is not inspect.Parameter.empty


def _indexed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let an item that is not there be an IndexError, as of any sequence."""

    def get(**given: Any) -> Any:
        try:
            return function(*given.values())
        except IndexError:
            return None

    get.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return get
