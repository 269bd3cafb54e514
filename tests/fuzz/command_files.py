"""The files that commands are tried on: sound ones, and all that people and programs leave in their place."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np

import vizsla
from tests.contract.catalog import CLICKED, CLICKS, ITEMS

FEW = 24
"""Items: every command is run thousands of times."""


def make_files(folder: Path) -> None:
    """Fill a folder with sound files, artifacts and hostile files, named after what they are."""
    items = {f"i{number}": text for number, text in enumerate(list(ITEMS.values())[:FEW]) if text.strip()}
    items["red \x1b[31m"] = "a fig tree \x1b[31m and \u202e more"
    _sound(folder, items)
    _artifacts(folder, items)
    _hostile(folder / "bad")


def _sound(folder: Path, items: dict[str, str]) -> None:
    pairs = [(CLICKED[query], f"i{number % 9}", weight) for number, (query, _, weight) in enumerate(CLICKS[:60])]
    pairs = [(query, item, weight) for query, item, weight in pairs if item in items and query.strip()]
    rows = [{"_id": item, "text": text, "price": len(text)} for item, text in items.items()]
    clean = [(item, " ".join(text.split())) for item, text in items.items()]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "items.tsv").write_text("".join(f"{item}\t{text}\n" for item, text in clean))
    (folder / "items.csv").write_text("id,text\n" + "".join(f'{item},"{text}"\n' for item, text in clean))
    (folder / "clicks.tsv").write_text("".join(f"{query}\t{item}\t{weight}\n" for query, item, weight in pairs))
    (folder / "queries.tsv").write_text("q1\tfig tree\nq2\tpear\n")
    (folder / "qrels.txt").write_text("q1 0 i1 1\nq2 0 i2 2\nq2 0 i3 1\n")
    (folder / "run.trec").write_text("q1 Q0 i1 1 2.5 a\nq1 Q0 i2 2 1.5 a\nq2 Q0 i3 1 1 a\n")
    (folder / "new.csv").write_text("id,text\nnew 1,a fig\nnew 2,\n")
    (folder / "ids.txt").write_text("i1\ni2\n")


def _artifacts(folder: Path, items: dict[str, str]) -> None:
    lsa = vizsla.encoders.LsaEncoder.fit(items.values(), dim=8)
    vizsla.bm25(items).save(folder / "bm25")
    vizsla.tokens(items).save(folder / "tokens")
    vizsla.dense(items, lsa).save(folder / "dense")
    vizsla.dense(items, lsa, index="hnsw", M=4, ef=4).save(folder / "hnsw")
    vizsla.dense(items, lsa, index="pq", bytes=4).save(folder / "pq")
    vizsla.methods.Statistics.of(items).save(folder / "statistics")
    (vizsla.bm25(items) | vizsla.dense(items, lsa)).save(folder / "union")
    members = {"words": vizsla.Recipe.of("bm25"), "letters": vizsla.Recipe.of("tfidf")}
    with vizsla.Engine.create(folder / "live", members=members, default="words", maintenance="manual") as engine:
        engine.add([{"id": item, "text": text, "price": len(text)} for item, text in items.items()])
        engine.flush()
        engine.snapshot("before")
    late = vizsla.scorers.LateParametric(lsa, items, folder / "vectors.db")
    (vizsla.bm25(items) >> late)("fig")
    late.close()


def _hostile(folder: Path) -> None:
    folder.mkdir()
    random = np.random.default_rng(0)
    contents = {
        "empty": b"",
        "newlines": b"\n" * 50,
        "nul": b"\x00" * 300,
        "garbage": random.bytes(3000),
        "one": b"x",
        "long": b"fig " * 300_000,
        "utf16": "i1\tfig tree\n".encode("utf-16"),
        "bom": b"\xef\xbb\xbfi1\tfig\n",
        "latin1": "i1\tfig tr\xe9e\n".encode("latin-1"),
        "crlf": b"i1\tfig\r\ni2\tpear\r\n",
        "cr": b"i1\tfig\ri2\tx\r",
        "nan.tsv": b"fig\ti1\tnan\nfig\ti2\tinf\nfig\ti3\t-1\nfig\ti4\t1e999\nfig\ti5\t0x1p3\n",
        "numbers.tsv": b"q1\ti1\t99999999999999999999999\nq1\ti2\t1_000\nq1\ti3\t\xd9\xa3\n",
        "same.tsv": b"i1\ta\ni1\tb\n",
        "columns.tsv": b"\t\t\t\n\t\t\t\t\t\n",
        "one.tsv": b"i1\n",
        "quote.csv": b'id,text\n1,"a',
        "quotes.csv": b'id,text\n1,"a""b"c"\n2,b\n',
        "header.csv": b"id,id,text,\n1,2,3,4\n",
        "dots.trec": b"q1 Q0 i1 1 nan a\n",
        "words.trec": b"q1 Q0 i1 first best a b c\n",
        "grades.txt": b"q1 0 i1 1.5\nq1 0 i1 -3\nq1 0 i1 99999999999999999999\n",
        "deep.jsonl": b"[" * 100_000,
        "keys.jsonl": b'{"_id": 1, "_id": 2, "text": "a"}\n',
        "null.jsonl": b"null\n[]\n1\n",
        "kinds.jsonl": b'{"_id": [1], "text": {"a": 1}}\n{"_id": null, "text": null}\n{"text": "x"}\n',
        "half.jsonl": b'{"_id": "\\ud800", "text": "\\udfff"}\n',
        "big.jsonl": b'{"_id": ' + b"9" * 5000 + b', "text": "a"}\n',
        "escape.tsv": b"\x1b]0;title\x07\ta \x1b[2J\n",
        "mixed.jsonl": b'{"_id": "a", "text": "b", "price": 1}\n{"_id": "c", "text": "d", "price": "x"}\n',
        "times.tsv": b"fig\ti1\t1\t2026-99-99\nfig\ti1\t1\t1e30\nfig\ti2\t1\tnever\n",
        "rubbish.gz": b"\x1f\x8b" + random.bytes(200),
        "cut.tsv.gz": gzip.compress(b"i1\tfig\n" * 999)[:-9],
        "bomb.tsv.gz": gzip.compress(b"i\tfig\n" + b" " * 30_000_000),
        "rubbish.tsv.zst": b"\x28\xb5\x2f\xfd" + random.bytes(200),
        "rubbish.parquet": b"PAR1" + random.bytes(500) + b"PAR1",
        "rubbish.zip": b"PK\x03\x04" + random.bytes(300),
        "rubbish.tar.gz": gzip.compress(random.bytes(600)),
        "rubbish.db": b"SQLite format 3\x00" + random.bytes(4080),
        "rubbish.npy": b"\x93NUMPY\x01\x00" + random.bytes(99),
    }
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    (folder / "folder").mkdir()
    (folder / "folder.tsv").mkdir()
    (folder / "manifest").mkdir()
    (folder / "manifest" / "manifest.json").write_bytes(b"{")
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to(folder / "loop")
    (folder / os.fsdecode(b"\xff name")).write_bytes(b"i1\tfig\n")
    (folder / "closed").write_bytes(b"i1\tfig\n")
    (folder / "closed").chmod(0)
