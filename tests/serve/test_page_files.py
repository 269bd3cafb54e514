"""The page's files: vendored ones are as released and licensed, and nothing is loaded from elsewhere."""

from __future__ import annotations

import hashlib
import json
import re
from importlib import resources

from tests.serve.services import fruit_engine, serving

PAGE = resources.files("vizsla.serve").joinpath("page")
FILES = {file.name: file.read_bytes() for file in PAGE.iterdir() if file.is_file()}


def test_vendored_files_have_their_hashes_and_licenses():
    listed = json.loads(FILES["vendored.json"])
    licenses = FILES["vendored-licenses.txt"].decode()
    assert {row["file"] for row in listed} == {name for name in FILES if name.startswith("vendor-")}
    for row in listed:
        assert hashlib.sha256(FILES[row["file"]]).hexdigest() == row["sha256"]
        assert f"{row['file']}: {row['package']} {row['version']}" in licenses
    assert "Apache License" in licenses and "MIT License" in licenses


def test_nothing_is_loaded_from_elsewhere_and_nothing_needs_inline_code():
    own = {name: text.decode() for name, text in FILES.items() if name.endswith((".html", ".js", ".css", ".svg"))}
    for name, text in own.items():
        if name.startswith("vendor-"):
            continue
        addresses = [each for each in re.findall(r"https?://[^\s\"'`)]+", text) if "www.w3.org" not in each]
        assert addresses == [], name
        assert not re.search(r"\beval\(|new Function|innerHTML|dangerouslySet|document\.write|\bstyle=", text), name
    page = own["index.html"]
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=", page)
    for address in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert address.removeprefix("/page/") in FILES, address
    for name, text in own.items():
        for target in re.findall(r'from "\./([^"]+)"', text):
            assert target in FILES, (name, target)


def test_only_files_of_the_page_are_served(tmp_path):
    with fruit_engine(tmp_path) as engine, serving(engine) as client:
        assert client.get("/").headers["content-type"].startswith("text/html")
        assert client.get("/page/main.js").headers["content-type"].startswith("text/javascript")
        for name in (
            "..%2f__init__.py",
            "%2e%2e/schemas.py",
            "vendored.json",
            "nothing.js",
            "/etc/passwd",
            "main.js%00",
        ):
            assert client.get(f"/page/{name}").status_code == 404, name
