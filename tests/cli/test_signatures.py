"""Options that a signature declares: their defaults, types and choices are those of the function that is called."""

from __future__ import annotations

import argparse
import inspect
from importlib import import_module
from typing import Literal

import pytest

from tests.cli.test_options_arrive import verbs
from vizsla import bm25, compare, open_dataset, pefa, residual_cur, tfidf
from vizsla.autopilot.diagnose import diagnose
from vizsla.autopilot.learn import learn
from vizsla.autopilot.relearn import relearn
from vizsla.cli.signatures import SignatureOptions
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.evaluation import evaluate, fuse_runs, pool
from vizsla.evaluation.sweep import sweep
from vizsla.export.checks import check_sample
from vizsla.export.int8 import quantize
from vizsla.export.onnx import export_onnx
from vizsla.indexes.flat import FlatIndex
from vizsla.indexes.hnsw import HnswIndex
from vizsla.indexes.ivf import IvfIndex
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.io.write import write_dataset
from vizsla.methods.bi_encoder import BiEncoderSettings, train_bi_encoder
from vizsla.methods.cross_encoder import CrossEncoderSettings, train_cross_encoder
from vizsla.methods.cur import adacur, anncur
from vizsla.methods.cur.anchors import anchor_queries
from vizsla.methods.dense import dense
from vizsla.methods.dssm import DssmSettings, train_dssm
from vizsla.methods.fusion.fit import learn_fusion
from vizsla.methods.jpq.query_adapter import QueryModel
from vizsla.methods.jpq.settings import JpqSettings
from vizsla.methods.jpq.train_jpq import train_jpq
from vizsla.methods.pefa.build import pefa_max, pefa_xl, pefa_xs
from vizsla.methods.sidr.settings import SidrSettings
from vizsla.methods.sidr.train_sidr import train_sidr
from vizsla.methods.tokens.model import tokens
from vizsla.methods.tokens.train_tokens import train_tokens
from vizsla.methods.xrlinear.build import xrlinear
from vizsla.serve.mcp_tools import serve_mcp
from vizsla.serve.run import serve

MIRRORED = {
    "runs fuse": [fuse_runs],
    "runs pool": [pool],
    "index bm25": [bm25],
    "index tokens": [tokens],
    "index statistics": [],
    "index tfidf": [tfidf],
    "index dense": [LsaEncoder.fit, SentenceEncoder, dense, FlatIndex.build, HnswIndex.build, IvfIndex.build,
                    PqIndex.build],
    "index anchors": [anchor_queries, residual_cur, adacur, anncur],
    "index sidr": [],
    "index pq": [PqIndex.build],
    "train tokens": [train_tokens, tokens],
    "train sidr": [train_sidr, SidrSettings],
    "train xrlinear": [xrlinear],
    "train cross-encoder": [train_cross_encoder, CrossEncoderSettings],
    "train bi-encoder": [train_bi_encoder, BiEncoderSettings],
    "train dssm": [train_dssm, DssmSettings],
    "train jpq": [train_jpq, PqIndex.build, JpqSettings, QueryModel],
    "learn": [learn],
    "engine learn": [relearn],
    "diagnose": [diagnose],
    "adapt pefa": [pefa],
    "adapt pefa-xs": [pefa_xs],
    "adapt pefa-max": [pefa_max],
    "adapt pefa-xl": [pefa_xl],
    "eval": [evaluate],
    "compare": [compare],
    "sweep": [sweep, evaluate],
    "compose": [learn_fusion],
    "split": [Dataset.split],
    "serve": [serve],
    "mcp": [serve_mcp],
    "convert dataset": [write_dataset],
    "export onnx": [SentenceEncoder, check_sample, quantize, export_onnx],
}  # fmt: skip
"""The functions that stand behind the options of each verb."""
NOT_OPTIONS = {
    "index tokens": {"batch", "epochs", "expansions", "half_life", "negatives", "rate", "temperature"},
    "index dense": {"batch", "bigrams", "device", "download", "max_tokens", "min_texts", "rounds", "sample", "threads",
                    "trigrams", "unigrams"},
    "index anchors": {"anchor_items", "epsilon", "pool_size"},
    "train sidr": {"teacher_share"},
    "train jpq": {"bytes", "memory_mb", "model", "opq", "rounds"},
    "eval": {"k", "name"},
    "compare": {"k"},
    "sweep": {"k", "name"},
    "convert dataset": {"overwrite"},
    "export onnx": {"batch", "device", "download", "normalize", "overwrite"},
}  # fmt: skip
"""Parameters that the command line leaves out, or has an option of its own for."""
OTHER_DEFAULTS = {("index anchors", "storage"), ("train jpq", "clicked_margin"), ("train jpq", "reassignments")}
CHOICES = {
    "variant": "vizsla.methods.bm25_statistics:VARIANTS",
    "representation": "vizsla.methods.xrlinear.tree:REPRESENTATIONS",
    "click_weights": "vizsla.methods.xrlinear.build:CLICK_WEIGHTS",
    "weights": "vizsla.indexes.tree:WEIGHT_BYTES",
    "stage": "vizsla.methods.jpq.settings:STAGES",
    "test": "vizsla.evaluation.significance:TESTS",
    "basis": "vizsla.methods.cur.residual:BASES",
    "storage": "vizsla.methods.cur.factors:STORAGES",
    "form": "vizsla.scorers.pair_models:FORMS",
    "teacher_loss": "vizsla.learning.distillation:TEACHER_LOSSES",
    "towers": "vizsla.learning.torch_towers:TOWERS",
    "mining": "vizsla.methods.bi_encoder:MINING",
    "index": "vizsla.indexes.factory:DENSE_MODULES",
}
LOSSES = {"train xrlinear": "vizsla.methods.xrlinear.layer:LOSSES"}
LISTED = {
    "negatives": {"tfn", "man", "tfn+man"},
    "votes": {"auto", "mean", "max"},
    "how": {"random", "clicks", "pseudo"},
    "bits": {8, 4},
    "by": {"random", "time"},
    "format": {"beir", "jsonl", "parquet", "trec"},
}
READ = {"int": ("7", 7), "float": ("0.25", 0.25), "bool": ("yes", True)}


def declared_actions(verb):
    reading = {*inspect.signature(open_dataset).parameters} - {"format"}
    actions = [action for action in verbs()[verb]._actions if hasattr(action, "declared_by")]
    return [each for each in actions if each.dest not in reading and each.dest != "format"]


def parameters(verb):
    """The parameters of the functions behind a verb; the first function that has one declares it."""
    found = {}
    for function in MIRRORED[verb]:
        found = {**inspect.signature(function).parameters, **found}
    return found


@pytest.mark.parametrize("verb", [verb for verb, functions in MIRRORED.items() if functions])
def test_an_option_is_as_its_parameter(verb):
    known = parameters(verb)
    for action in declared_actions(verb):
        name = action.declared_by.name
        parameter = known[name]
        assert action.default is argparse.SUPPRESS, f"{name}: what is not given is left to the function"
        default = parameter.default
        if (verb, name) not in OTHER_DEFAULTS and default not in (None, "", ()) and default is not False:
            shown = {True: "yes"}.get(default) if isinstance(default, bool) else None
            shown = shown or (f"{default:g}" if isinstance(default, int | float) else None)
            shown = shown or (default if isinstance(default, str) else None)
            assert f"(default: {shown or ''}" in action.help, f"{verb} {name}"
        for kind in ("int", "float", "bool"):
            if kind in parameter.annotation.split(" | ") and callable(action.type) and action.choices is None:
                text, value = READ[kind]
                assert action.type(text) == value and type(action.type(text)) is type(value), f"{verb} {name}"


@pytest.mark.parametrize("verb", [verb for verb, functions in MIRRORED.items() if functions])
def test_choices_are_those_of_the_library(verb):
    for action in declared_actions(verb):
        name = action.declared_by.name
        if action.choices is None:
            continue
        place = LOSSES.get(verb, "vizsla.learning.losses:LOSSES") if name == "loss" else CHOICES.get(name)
        if place is None:
            assert {*action.choices} == LISTED[name], f"{verb} {name}"
            continue
        module, _, constant = place.partition(":")
        assert {*action.choices} == {*getattr(import_module(module), constant)}, f"{verb} {name}"


@pytest.mark.parametrize("verb", [verb for verb, functions in MIRRORED.items() if functions])
def test_every_plain_parameter_is_an_option(verb):
    plain = {"int", "float", "bool"}
    wanted = {
        name
        for name, parameter in parameters(verb).items()
        if parameter.default is not parameter.empty and plain & {*str(parameter.annotation).split(" | ")}
    }
    found = {action.declared_by.name for action in declared_actions(verb)}
    assert wanted - found <= NOT_OPTIONS.get(verb, set())
    assert not found & NOT_OPTIONS.get(verb, set())


def test_reading_options_are_those_of_open_dataset():
    actions = {each.dest: each for each in verbs()["index bm25"]._actions if hasattr(each, "declared_by")}
    names = {*inspect.signature(open_dataset).parameters} - {"source", "queries", "clicks", "qrels", "click_columns"}
    assert names <= {*actions}
    assert {*actions["on_error"].choices} == {"raise", "warn", "skip"}
    assert "(default: 200)" in actions["passage_size"].help and "(default: utf-8)" in actions["encoding"].help


def test_every_verb_with_declared_options_is_listed():
    """Beside how data are read, which many verbs have."""
    assert {verb for verb in verbs() if declared_actions(verb)} <= {*MIRRORED}


def example(
    items,
    *,
    depth: int = 3,
    rate: float | str = "auto",
    cold: float = 0.5,
    kind: str = "a",
    exact: bool = True,
    fast: bool = False,
    names: str | None = None,
    mode: Literal["x", "y"] = "x",
    shares: Sequence[float] | None = None,  # noqa: F821
    other: Dataset | None = None,
):
    """Do something.

    Parameters
    ----------
    items
        What is read.
    depth : int
        How deep it is (Eq. 5). More takes 100 % longer.
    rate : float or "auto"
        AdamW's step; see `other`.
    cold : float in [0, 1]
        As in `pefa_xs`.
    kind : {"a", "b"}
        The kind.
    exact, fast : bool
        Whether it is so.
    names : str, optional
        Some names.

    Returns
    -------
    depth : str
        Something else.
    """


@pytest.fixture
def parse():
    options, parser = SignatureOptions(example), argparse.ArgumentParser()
    options.add_to(parser)
    return lambda *argv: options.given(parser.parse_args(argv))


def test_what_is_given_is_read_as_annotated(parse):
    assert parse() == {}
    assert parse("--depth", "4", "--rate", "auto", "--no-exact", "--fast", "--names", "x", "--shares", "1", "2") == {
        "depth": 4, "rate": "auto", "exact": False, "fast": True, "names": "x", "shares": [1.0, 2.0],
    }  # fmt: skip
    assert parse("--rate", "0.5", "--kind", "b", "--mode", "y") == {"rate": 0.5, "kind": "b", "mode": "y"}


@pytest.mark.parametrize(
    "wrong",
    [
        "--depth=x",
        "--depth=1.5",
        "--rate=often",
        "--kind=c",
        "--cold=2",
        "--cold=nan",
        "--mode=z",
        "--other=x",
        "--items=x",
    ],
)
def test_what_cannot_be_read_is_refused(parse, wrong):
    with pytest.raises(SystemExit, match="2"):
        parse(wrong)


def test_help_is_the_first_sentence_and_the_default():
    options = SignatureOptions(example).options
    assert options["depth"].help() == "how deep it is (Eq. 5) (default: 3)"
    assert options["rate"].help() == "AdamW's step (default: auto)"
    assert options["cold"].help().startswith("the share of queries to come")  # as in pefa_xs
    assert options["exact"].help() == "whether it is so (default: yes)" and options["fast"].help() == "whether it is so"


def test_names_defaults_and_choices_of_the_command_line():
    options = SignatureOptions(
        example, only=("depth", "kind"), names={"depth": "how_deep"}, defaults={"kind": "b"}, choices={"kind": ("b",)}
    )
    parser = argparse.ArgumentParser()
    options.add_to(parser)
    assert options.given(parser.parse_args(["--how-deep", "2"])) == {"depth": 2, "kind": "b"}
    assert "(default: b)" in parser.format_help()
    with pytest.raises(SystemExit):
        parser.parse_args(["--kind", "a"])
