"""Whether a model that an artefact names may be fetched from the hub."""

from __future__ import annotations

import os

VARIABLE = "VIZSLA_DOWNLOAD"


def download_allowed() -> bool:
    """Say whether the environment allows what an artefact asks for: `VIZSLA_DOWNLOAD=1`, and nothing else.

    An artefact may come from anybody. Without this, whoever prepared it would choose what this machine downloads.
    """
    return os.environ.get(VARIABLE, "") == "1"
