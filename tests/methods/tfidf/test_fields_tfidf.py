"""TF-IDF with weighed fields: the weighted sum of the fields' rows, brought to length 1."""

import numpy as np
import pytest

from vizsla import Dataset, load, tfidf
from vizsla.core.sparse import as_scipy
from vizsla.errors import InputError

ITEMS = [
    {"id": "a", "title": "fig tree", "description": "grows in the garden"},
    {"id": "b", "title": "garden shed", "description": "next to a fig tree"},
    {"id": "c", "title": "lamp", "description": ""},
]


def test_rows_are_weighted_sums_of_length_1(tmp_path):
    search = tfidf(Dataset.of(ITEMS), fields={"title": 3, "description": 1})
    titles, texts = (
        as_scipy(search.encoder.items([item[name] for item in ITEMS])).toarray() for name in ("title", "description")
    )
    expected = 3 * titles + texts
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.allclose(search.item_rows().toarray(), expected, atol=1e-6)
    assert search("fig tree").ids[0][0] == "a"
    assert tfidf(Dataset.of(ITEMS), fields={"title": 1, "description": 9})("fig tree").ids[0][0] == "b"
    search.save(tmp_path / "a")
    loaded = load(tmp_path / "a")
    assert np.array_equal(loaded("fig garden").scores, search("fig garden").scores)
    assert np.array_equal(loaded.recipe.build(Dataset.of(ITEMS))("fig").scores, search("fig").scores)


def test_what_fields_do_not_have():
    with pytest.raises(InputError, match="must have weights"):
        tfidf(Dataset.of(ITEMS), fields="learn")
    with pytest.raises(InputError, match="build it again"):
        tfidf(Dataset.of(ITEMS), fields={"title": 1}).with_items({"d": "a fig"})
