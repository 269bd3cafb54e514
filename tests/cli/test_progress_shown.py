"""Verbs that build or train show on a terminal what they do, and write nothing elsewhere."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from vizsla import dense
from vizsla.encoders.lsa import LsaEncoder

TEXTS = [f"{color} {thing} {number}" for color in ("red", "blue") for thing in "abcdefgh" for number in range(2)]
VERBS = {
    "index bm25 items.tsv": "building",
    "index tokens items.tsv": "building",
    "index tfidf items.tsv": "building",
    "index statistics items.tsv": "counting",
    "index dense items.tsv --dim 4": "building",
    "index pq dense --bytes 1 --bits 4": "building",
    "train xrlinear items.tsv --clicks clicks.tsv": "training",
    "train tokens items.tsv --clicks clicks.tsv --epochs 1": "training",
    "train jpq dense --clicks clicks.tsv --bytes 2 --bits 4 --epochs 1": ": loss ",
    "adapt pefa-xs dense --clicks clicks.tsv --weight 0.5 --calibrated no": "adapting",
}
NESTED = """
import time
from vizsla._internal.terminal import progress, working
with working("whole") as show:
    for _ in progress(range(2), what="outer"):
        for _ in progress(range(2), what="inner"):
            time.sleep(0.2)
    show(description="changed")
print("done")
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("progress")
    (folder / "items.tsv").write_text("".join(f"{number}\t{text}\n" for number, text in enumerate(TEXTS)))
    clicks = (f"{text.split()[0]} {text.split()[1]}\t{number}\t1\n" for number, text in enumerate(TEXTS))
    (folder / "clicks.tsv").write_text("".join(clicks))
    dense(TEXTS, LsaEncoder.fit(TEXTS, dim=4)).save(folder / "dense")
    return folder


def on_a_terminal(command, folder):
    """Return what a command writes to a terminal as standard error, and to a pipe as standard output."""
    reader, writer = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    process = subprocess.Popen(command, stderr=writer, stdout=subprocess.PIPE, cwd=folder, env=environment)
    os.close(writer)
    shown = b""
    while True:
        try:
            chunk = os.read(reader, 65536)
        except OSError:  # Linux says so when the other side has gone.
            break
        if not chunk:
            break
        shown += chunk
    printed = process.stdout.read()
    assert process.wait() == 0, shown
    os.close(reader)
    return shown.decode(), printed.decode()


@pytest.mark.parametrize("verb", VERBS)
def test_a_terminal_shows_what_is_done(verb, files, tmp_path):
    command = [sys.executable, "-m", "vizsla", *verb.split(), "-o", str(tmp_path / "out")]
    shown, printed = on_a_terminal(command, files)
    assert VERBS[verb] in shown and "0:00:0" in shown
    assert printed.startswith(f"{tmp_path / 'out'}: ") and "\x1b" not in printed
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h"), "the cursor is back"
    quiet = subprocess.run([*command, "--overwrite"], cwd=files, capture_output=True, text=True, check=True)
    lines = [line for line in quiet.stderr.splitlines() if not line.startswith("vizsla: ") and "held-out" not in line]
    assert lines == [] and "\x1b" not in quiet.stderr


def test_work_without_a_bar_is_shown_while_it_goes_on(tmp_path):
    """The time that has passed is drawn anew, so a person sees that the command is alive."""
    code = "import time\nfrom vizsla._internal.terminal import working\nwith working('thinking'): time.sleep(2.2)"
    shown, _ = on_a_terminal([sys.executable, "-c", code], tmp_path)
    assert shown.count("thinking") > 2 and "0:00:01" in shown


def test_bars_share_one_display(tmp_path):
    shown, printed = on_a_terminal([sys.executable, "-c", NESTED], tmp_path)
    assert all(word in shown for word in ("whole", "outer", "inner"))
    assert shown.count("\x1b[?25l") == 1, "one display, which two would overwrite"
    assert printed == "done\n"
