"""Which folders are collected where: the adapters to other frameworks are tested by `make test-integrations` alone."""

import os

INTEGRATIONS = os.environ.get("VIZSLA_TEST_INTEGRATIONS") == "1"
collect_ignore = [] if INTEGRATIONS else ["tests/integrations", "src/vizsla/integrations"]


def pytest_report_header() -> str:
    """Say which tests another command runs."""
    return "" if INTEGRATIONS else "not collected: tests/integrations (`make test-integrations` has their libraries)"
