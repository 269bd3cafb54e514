"""A cross-encoder written as ONNX, with float32 weights or int8 ones that are checked first."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from vizsla.encoders.onnx import MODEL, TOKENIZER
from vizsla.errors import InputError
from vizsla.export.early_choice import choose_early_in_file
from vizsla.export.int8_matrices import quantise_file
from vizsla.export.onnx_export import write_tokenizer, write_traced
from vizsla.export.quantisation_check import LOSS, QuantisationCheck, recall_of
from vizsla.extra import import_extra
from vizsla.io.atomic import writing_folder
from vizsla.pairs.onnx_pairs import OnnxPairModel
from vizsla.pairs.pair_model import PairModel
from vizsla.pairs.settings import SETTINGS, PairSettings
from vizsla.pairs.torch_pairs import TorchPairModel, pair_scores


def export_pair_model(
    model: TorchPairModel, path: str | Path, *, overwrite: bool = False, threads: int = 1
) -> OnnxPairModel:
    """Write a cross-encoder to a folder that `OnnxPairModel` reads, and return that (extras `neural` and `onnx`).

    Parameters
    ----------
    model : TorchPairModel
        Of either form; its limit of tokens is written too.
    path : path
        The folder to make.
    overwrite : bool
        Replace a folder that is there already.
    threads : int
        What ONNX Runtime may use.
    """
    import_extra("onnx", "Exporting to ONNX", "onnx")
    with writing_folder(path, overwrite=overwrite) as folder:
        inner, form = model.model.eval(), model.form
        output = ("scores", ("texts",))
        write_traced(inner, lambda given: pair_scores(inner, given, form), folder / MODEL, output=output)
        choose_early_in_file(folder / MODEL)
        write_tokenizer(model.tokenizer, folder)
        PairSettings(model.max_tokens).write(folder / SETTINGS)
    return OnnxPairModel(path, threads=threads)


def quantise_pair_model(
    model: OnnxPairModel,
    path: str | Path,
    queries: Sequence[str],
    lists: Sequence[Sequence[str]],
    *,
    relevant: Sequence[Sequence[int]] | None = None,
    depth: int = 10,
    most_loss: float = LOSS,
    overwrite: bool = False,
) -> tuple[OnnxPairModel, QuantisationCheck]:
    """Write an int8 twin, let both order the candidates of held-out queries, and keep it if it holds.

    Returns the int8 model, or the given one when recall falls by more than `most_loss`; then nothing is written.

    Parameters
    ----------
    model : OnnxPairModel
        The float32 model.
    path : path
        The folder to make.
    queries : sequence of str
        Held-out queries.
    lists : sequence of sequences of str
        For each query the texts to order, such as those that BM25 finds.
    relevant : sequence of sequences of int, optional
        For each query the positions of the right ones in its list; the one that float32 puts first unless given.
    depth : int
        How far down is looked.
    most_loss : float
        How much recall may fall.
    overwrite : bool
        Replace a folder that is there already.
    """
    if not len(queries) or len(queries) != len(lists) or (relevant is not None and len(relevant) != len(queries)):
        raise InputError("`lists` and `relevant` must have an entry for each of some queries. Got others.")
    with TemporaryDirectory() as trial:
        quantise_file(model.path / MODEL, Path(trial) / MODEL)
        for name in (TOKENIZER, SETTINGS):
            if (model.path / name).exists():
                shutil.copyfile(model.path / name, Path(trial) / name)
        small = OnnxPairModel(trial, threads=model.threads, batch=model.batch)
        check = _checked(model, small, queries, lists, relevant, depth, most_loss)
        if not check.accepted:
            return model, check
        with writing_folder(path, overwrite=overwrite) as folder:
            shutil.copytree(trial, folder, dirs_exist_ok=True)
    return OnnxPairModel(path, threads=model.threads, batch=model.batch), check


def _checked(
    full: PairModel,
    small: PairModel,
    queries: Sequence[str],
    lists: Sequence[Sequence[str]],
    relevant: Sequence[Sequence[int]] | None,
    depth: int,
    most_loss: float,
) -> QuantisationCheck:
    before, slow = _orders(full, queries, lists)
    after, fast = _orders(small, queries, lists)
    wanted = [row[:1] for row in before] if relevant is None else [np.asarray(row, np.int64) for row in relevant]
    heads = [row[:depth] for row in before], [row[:depth] for row in after]
    return QuantisationCheck(
        queries=len(queries),
        items=max(map(len, lists)),
        recall=recall_of(heads[0], wanted),
        recall_int8=recall_of(heads[1], wanted),
        agreement=recall_of(heads[1], heads[0]),
        speed=slow / fast,
        depth=depth,
        most_loss=most_loss,
    )


def _orders(model: PairModel, queries: Sequence[str], lists: Sequence[Sequence[str]]) -> tuple[list[np.ndarray], float]:
    """Return each list's positions, best first, and how many seconds that took."""
    model.score_batch([queries[0]], ["a"])  # the first call also sets things up
    asked = [query for query, texts in zip(queries, lists, strict=True) for _ in texts]
    start = perf_counter()
    scores = model.scores(asked, [text for texts in lists for text in texts])
    seconds = perf_counter() - start
    ends = np.cumsum([len(texts) for texts in lists])[:-1]
    return [np.argsort(-row, kind="stable") for row in np.split(scores, ends)], seconds
