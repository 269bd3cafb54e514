"""Encodes texts, with a pause at every step, or up to a step at which it waits to be killed.

python -m tests.encoders.encode_slowly FOLDER PAUSE [STEPS]
"""

import signal
import sys
import time

import numpy as np

from vizsla.base.encoder import FunctionEncoder
from vizsla.encoders.vectors import Vectors

TEXTS = [f"text {number}" for number in range(5000)]


def rows(texts, pause=0.0):
    time.sleep(pause)
    return np.array([[len(text), int(text.split()[1])] for text in texts], np.float32)


def encoder(pause=0.0):
    return FunctionEncoder(lambda texts: rows(texts, pause), dim=2, name="numbers")


def encoder_until(steps):
    """An encoder that never comes to the end of the step after these."""
    left = iter(range(steps))

    def step(texts):
        if next(left, None) is None:
            signal.pause()
        return rows(texts)

    return FunctionEncoder(step, dim=2, name="numbers")


if __name__ == "__main__":
    made = encoder_until(int(sys.argv[3])) if len(sys.argv) > 3 else encoder(float(sys.argv[2]))
    Vectors.encode(TEXTS, made, sys.argv[1], storage="float32")
