"""VocabularySession: a transformer with a vocabulary head on ONNX Runtime; token ids in, a value for each token out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.cached_property import cached_property
from vizsla.encoders.company import batch_for, of_one_length
from vizsla.encoders.foreign import typed_errors
from vizsla.errors import InputError
from vizsla.extra import import_extra
from vizsla.forking.lock import ForkLock

Ids = NDArray[np.int64]
INPUTS = {"input_ids", "attention_mask"}


class VocabularySession:
    """Loads the model when the first text comes, and runs texts of one length together.

    Parameters
    ----------
    model : uint8 array
        The bytes of an ONNX model: `input_ids` and `attention_mask` in, texts × tokens out.
    width : int
        How many tokens its head scores.
    batch : int
        How many texts are run together; only one by one where the model would round them by each other.
    threads : int
        What ONNX Runtime may use.
    """

    def __init__(self, model: NDArray[np.uint8], width: int, *, batch: int = 8, threads: int = 1):
        self.model, self.width, self.batch, self.threads = model, width, batch, threads
        self._made: Any = None
        self._lock = ForkLock()

    def values(self, texts: Sequence[Ids]) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Yield some texts' numbers and their values, until all had their turn."""
        for chosen in of_one_length([len(text) for text in texts], self._together):
            yield chosen, self._run([texts[number] for number in chosen])

    @cached_property
    def _together(self) -> int:
        return batch_for(self.model, self.batch)

    def _run(self, texts: list[Ids]) -> NDArray[np.float32]:
        ids = np.array(texts, np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        with typed_errors("The model must run on token ids"):
            values = np.asarray(self._session().run(None, given)[0])
        if values.dtype != np.float32 or values.shape != (len(texts), self.width) or not np.isfinite(values).all():
            wanted = f"{len(texts)} × {self.width} finite float32 numbers"
            raise InputError(f"The model must give {wanted}. Got {values.dtype} of shape {values.shape}.")
        return values

    def _session(self) -> Any:
        with self._lock:
            if self._made is None:
                self._made = self._load()
            return self._made

    def _load(self) -> Any:
        runtime = import_extra("onnxruntime", "Encoding with SiDR", "onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = self.threads, 1, 4
        with typed_errors("The model must be sound ONNX"):
            made = runtime.InferenceSession(self.model.tobytes(), options, providers=["CPUExecutionProvider"])
        if {entry.name for entry in made.get_inputs()} != INPUTS:
            raise InputError("The model must take input_ids and attention_mask. Got one that takes others.")
        return made
