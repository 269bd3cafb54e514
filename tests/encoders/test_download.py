"""An artifact that names a model on the hub: nobody is asked for it unless the user says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest

from tests.contract.catalog import ITEMS
from vizsla.base.encoder import FunctionEncoder
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.errors import InputError
from vizsla.methods.dense import dense

pytest.importorskip("sentence_transformers", reason="the extra neural is not installed")

ASK = "import sys, vizsla; vizsla.load(sys.argv[1])('fig', k=1)"


class Somebody(FunctionEncoder):
    """A function that describes itself as a model on the hub, as a forger would."""

    options: dict = {}  # noqa: RUF012

    @property
    def reference(self):
        return {"kind": "sentence", "name": "somebody/prepared-model", "options": self.options}


@pytest.fixture
def hub():
    """A hub on this machine that knows no model and remembers which was asked for."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            if "somebody" in self.path:  # the hub's client also asks for lists of its own
                asked.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def ask(saved: Path, endpoint: str, home: Path, **more: str) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    environment |= {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), "NO_PROXY": "127.0.0.1", **more}
    return subprocess.run([sys.executable, "-c", ASK, str(saved)], env=environment, capture_output=True, text=True)


def test_a_forged_artifact_downloads_nothing(hub, tmp_path):
    endpoint, asked = hub
    encoder = Somebody(lambda texts: np.ones((len(texts), 3)), dim=3, name="forged")
    saved = dense(ITEMS, encoder).save(tmp_path / "saved")
    refused = ask(saved, endpoint, tmp_path / "home")
    assert refused.returncode == 1 and not asked
    assert "InputError" in refused.stderr and "set VIZSLA_DOWNLOAD=1" in refused.stderr
    allowed = ask(saved, endpoint, tmp_path / "home", VIZSLA_DOWNLOAD="1")
    assert allowed.returncode == 1 and asked


def test_a_forged_artifact_may_not_allow_itself_to_download(hub, tmp_path):
    endpoint, asked = hub
    encoder = Somebody(lambda texts: np.ones((len(texts), 3)), dim=3, name="forged")
    encoder.options = {"download": True}
    refused = ask(dense(ITEMS, encoder).save(tmp_path / "saved"), endpoint, tmp_path / "home")
    assert refused.returncode == 1 and not asked and "must describe its encoder" in refused.stderr


def test_a_model_with_code_of_its_own_is_not_run(tmp_path):
    (tmp_path / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": "own.Module"}]))
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(InputError, match="modules of sentence-transformers only. Got 'own.Module'"):
        SentenceEncoder(str(tmp_path))
    assert not (tmp_path / "ran").exists()
