"""estimate_xrlinear: size before training, against the model that the training makes."""

from __future__ import annotations

import json

import pytest

from tests.methods.xrlinear.toy import toy
from vizsla import xrlinear
from vizsla.cli import main
from vizsla.errors import InputError
from vizsla.methods.xrlinear.estimate import estimate_xrlinear

SMALL = {"branching": 4, "max_leaf": 4, "kind_shares": (1.0, 0.5, 0.5)}


def weights_of(model):
    return sum(int(layer.entry_offsets[-1]) for layer in model.index.layers)


@pytest.mark.parametrize("options", [{}, {"weights": "int8"}, {"threshold": 0.2}, {"paper": True}])
def test_all_nodes_say_the_size_exactly(options):
    given = options if options.get("paper") else {**SMALL, **options}
    model, told = xrlinear(toy(), **given), estimate_xrlinear(toy(), share=1.0, **given)
    assert (told.weights, told.share) == (weights_of(model), 1.0)
    assert told.nodes == sum(len(layer.factors) and int(layer.child_offsets[-1]) for layer in model.index.layers)
    assert told.nbytes == pytest.approx(model.index.nbytes, rel=0.2)


@pytest.mark.parametrize("cold", [0, 40])
def test_some_nodes_say_it_about(cold):
    data = toy(400, cold=cold)
    real, told = weights_of(xrlinear(data, **SMALL)), estimate_xrlinear(data, share=0.25, **SMALL)
    assert told.weights == pytest.approx(real, rel=0.3) and told.share < 0.7  # small layers are trained whole


def test_what_cannot_be_estimated_is_refused():
    for options, said in [
        ({"negatives": "man"}, "`negatives` must be"), ({"half_life": 3.0}, "`half_life`"),
        ({"share": 0.0}, "`share` must be above 0"), ({"beams": 3}, "Got beams"),
    ]:  # fmt: skip
        with pytest.raises(InputError, match=said):
            estimate_xrlinear(toy(), **options)


def test_the_command_only_says_it(tmp_path, capsys):
    items = tmp_path / "items.jsonl"
    items.write_text("".join(json.dumps({"id": name, "text": name}) + "\n" for name in ("fig", "pear")))
    (tmp_path / "clicks.tsv").write_text("query\titem\nred\tfig\ngreen\tpear\n")
    argv = ["train", "xrlinear", items, "--clicks", tmp_path / "clicks.tsv", "-o", tmp_path / "new", "--estimate"]
    assert main([*map(str, argv)]) == 0 and not (tmp_path / "new").exists()
    assert "2 matchers" in capsys.readouterr().out
