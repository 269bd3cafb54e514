"""How much hypothesis tries: no deadlines, since a shared machine is slow at random; less under a sanitizer."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("vizsla", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
settings.register_profile(
    "sanitize",
    settings.get_profile("vizsla"),
    max_examples=20,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("VIZSLA_HYPOTHESIS", "vizsla"))
