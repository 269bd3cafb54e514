"""Encodes a thousand texts slowly, to be killed: python encode_slowly.py FOLDER."""

import sys
import time

import numpy as np

from vizsla.encoder import FunctionEncoder
from vizsla.encoders.vectors import Vectors

TEXTS = [f"text {number}" for number in range(5000)]


def rows(texts, pause=0.0):
    time.sleep(pause)
    return np.array([[len(text), int(text.split()[1])] for text in texts], np.float32)


def encoder(pause=0.0):
    return FunctionEncoder(lambda texts: rows(texts, pause), dim=2, name="numbers")


if __name__ == "__main__":
    Vectors.encode(TEXTS, encoder(float(sys.argv[2])), sys.argv[1], storage="float32")
