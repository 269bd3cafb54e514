"""Settings take numbers where numbers are meant: no bools, no NaN, nothing out of range."""

import math
from dataclasses import fields

import numpy as np
import pytest

from vizsla.core.validation import NumberRange
from vizsla.errors import InputError, check_positive, check_range
from vizsla.methods import bi_encoder, cross_encoder, dssm
from vizsla.methods.jpq import settings as jpq
from vizsla.methods.pefa import options as pefa_xl
from vizsla.methods.pefa import options as pefa_xs
from vizsla.methods.sidr import settings as sidr
from vizsla.methods.tokens import learner

CLASSES = {
    jpq.JpqSettings: (jpq.SETTING_RANGES, {}),
    sidr.SidrSettings: (sidr.SETTING_RANGES, {}),
    bi_encoder.BiEncoderSettings: (bi_encoder.SETTING_RANGES, {}),
    dssm.DssmSettings: (dssm.SETTING_RANGES, {}),
    cross_encoder.CrossEncoderSettings: (cross_encoder.SETTING_RANGES, {}),
    learner.LearningSettings: (learner.SETTING_RANGES, {}),
    pefa_xs.XsSettings: (pefa_xs.XS_RANGES, {"weight": 0.5}),
    pefa_xl.XlSettings: (pefa_xl.XL_RANGES, {"weight": 0.5, "neighbors": 3}),
}
NAMES = [(made, name) for made, (ranges, _) in CLASSES.items() for name in ranges]


@pytest.mark.parametrize("wrong", [True, False, math.nan, "1", [1]], ids=repr)
@pytest.mark.parametrize(("made", "name"), NAMES, ids=lambda each: getattr(each, "__name__", each))
def test_what_is_no_number_is_refused_by_name(made, name, wrong):
    with pytest.raises(InputError, match=rf"^`{name}` must be .*\. Got "):
        made(**{**CLASSES[made][1], name: wrong})


@pytest.mark.parametrize("made", CLASSES, ids=lambda made: made.__name__)
def test_every_number_of_a_settings_class_has_a_range(made):
    numbers = {field.name for field in fields(made) if str(field.type).split(" ")[0] in ("int", "float")}
    assert numbers - {"stop"} == set(CLASSES[made][0])


def test_a_bool_is_no_epoch_to_stop_at():
    with pytest.raises(InputError, match=r"`stop` must be a whole number of at least 0 and at most 3, or None\."):
        jpq.JpqSettings(stop=True)


@pytest.mark.parametrize("check", [lambda: check_positive("k", True), lambda: check_range("b", True, 0, 1)])
def test_the_checks_of_arguments_refuse_bools_too(check):
    with pytest.raises(InputError, match="Got True"):
        check()


@pytest.mark.parametrize(
    ("given", "inside", "outside"),
    [
        (NumberRange(0, 1), [0, 1, 0.5, np.float32(1), np.int64(0)], [-1, 1.1, math.inf, None, np.True_, 1j]),
        (NumberRange(0, 1, above=True, below=True), [0.5], [0, 1]),
        (NumberRange(2, whole=True), [2, np.int32(7)], [1, 2.0, 2**63, np.float64(3)]),
        (NumberRange(optional=True), [None, -5, 1e300], [math.inf, -math.inf]),
    ],
    ids=str,
)
def test_ranges(given, inside, outside):
    assert [given.contains(value) for value in inside] == [True] * len(inside)
    assert [given.contains(value) for value in outside] == [False] * len(outside)
