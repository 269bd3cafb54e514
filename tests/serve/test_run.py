"""`vizsla serve` as a process: what it prints, which hosts it answers to, and how it stops."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from tests.serve.services import READ, WRITE, fruit_engine
from vizsla.serve.run import serve
from vizsla.serve.service_settings import READ_TOKEN, WRITE_TOKEN


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


def deployed():
    """The commands of the systemd unit and of the image, and the variables that they set."""
    folder = Path(__file__).parents[2] / "examples" / "deploy"
    unit = (folder / "vizsla.service").read_text(encoding="utf-8")
    image = (folder / "Dockerfile").read_text(encoding="utf-8")
    started = re.search(r"^ExecStart=(.+)$", unit, re.M)[1].split()
    yield started, set(re.findall(r"\b(VIZSLA_\w+)=", unit))
    yield json.loads(re.search(r"^CMD (.+)$", image, re.M)[1]), set(re.findall(r"\b(VIZSLA_\w+)=", image))


def test_deployed_commands_are_those_that_the_command_line_knows():
    known = {f"--{name.replace('_', '-')}" for name in inspect.signature(serve).parameters} - {"--path"}
    for command, variables in deployed():
        assert Path(command[0]).name == "vizsla" and command[1] == "serve" and not command[2].startswith("-")
        given = [word for word in command if word.startswith("--")]
        assert given and set(given) <= known
        assert variables == {f"{READ_TOKEN}_FILE", f"{WRITE_TOKEN}_FILE"}  # and no token among the arguments
        assert not any("token" in word for word in command)
