"""Encoding that is killed continues, and ends with the same bytes."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.encoders.encode_slowly import TEXTS, encoder, rows
from tests.support.interrupts import started, wait_until
from tests.support.stuck import finished
from vizsla.base.encoder import FunctionEncoder
from vizsla.encoders.resumable import resumable_encode
from vizsla.encoders.vectors import Vectors
from vizsla.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


def command(target: Path, *how: float) -> list[str]:
    """Encode, with a pause at every step, or up to a step."""
    return [sys.executable, "-m", "tests.encoders.encode_slowly", str(target), *map(str, how)]


def recorded(target: Path) -> int:
    record = Path(f"{target}.encoding") / "progress.json"
    return json.loads(record.read_bytes())["rows"] if record.exists() else 0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_and_started_again(how, tmp_path):
    target = tmp_path / "vectors"
    process = started(command(target, 0.0, 3), cwd=ROOT)
    wait_until(lambda: recorded(target) >= 1536, process)
    process.send_signal(how)
    finished(process)
    done = recorded(target)
    assert done == 1536 < len(TEXTS) and not target.exists()
    with (Path(f"{target}.encoding") / "rows.partial").open("ab") as torn:
        torn.write(b"half a row")  # what a kill in the middle of a write leaves
    asked = []

    def noted(texts):
        asked.extend(texts)
        return rows(texts)

    again = Vectors.encode(TEXTS, FunctionEncoder(noted, dim=2, name="numbers"), target, storage="float32")
    assert asked == TEXTS[done:]
    assert np.array_equal(again.rows, rows(TEXTS))
    assert list(again.ids)[-1] == "4999" and again.fingerprint == "function:numbers:2"
    assert not Path(f"{target}.encoding").exists()
    whole = Vectors.encode(TEXTS, encoder(), tmp_path / "whole", storage="float32")
    assert len(whole) == 5000
    names = ("manifest.json", "rows.npy")
    assert all((tmp_path / "whole" / n).read_bytes() == (target / n).read_bytes() for n in names)


def test_other_texts_encoder_or_storage_raise(tmp_path):
    resumable_encode(encoder(), TEXTS[:1024], tmp_path / "work", storage="float32")
    with pytest.raises(InputError, match="those of the first call"):
        resumable_encode(encoder(), TEXTS[1:1025], tmp_path / "work", storage="float32")
    with pytest.raises(InputError, match="those of the first call"):
        resumable_encode(encoder(), TEXTS[:100], tmp_path / "work", storage="float32")
    with pytest.raises(InputError, match="encoder and storage"):
        resumable_encode(encoder(), TEXTS[:1024], tmp_path / "work", storage="float16")
    assert np.array_equal(resumable_encode(encoder(), TEXTS, tmp_path / "work", storage="float32"), rows(TEXTS)), (
        "more texts at the end are welcome"
    )


def test_a_terminal_shows_how_far_it_is(tmp_path):
    main, terminal = pty.openpty()
    variables = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command(tmp_path / "vectors", 0.2), cwd=ROOT, stderr=terminal, env=variables)
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # the other end closes when the process ends
        while piece := os.read(main, 4096):
            shown += piece
    os.close(main)
    assert process.wait() == 0
    assert b"encoding, 512 texts a step" in shown and b"/10" in shown


def test_rows_are_half_precision_unless_told_otherwise(tmp_path):
    vectors = Vectors.encode(TEXTS[:20], encoder(), tmp_path / "vectors")
    assert vectors.rows.dtype == np.float16
    if sys.platform == "linux":
        assert str(tmp_path / "vectors" / "rows.npy") in Path("/proc/self/maps").read_text()
    assert (tmp_path / "vectors" / "rows.npy").stat().st_size < 20 * 2 * 2 + 200
