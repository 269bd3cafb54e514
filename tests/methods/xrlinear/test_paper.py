"""`paper=True`: the tree against Lloyd's algorithm by hand, the features against scikit-learn's formula in numpy."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from vizsla import Dataset, xrlinear
from vizsla.errors import InputError
from vizsla.methods.xrlinear.paper import means_tree, paper_depth, paper_features


def directions(count, dim, seed=0):
    rows = np.random.default_rng(seed).standard_normal((count, dim))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def lloyd(rows, items, count, random):
    """Spherical means written out: no vectorized products, no sparse matrices."""
    if len(items) <= count:
        return [[item] for item in items]
    means = [rows[items[at]] for at in sorted(random.permutation(len(items))[:count].tolist())]
    labels = None
    for _ in range(20):
        now = [int(np.argmax([float(np.dot(rows[item], mean)) for mean in means])) for item in items]
        assert set(now) == set(range(count)), "these data leave no mean alone"
        if now == labels:
            break
        labels = now
        sums = [
            sum(rows[item] for item, at in zip(items, labels, strict=True) if at == number) for number in range(count)
        ]
        means = [total / np.linalg.norm(total) for total in sums]
    return [[item for item, at in zip(items, labels, strict=True) if at == number] for number in range(count)]


def test_the_tree_is_spherical_means_from_the_root_down():
    rows = directions(150, 6)
    tree = means_tree(csr_array(rows), branching=4, depth=3, seed=7)
    random, clusters = np.random.default_rng(7), [list(range(150))]
    for layer in range(1, 3):
        clusters = [child for items in clusters for child in lloyd(rows, items, 4, random)]
        assert [sorted(tree.items_under(layer, node).tolist()) for node in range(len(clusters))] == clusters
    assert tree.widths == (4, 16, 150) and tree.depth == 3


def test_the_depth_is_the_papers():
    assert [paper_depth(count, 32) for count in (100, 101, 3200, 3201, 100_000_000)] == [1, 2, 2, 3, 5]
    assert means_tree(csr_array(directions(40, 3)), branching=2, depth=4).widths[:3] == (2, 4, 8)
    with pytest.raises(InputError, match="at most 256 items in a cluster"):
        means_tree(csr_array(directions(600, 3)), branching=2, depth=2)


def test_items_without_a_vector_and_few_items_have_a_place():
    rows = np.zeros((30, 3), np.float32)
    rows[:10] = directions(10, 3)
    tree = means_tree(csr_array(rows), branching=4, depth=3)
    assert sorted(tree.items.tolist()) == list(range(30)) and tree.widths[0] == 4
    same = means_tree(csr_array(np.ones((9, 2), np.float32)), branching=3, depth=2)
    assert same.widths == (3, 9) and sorted(same.items.tolist()) == list(range(9))


def grams(text):
    words = text.lower().split()
    found = [("u", word) for word in words] + [("b", pair) for pair in pairwise(words)]
    for word in words:
        marked = f"#{word}#"
        found += [("t", marked[at : at + 3]) for at in range(len(marked) - 2)]
    return Counter(found)


def test_the_features_are_one_tfidf_row():
    texts = ["red fig tree", "red red pear", "fig pear pear", "old red fig"]
    encoder = paper_features(texts)
    total = [grams(text) for text in texts]
    known = Counter(gram for row in total for gram in row)
    for text, counts in zip(texts, total, strict=True):
        values = {gram: n * (1 + np.log((1 + len(texts)) / (1 + known[gram]))) for gram, n in counts.items()}
        length = np.sqrt(sum(value**2 for value in values.values()))
        row = encoder.queries([text])
        found = sorted(row.values.tolist())
        assert found == pytest.approx(sorted(value / length for value in values.values()), rel=1e-5)
        assert len(row.columns) == len(values)


def test_the_preset_learns_from_queries_alone_and_is_rebuilt_by_its_recipe(tmp_path):
    items = {f"d{n}": f"text {n}" for n in range(60)}
    words = [f"w{n}" for n in range(60)]
    log = [(f"{words[n]} {words[(n * 7) % 60]}", f"d{n}", 1 + n % 3) for n in range(50)]
    dataset = Dataset.of(items, clicks=log)
    model = xrlinear(dataset, paper=True, branching=4, depth=3)
    assert (
        model("w3 w21", k=1).ids == [["d3"]]
        and model("text", k=5).ids
        == xrlinear(Dataset.of(dict.fromkeys(items, "other"), clicks=log), paper=True, branching=4, depth=3)(
            "text", k=5
        ).ids
    )
    assert model.recipe.settings["paper"] is True and model.recipe.settings["depth"] == 3
    again = model.recipe.build(dataset)
    assert again(["w3 w21", "w9"], k=9) == model(["w3 w21", "w9"], k=9)
    for wrong in ({"kind_shares": [1, 1, 0]}, {"representation": "text"}, {"half_life": 3.0}):
        with pytest.raises(InputError, match="left alone with `paper`"):
            xrlinear(dataset, paper=True, **wrong)
    with pytest.raises(InputError, match="`depth` must be given with `paper`"):
        xrlinear(dataset, depth=3)
