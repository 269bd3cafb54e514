"""The alignment by bits is the table of longest common subsequences."""

from __future__ import annotations

import random

import numpy as np
import pytest

from vizsla.demo.tour import alignment


def _common(a: str, b: str) -> int:
    above = [0] * (len(b) + 1)
    for letter in a:
        row = [0]
        for at, other in enumerate(b):
            row.append(above[at] + 1 if letter == other else max(above[at + 1], row[at]))
        above = row
    return above[-1]


@pytest.mark.parametrize("letters", [0, 1, 63, 64, 65, 130])
def test_agrees_with_the_table(letters):
    pick = random.Random(letters)
    query = "".join(pick.choices("abcü", k=letters))
    texts = ["", *("".join(pick.choices("abcdü", k=pick.randint(0, 80))) for _ in range(15))]
    expected = [2 * _common(query, text) / max(1, len(query) + len(text)) for text in texts]
    assert np.allclose(alignment(query, texts), expected, atol=1e-6)
