"""A mapping that is one item must not be read as an item for each of its keys."""

import pytest

from vizsla import Dataset, Engine, Recipe, bm25
from vizsla.errors import InputError

FIG = {"id": "f", "title": "Fig", "text": "a red fig"}


@pytest.mark.parametrize("build", [bm25, Dataset.of, lambda item: Dataset.of(["a"], queries=item)])
def test_builders_refuse_one_record(build):
    with pytest.raises(InputError, match="put it into a list"):
        build(FIG)


def test_an_engine_refuses_one_item(tmp_path):
    engine = Engine.create(tmp_path / "e", members={"words": Recipe.of("bm25")})
    for change in (engine.add, engine.upsert):
        with pytest.raises(InputError, match="put it into a list"):
            change(FIG)
    assert engine.count() == 0


def test_ids_may_be_called_so():
    assert bm25({"id": "a fig", "other": "a pear"})("fig").ids == [["id"]]
    assert len(Dataset.of({"text": "a fig", "title": "a pear"}).items) == 2
