"""How much hypothesis tries, which skips pass in CI, that Ctrl-C works, and that no test asks the hub for a model."""

import os
import signal

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
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts its background jobs so, and children inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the models of the tests are packages
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # tests import ONNX Runtime by themselves too
# Before numpy is loaded. BLAS's threads wait for each other by spinning, and on a busy machine that is CPU time: a fit
# that stops within a hundredth of a second took more than one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_configure(config):
    refuse_torch()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return judged((yield))
