"""Training by sub-trees gives the bytes of training at once, for every scheme of negatives and number of workers."""

import numpy as np
import pytest

from tests.methods.xrlinear.toy import toy
from tests.support.folders import contents
from vizsla.core.sparse import SparseRows
from vizsla.methods.xrlinear.build import xrlinear
from vizsla.methods.xrlinear.matchers import train_matchers
from vizsla.methods.xrlinear.subtrees import compacted, train_part
from vizsla.methods.xrlinear.tree import LabelTree, tree_shape
from vizsla.scale.local import LocalPlacement


class Recording(LocalPlacement):
    """Threads that note what each task was given."""

    def __init__(self, workers):
        super().__init__(workers)
        self.parts = []

    def _submit(self, job, task):
        self.parts += [task] if job._function is train_part else []
        return super()._submit(job, task)


def random_problem(seed=0, rows=400, dim=300, items=200):
    pick = np.random.default_rng(seed)
    features = pick.normal(size=(rows, dim)).astype(np.float32) * (pick.random((rows, dim)) < 0.05)
    clicks = (pick.random((rows, items)) < 0.01).astype(np.float32)
    clicks[np.arange(rows), pick.integers(0, items, rows)] = 1 + pick.random(rows)
    tree = LabelTree(tree_shape(items, branching=4, max_leaf=6), pick.permutation(items))
    return SparseRows.of(features), SparseRows.of(clicks), tree


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        for x, y in zip(a, b, strict=True):
            assert x.dtype == y.dtype
            assert x.tobytes() == y.tobytes()


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_parts_train_what_the_whole_does(workers, loss):
    features, clicks, tree = random_problem()
    options = {"loss": loss, "threshold": 0.01, "seed": 3, "epochs": 20}
    kept = np.random.default_rng(1).random(len(features)) < 0.8
    whole = train_matchers(features, clicks, tree, item_instances=kept, **options)
    on = Recording(workers)
    assert_same(whole, train_matchers(features, clicks, tree, item_instances=kept, on=on, **options))
    if workers > 1:
        assert len(on.parts) >= workers
        assert all(len(part.features) < len(features) for part in on.parts), "a task has its own rows only"
        assert all(part.features.width <= features.width for part in on.parts)
        assert min(part.features.width for part in on.parts) < features.width, "and its own features"


@pytest.mark.parametrize("negatives", ["tfn", "man", "tfn+man"])
def test_a_model_has_the_same_digest(tmp_path, negatives):
    options = {"negatives": negatives, "branching": 4, "max_leaf": 4, "kind_shares": (1, 1, 1)}
    dataset = toy(60, cold=6)
    xrlinear(dataset, **options).save(tmp_path / "local")
    for workers in (1, 2, 5):
        xrlinear(dataset, on=LocalPlacement(workers), **options).save(tmp_path / str(workers))
        assert contents(tmp_path / str(workers)) == contents(tmp_path / "local")


def test_children_of_one_parent_are_split():
    pick = np.random.default_rng(2)
    features = SparseRows.of(pick.normal(size=(120, 40)).astype(np.float32))
    clicks = SparseRows.of(np.eye(100, dtype=np.float32)[pick.integers(0, 100, 120)])
    tree = LabelTree([[0, 100]], np.arange(100))
    assert_same(train_matchers(features, clicks, tree), train_matchers(features, clicks, tree, on=LocalPlacement(3)))


def test_heavier_subtrees_come_first():
    features, clicks, tree = random_problem(rows=900)
    on = Recording(3)
    train_matchers(features, clicks, tree, on=on)
    sizes = [len(part.features.columns) for part in on.parts]
    assert len(sizes) > 3
    assert max(sizes) < 2 * np.mean(sizes), "balanced by non-zeros"


def test_compacted_rows_without_entries():
    rows, columns = compacted(SparseRows.of(np.zeros((2, 5), np.float32)))
    assert rows.shape == (2, 0)
    assert not len(columns)
