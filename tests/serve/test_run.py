"""`vizsla serve` as a process: what it prints, which hosts it answers to, and how it stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from tests.serve.services import READ, WRITE, fruit_engine


def test_the_command_prints_its_address_answers_to_allowed_hosts_and_stops_at_a_signal(tmp_path):
    fruit_engine(tmp_path).close()
    command = [sys.executable, "-m", "vizsla", "serve", str(tmp_path / "fruit.engine"), "--port", "0"]
    tokens = {"VIZSLA_READ_TOKEN": READ, "VIZSLA_WRITE_TOKEN": WRITE}
    with subprocess.Popen(
        [*command, "--allowed-host", "shop.example,www.shop.example"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **tokens},
    ) as process:
        try:
            said = json.loads(process.stderr.readline())
            assert said["event"] == "starting" and said["workers"] == 1
            while process.poll() is None:
                with suppress(URLError), urlopen(f"{said['address']}/health", timeout=30):
                    break
                time.sleep(0.05)

            def status(host):
                headers = {"Host": host, "Authorization": f"Bearer {READ}"}
                with urlopen(Request(f"{said['address']}/info", headers=headers), timeout=30) as answer:
                    return answer.status

            assert [status(host) for host in ("127.0.0.1", "shop.example", "www.shop.example:80")] == [200] * 3
            with pytest.raises(HTTPError) as refused:
                status("other.example")
            assert refused.value.code == 421
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        finally:
            process.kill()
