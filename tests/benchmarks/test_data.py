"""The benchmarks' collections, made from small copies of what their origins look like."""

from __future__ import annotations

import hashlib

import pytest

from benchmarks import data
from vizsla.data.dataset import Dataset

TLDR = "# tar\n\n> Archiving utility.\n> Often with gzip.\n> More information: <x>.\n"
TLDR += "\n- [c]reate an archive:\n\n`tar cf`\n"
NOUN = (
    "  1 licence\n"
    '00003553 03 n 02 whole 0 unit 0 001 @ 0 n 0000 | an assemblage; "how big is that part compared to the whole?"; '
    '"whole units"; "the team is a unit"\n'
)
PACKAGES = "\n\n".join(
    f"Package: {name}\nDescription: about {name}\nDepends: libx (>= 1), liby | libz" for name in ("a", "b", "c")
)
PACKAGES += "".join(f"\n\nPackage: {name}\nDescription: library {name}" for name in ("libx", "liby", "libz"))
LONG = "Package: a\nDescription-en: the first\n Long text\n .\n goes on.\n"


def origin(folder, name):
    files = {
        "tldr": {"main/pages/common/tar.md": TLDR},
        "squad-sent": {
            "src-dev.txt": "a sentence -lrb- one -rrb-\nanother\n", "tgt-dev.txt": "what ?\nwho ?\n",
            "src-test.txt": "another\n", "tgt-test.txt": "when ?\n",
        },
        "wordnet-senses": {"data.noun": NOUN, "data.verb": "", "data.adj": "", "data.adv": ""},
        "debian-deps": {"Packages": PACKAGES, "Translation-en": LONG},
    }[name]  # fmt: skip
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
    return folder


WANTED = {
    "tldr": ({"common/tar": "tar Archiving utility. Often with gzip."}, {"common/tar#0": "create an archive"}),
    "squad-sent": (
        {"s0": "a sentence ( one )", "s1": "another"},
        {"dev0": "what ?", "dev1": "who ?", "test0": "when ?"},
    ),
    "wordnet-senses": (
        {"n00003553": "whole, unit an assemblage"},
        {"n00003553.0": "how big is that part compared to the whole?", "n00003553.2": "the team is a unit"},
    ),
    "debian-deps": (
        {"libx": "libx library libx", "liby": "liby library liby", "libz": "libz library libz"},
        {"a": "a. the first. Long text goes on.", "b": "b. about b.", "c": "c. about c."},
    ),
}


@pytest.mark.parametrize("name", list(WANTED))
def test_a_collection_is_made_of_its_origin(name, tmp_path):
    made = Dataset.open(data.get(name, origin(tmp_path / "origin", name), tmp_path))
    items, queries = WANTED[name]
    assert {item.id: item.default_text() for item in made.items} == items
    assert {query.id: query.text for query in made.queries} == queries
    judged = sum(made.qrels(split).nnz for split in made.splits)
    assert judged == (9 if name == "debian-deps" else len(queries))
    assert len(data.differences(name, tmp_path / name)) == 2, "it is not what figures were measured on"


def test_held_out_parts_have_their_shares_and_do_not_meet():
    made = data.Made()
    pairs = {f"i{item}": [f"i{item}#{number}" for number in range(4)] for item in range(3000)}
    data.seen_or_not(made, pairs, unseen=0.1, seen=0.2, least=3)
    counts = {split: len(rows) for split, rows in made.right.items()}
    assert sum(counts.values()) == 12000
    assert counts["test-unseen"] / 12000 == pytest.approx(0.1, abs=0.02)
    assert counts["test-seen"] / (12000 - counts["test-unseen"]) == pytest.approx(0.2, abs=0.02)
    unseen = {item for _, item in made.right["test-unseen"]}
    assert not unseen & {item for split in ("train", "test-seen") for _, item in made.right[split]}
    assert data.share("fig") == int(hashlib.sha256(b"fig").hexdigest()[:12], 16) / 2**48


def test_without_a_network_one_sentence_says_what_to_get(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="Get /usr/share/wordnet .* and run: python -m benchmarks.data get wordnet"):
        data.get("wordnet-senses", None, tmp_path)

    def refuse(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(data.urllib.request, "urlopen", refuse)
    with pytest.raises(SystemExit, match=r"cannot be fetched \(no network\). Get a checkout of"):
        data.get("tldr", None, tmp_path)
    with pytest.raises(SystemExit, match="--origin must hold a checkout of"):
        data.get("tldr", tmp_path, tmp_path)
