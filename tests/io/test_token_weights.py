"""Sparse vectors of other models: their inner products, found by the inverted index."""

import json

import numpy as np
import pytest

from vizsla.errors import DataError
from vizsla.indexes.inverted import InvertedIndex
from vizsla.io.token_weights import read_token_weights


def written(path, rows):
    path.write_text("\n".join(json.dumps({"id": id, "vector": vector}) for id, vector in rows.items()))
    return path


def test_the_index_finds_the_largest_inner_products(tmp_path):
    pick = np.random.default_rng(0)
    tokens = [f"##t{number}" for number in range(40)]

    def made_up(count, prefix):
        return {
            f"{prefix}{row}": {token: float(np.float32(pick.random() * 3)) for token in pick.choice(tokens, 6, False)}
            for row in range(count)
        }

    items, queries = made_up(60, "d"), made_up(5, "q")
    queries["q0"]["elsewhere"] = 9.0
    read = read_token_weights(written(tmp_path / "items.jsonl", items))
    asked = read_token_weights(written(tmp_path / "queries.jsonl", queries), terms=read.terms)
    found = InvertedIndex.build(read.rows).search(asked.rows, 3)
    bounds = found.offsets.tolist()
    for row, query in enumerate(queries.values()):
        sums = {
            id: sum(query.get(token, 0) * weight for token, weight in vector.items()) for id, vector in items.items()
        }
        best = sorted(sums, key=sums.get, reverse=True)[:3]
        assert [read.ids[number] for number in found.items[bounds[row] : bounds[row + 1]].tolist()] == best
        scores = found.scores[bounds[row] : bounds[row + 1]]
        assert scores.tolist() == pytest.approx([sums[id] for id in best], rel=1e-5)


@pytest.mark.parametrize("line", ['{"id": 3, "vector": {}}', '{"id": "a"}', '{"id": "a", "vector": {"x": -1}}', "[]"])
def test_what_is_no_vector_names_its_line(tmp_path, line):
    file = tmp_path / "items.jsonl"
    file.write_text('{"id": "f", "vector": {"fig": 1}}\n' + line)
    with pytest.raises(DataError, match="line 2"):
        read_token_weights(file)
