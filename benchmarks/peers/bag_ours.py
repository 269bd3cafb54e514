"""Vizsla's bag of tokens as a contestant: from raw texts to an index."""

import os

from clock import cpu_seconds, read_lines, serve

from vizsla import tokens
from vizsla.text import WordPiece


def index(file):
    texts = read_lines(file)
    vocabulary = os.environ.get("VIZSLA_VOCABULARY")
    pieces = None if vocabulary is None else WordPiece.open(vocabulary)
    return cpu_seconds(lambda: tokens(texts, analyzer=pieces))[1]


serve(index=index)
