"""Arguments of a type that an option does not have raise an InputError that names the option."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla import Dataset, bm25
from vizsla.errors import InputError

FRUIT = Dataset.of([{"id": "f", "text": "a fig", "kind": "tree"}], keep_texts=True)
CALLS = {
    "syntax": lambda: bm25(FRUIT)("fig", syntax=np.zeros((2, 3))),
    "syntax of explain": lambda: bm25(FRUIT).explain("fig", "f", syntax=np.zeros((2, 3))),
    "highlight": lambda: bm25(FRUIT).page("fig", highlight=float("nan")),
    "highlight each": lambda: bm25(FRUIT).page("fig", highlight=[3]),
    "sort": lambda: bm25(FRUIT).page("fig", sort=np.array(3)),
    "facets": lambda: bm25(FRUIT).page("fig", facets=np.array(3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_option_of_another_type_is_refused(name):
    with pytest.raises(InputError):
        CALLS[name]()


def test_no_highlights_may_be_said_in_any_way():
    for none in (False, None, "", [], np.array([])):
        assert bm25(FRUIT).page("fig", highlight=none).hits[0].id == "f"
