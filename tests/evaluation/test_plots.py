import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.evaluation.random_systems import judged_dict, noisy_system
from vizsla.errors import InputError
from vizsla.evaluation import compare
from vizsla.evaluation.plots import _overlap, best_box, plot_curves, plot_points

TEXTS = {"xlabel": "milliseconds a query, median", "ylabel": "R@10", "title": "R@10 against latency"}
POINTS = {"bm25": (0.2, 0.5), "a | b >> ce": (40.0, 0.7), "costs $5 & more_$6": (0.21, 0.5)}


@pytest.fixture(scope="module")
def comparison():
    data = judged_dict(20)
    systems = {f"noise {noise}": noisy_system(data, noise=noise, seed=1) for noise in (0.1, 1.0)}
    return compare(systems, data, measures=["R@10", "nDCG@5"], latency_queries=5)


def svg_texts(path):
    return {"".join(node.itertext()).strip() for node in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")}


@pytest.mark.parametrize("x", ["ms_p50", "ms_p99", "bytes", "bytes_per_item", "scored", "model_calls"])
def test_a_comparison_is_drawn_against_every_cost(comparison, tmp_path, x):
    path = comparison.plot(tmp_path / "plots" / "quality.png", x=x, y="R@10")
    pixels = np.asarray(Image.open(path).convert("L"))
    assert pixels.shape == (736, 1152)
    assert 0.01 < (pixels < 250).mean() < 0.3


def test_an_svg_names_systems_measure_and_unit(comparison, tmp_path):
    texts = svg_texts(comparison.plot(tmp_path / "quality.svg", x="bytes", y="nDCG@5"))
    assert {"noise 0.1", "noise 1.0", "nDCG@5 (up is better)", "bytes (log scale; left is better)"} <= texts
    assert "nDCG@5 against size, 20 queries" in texts


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_same_data_gives_the_same_bytes(tmp_path, suffix):
    first, second = (plot_points(POINTS, tmp_path / f"{n}.{suffix}", **TEXTS).read_bytes() for n in (1, 2))
    assert first == second


def test_a_cost_of_zero_gets_a_linear_axis_without_negative_ticks(comparison, tmp_path):
    texts = svg_texts(comparison.plot(tmp_path / "calls.svg", x="model_calls"))
    assert "model calls a query (left is better)" in texts
    assert not any(text.startswith(("-", "−")) for text in texts)


def test_names_are_written_as_they_are(tmp_path):
    assert set(POINTS) <= svg_texts(plot_points(POINTS, tmp_path / "points.svg", **TEXTS))


def test_a_single_point_and_equal_points_can_be_drawn(tmp_path):
    plot_points({"only": (1.0, 0.0)}, tmp_path / "one.png", **TEXTS)
    plot_points({"a": (1.0, 0.4), "b": (1.0, 0.4)}, tmp_path / "two.png", **TEXTS)
    assert len(list(tmp_path.glob("*.png"))) == 2


def test_curves_have_a_legend(tmp_path):
    curves = {"hnsw": [(0.1, 0.7), (0.05, 0.5)], "tree": [(0.2, 0.8)]}
    assert {"hnsw", "tree", "R@10 (up is better)"} <= svg_texts(plot_curves(curves, tmp_path / "c.svg", **TEXTS))
    assert "R@10 against latency: tree" in svg_texts(plot_curves({"tree": [(1, 0.5)]}, tmp_path / "d.svg", **TEXTS))


@pytest.mark.parametrize(("count", "length"), [(2, 3), (2, 40), (5, 3), (5, 40), (6, 200), (9, 40), (9, 200)])
def test_nothing_is_cut_off_at_the_edges(tmp_path, count, length):
    curves = {f"{number} {'w' * length}": [(0.1, 0.3), (1.0, 0.4 + number / 20)] for number in range(count)}
    said = "MRR@10, all held-out queries"
    path = plot_curves(curves, tmp_path / "a.png", xlabel="weight of the base", ylabel=said, title="x", cost=False)
    pixels = np.asarray(Image.open(path).convert("L"))
    for edge in (pixels[:, :2], pixels[:, -2:], pixels[:2], pixels[-2:]):
        assert (edge == 255).all()


def test_what_cannot_be_drawn_says_so(comparison, tmp_path):
    for options, message in [({"x": "score"}, "`x` must be one of"), ({"y": "R@7"}, "`y` must be one of R@10")]:
        with pytest.raises(InputError, match=message):
            comparison.plot(tmp_path / "quality.png", **options)
    with pytest.raises(InputError, match=r"must end in .png, .svg, .pdf"):
        comparison.plot(tmp_path / "quality.gif")
    with pytest.raises(InputError, match="`curves`"):
        plot_curves({"hnsw": []}, tmp_path / "c.png", **TEXTS)
    data = judged_dict(3)
    timeless = compare({"a": noisy_system(data, noise=1, seed=0)}, data, latency_queries=0)
    with pytest.raises(InputError, match="`x` must be a cost that was measured"):
        timeless.plot(tmp_path / "quality.png")
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(150, 850), st.floats(150, 550)), min_size=1, max_size=8))
def test_names_cover_no_point_and_no_other_name_and_stay_inside(centers):
    taken = [(x - 8, y - 8, x + 8, y + 8) for x, y in centers]
    points = len(taken)
    for center in centers:
        taken.append(best_box(center, (70, 12), taken, (0, 0, 1000, 700))[1])
    for number, box in enumerate(taken[points:], points):
        assert all(_overlap(box, other) == 0 for other in taken[:number])
        assert box[0] >= 0 and box[1] >= 0 and box[2] <= 1000 and box[3] <= 700
