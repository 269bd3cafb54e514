"""How much hypothesis tries, which skips pass in CI, and that no test asks the hub for a model."""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.support.skips import judged, refuse_torch

# No deadlines and no complaints about slowness, since a shared machine is slow at random; less under a sanitizer.
settings.register_profile(
    "vizsla",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("sanitize", settings.get_profile("vizsla"), max_examples=20, derandomize=True)
settings.load_profile(os.environ.get("VIZSLA_HYPOTHESIS", "vizsla"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the models of the tests are packages


def pytest_configure(config):
    refuse_torch()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return judged((yield))
