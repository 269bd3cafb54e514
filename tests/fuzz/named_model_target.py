"""Target "named models": artifacts that name a model anywhere on the machine; nothing of it may end up in a copy."""

from __future__ import annotations

import os
import pickle
import shutil
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import vizsla
from tests.artifacts.signing import read_manifest, write_manifest
from tests.fuzz.resigning import resign
from tests.fuzz.uses import UseError, attempt
from vizsla.base.encoder import FunctionEncoder
from vizsla.methods.dense import dense
from vizsla.methods.pq import pq

ITEMS = {f"item-{number}": f"a fig tree number {number}" for number in range(20)}
SECRET = b"a secret that must stay where it is"
FILES = ["model.onnx", "model.onnx_data", "tokenizer.json", "encoder.json", "pairs.json", "config.json", "keys.txt"]
FILES += ["modules.json", "vocab.txt", "model.safetensors", "spiece.model", "1_Pooling/config.json", ".env", "id_rsa"]
KINDS = ["onnx", "sentence", "onnx", "sentence", "torch", "FunctionEncoder", "", 3, None, "../onnx"]
PLACES = ["{secret}", "{secret}/", "{secret}/.", "{secret}/../secret", "../../secret", "/etc", "/", "", ".", "..", "~"]
PLACES += ["{link}", "{link}/", "/proc/self/cwd/secret", "/dev/fd/0", "{secret}\0", "{secret}/model.onnx", "org/model"]
PLACES += ["file://{secret}", "\ud800"]
OPTIONS: list[Any] = [{}, {"pooling": "mean"}, {"max_tokens": 8}, {"max_tokens": -1}, {"download": True}, [], None]
WANTED: list[Any] = [None, True, False, "org/model", ["/nowhere"], [], "", ["{scratch}/elsewhere"]]


class NamedModelTarget:
    """Runs cases in a folder of its own.

    Parameters
    ----------
    scratch : Path
        An empty folder.
    seed : int
        What the numbers of cases are drawn with.
    only : str
        Not used.
    """

    def __init__(self, scratch: Path, seed: int, only: str = ""):
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        self.scratch, self.seed = scratch.resolve(), seed

    def run(self, case: int, kept: list[int] | None = None) -> tuple[str, list[str]]:
        """Run a case; return the outcome and what the artifact names."""
        random = np.random.default_rng([self.seed, case])
        for name in ("named", "out", "secret", "link"):
            path = self.scratch / name
            path.unlink() if path.is_symlink() else shutil.rmtree(path, ignore_errors=True)
        self._hide(random)
        said = self._name(random)
        try:
            return self._outcome(random), [said]
        except UseError as failure:
            return f"failure: {failure}", [said]

    def _hide(self, random: np.random.Generator) -> None:
        folder = self.scratch / "secret"
        (folder / "1_Pooling").mkdir(parents=True)
        (self.scratch / "link").symlink_to(folder)
        elsewhere = self.scratch / "elsewhere.txt"
        elsewhere.write_bytes(SECRET)
        for name in FILES:
            if random.random() < 0.6:
                (folder / name).write_bytes(SECRET)
            elif random.random() < 0.3:
                (folder / name).symlink_to(elsewhere)

    def _name(self, random: np.random.Generator) -> str:
        root = Path(shutil.copytree(self._saved(), self.scratch / "named", copy_function=os.link))
        folders = [file.parent for file in sorted(root.rglob("manifest.json"))]
        folders = [folder for folder in folders if "encoder" in read_manifest(folder)["parameters"]]
        said = []
        for folder in folders:
            manifest = read_manifest(folder)
            known = manifest["parameters"]["encoder"]
            named = {"secret": self.scratch / "secret", "link": self.scratch / "link"}
            place = _one(PLACES, random).format(**named)
            described = {**known, "kind": _one(KINDS, random), "options": _one(OPTIONS, random)}
            described |= {str(random.choice(["name", "path"])): place}
            if random.random() < 0.2:
                described |= {"bytes": _one([0, 1, -1, 2**70, "x"], random)}
            manifest["parameters"]["encoder"] = described
            manifest["parameters"]["encoder_saved"] = bool(random.random() < 0.1)
            said.append(repr(described))
            write_manifest(folder, manifest)
        resign(root, files=False)
        return "; ".join(said)

    @cache  # noqa: B019 - one target a process
    def _saved(self) -> Path:
        encoder = FunctionEncoder(_vectors, dim=8, name="numbers")
        part = dense(ITEMS, encoder)
        return ((part | vizsla.bm25(ITEMS)) >> dense(ITEMS, encoder, index="flat")).save(self.scratch / "sound")

    def _outcome(self, random: np.random.Generator) -> str:
        loaded = attempt("load", lambda: vizsla.load(self.scratch / "named"))
        if loaded is None:
            return "refused"
        wanted = _one(WANTED, random)
        wanted = [each.format(scratch=self.scratch) for each in wanted] if isinstance(wanted, list) else wanted
        part = loaded.scorer
        ways = [lambda: loaded, lambda: part, lambda: loaded % 3, lambda: (part | loaded) >> part]
        ways.append(lambda: pq(part, bytes=4))
        for number, way in enumerate(ways):
            made = attempt("make", way)
            if made is not None:
                attempt("save", lambda: made.save(self.scratch / "out" / str(number), bundle_models=wanted))  # noqa: B023
        copied = attempt("pickle", lambda: pickle.dumps(part))
        attempt("repr", lambda: repr(loaded))
        kind = getattr(part.encoder, "description", {}).get("kind")
        if kind == "onnx":
            attempt("search", lambda: part("fig", k=3))
        out = self.scratch / "out"
        held = [file for file in out.rglob("*") if file.is_file() and SECRET in file.read_bytes()]
        if held or SECRET in (copied or b""):
            raise UseError(f"save: a file of another folder was copied to {held}")
        return "answered" if out.exists() else "refused"


def _one(values: list[Any], random: np.random.Generator) -> Any:
    return values[int(random.integers(len(values)))]


def _vectors(texts: Any) -> Any:
    return [[float((len(text) * place) % 7 + 1) for place in range(1, 9)] for text in texts]
