"""Every number among JPQ's settings has its bar."""

import pytest

from tests.support.bars import ABOVE_0, SHARE, WHOLE, WHOLE_FROM_0, check_bars
from vizsla.errors import InputError
from vizsla.methods.jpq.settings import JpqSettings

BARS = dict.fromkeys(("click_loss_weight", "adapter_rate", "centroid_rate", "decay", "warm_up"), SHARE)
BARS |= dict.fromkeys(("epochs", "batch", "negatives", "depth"), WHOLE) | dict.fromkeys(("sharpness", "clip"), ABOVE_0)
BARS |= dict.fromkeys(("synthetic_queries", "clicked_margin"), ([0, 16], [-0.01, 16.01]))
BARS |= dict.fromkeys(("reassignments", "seed"), WHOLE_FROM_0)


@pytest.mark.parametrize("name", BARS)
def test_bars(name):
    check_bars(JpqSettings, name, BARS[name])


def test_an_epoch_to_stop_at_is_one_of_the_epochs():
    check_bars(lambda **given: JpqSettings(epochs=4, **given), "stop", ([0, 4, None], [-1, 5, 1.5]))


@pytest.mark.parametrize(("parts", "rate"), [(16, 5e-6), (31, 5e-6), (32, 2e-5), (47, 2e-5), (48, 1e-4), (96, 1e-4)])
def test_the_papers_numbers(parts, rate):
    """Section 4.3 of the paper: batch 32, 200 negatives, LambdaRank; rates by the number of sub-spaces."""
    found = JpqSettings.of_paper(parts)
    assert (found.centroid_rate, found.adapter_rate, found.batch, found.negatives) == (rate, 5e-6, 32, 200)
    assert (found.loss, found.stage, found.synthetic_queries) == ("lambdarank", "centroids", 0.0)
    assert JpqSettings.of_paper(parts, batch=8, centroid_rate=0.5).centroid_rate == 0.5


@pytest.mark.parametrize("stage", ["negatives", "centroids", "distillation"])
@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_what_a_stage_trains(stage, rate):
    found = JpqSettings(stage=stage, centroid_rate=rate, click_loss_weight=0.25, reassignments=0)
    assert found.trains_centroids == (stage != "negatives" and rate > 0)
    assert found.stage_click_loss_weight == (0.25 if stage == "distillation" else 1.0)
    assert JpqSettings.of(found.to_dict()) == found
    if stage == "negatives":
        with pytest.raises(InputError, match="`reassignments` must be 0"):
            JpqSettings(stage=stage, reassignments=1)
    else:
        assert JpqSettings(stage=stage, reassignments=1).reassignments == 1
