"""Make the benchmarks' collections from their public origins.

    python -m benchmarks.data get NAME [--origin PATH] [--out FOLDER]
    python -m benchmarks.data check NAME [--out FOLDER]

NAME is tldr, squad-sent, debian-deps or wordnet-senses. `get` fetches the origin, or reads what `--origin` names, and
writes a BEIR folder below `--out` ($VIZSLA_DATA). `check` says whether texts are those that published figures were
measured on: origins change, and their checksums are recorded here. Held-out queries and items are drawn by hashes of
their ids, so that they are the same everywhere; published figures had others, drawn in the same shares.
Collections of ir_datasets (NQ, MS MARCO, TREC DL, BEIR) and folders of BEIR need no script: see `vizsla.open_dataset`.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import re
import sys
import tempfile
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.corpus import data_folder

Record = dict[str, Any]


@dataclass
class Made:
    """Items, queries, and what is right for each query of a split."""

    items: list[Record] = field(default_factory=list)
    queries: list[Record] = field(default_factory=list)
    right: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def judge(self, split: str, query: str, item: str) -> None:
        """Add a pair to a split."""
        self.right.setdefault(split, []).append((query, item))


@dataclass(frozen=True)
class Origin:
    """Where a collection comes from.

    Parameters
    ----------
    make : callable
        Reads the origin's folder.
    urls : tuple of str
        What is fetched; a zip is unpacked. Empty where a package manager has it.
    told : str
        What to get by hand, where nothing can be fetched.
    sums : tuple of str
        The first 16 digits of SHA-256 of `corpus.jsonl` and `queries.jsonl` that published figures were measured on.
    """

    make: Callable[[Path], Made]
    urls: tuple[str, ...]
    told: str
    sums: tuple[str, str]


def share(text: str) -> float:
    """Return a number from 0 to 1 by a text: the same everywhere."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


def seen_or_not(made: Made, pairs: dict[str, list[str]], *, unseen: float, seen: float, least: int) -> None:
    """Hold out some items with all their queries, and some queries of items that have at least so many."""
    for item, queries in pairs.items():
        for query in queries:
            held = "test-seen" if len(queries) >= least and share(f"query {query}") < seen else "train"
            made.judge("test-unseen" if share(f"item {item}") < unseen else held, query, item)


def tldr(folder: Path) -> Made:
    """Pages of commands: descriptions are items, descriptions of examples are queries."""
    made, pairs = Made(), {}
    for path in sorted(folder.rglob("pages/*/*.md")):
        lines = path.read_text(encoding="utf-8").splitlines()
        page = f"{path.parent.name}/{path.stem}"
        told = [line[1:].strip() for line in lines if line.startswith(">")]
        kept = [line for line in told if not line.startswith(("More information:", "See also:"))]
        asked = [re.sub(r"\[(\w)\]", r"\1", line[1:].strip().rstrip(":")) for line in lines if line.startswith("- ")]
        made.items.append({"_id": page, "title": lines[0].lstrip("# ").strip(), "text": " ".join(kept)})
        pairs[page] = [f"{page}#{number}" for number in range(len(asked))]
        made.queries += [{"_id": f"{page}#{number}", "text": text} for number, text in enumerate(asked)]
    seen_or_not(made, pairs, unseen=0.05, seen=0.2, least=3)
    return made


def squad(folder: Path) -> Made:
    """Questions, and the sentences that hold their answers."""
    made, pairs, numbers = Made(), {}, {}
    for part in ("dev", "test"):
        files = [next(folder.rglob(f"{side}-{part}.txt")) for side in ("src", "tgt")]
        sides = [_brackets(file.read_text(encoding="utf-8")).splitlines() for file in files]
        for number, (sentence, question) in enumerate(zip(*sides, strict=True)):
            if sentence not in numbers:
                numbers[sentence] = f"s{len(numbers)}"
                made.items.append({"_id": numbers[sentence], "title": "", "text": sentence, "part": part})
            made.queries.append({"_id": f"{part}{number}", "text": question})
            pairs.setdefault(numbers[sentence], []).append(f"{part}{number}")
    seen_or_not(made, pairs, unseen=0.1, seen=0.15, least=2)
    return made


def _brackets(text: str) -> str:
    for written, meant in {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "``": '"', "''": '"'}.items():
        text = text.replace(written, meant)
    return text


def wordnet(folder: Path) -> Made:
    """Synsets, and the examples of their use that name one of their lemmas."""
    made, places = Made(), next(folder.rglob("data.noun")).parent
    for kind in ("noun", "verb", "adj", "adv"):
        for line in (places / f"data.{kind}").read_text(encoding="latin-1").splitlines():
            if not line.startswith(" "):
                _synset(made, line)
    return made


def _synset(made: Made, line: str) -> None:
    head, gloss = line.split(" | ", 1)
    parts = head.split()
    item = f"{parts[2]}{parts[0]}"
    lemmas = [re.sub(r"\(\w+\)$", "", parts[4 + 2 * at]).replace("_", " ") for at in range(int(parts[3], 16))]
    text = re.sub(r'[;:,]?\s*"[^"]*("|$)', "", gloss).strip(" ;")
    made.items.append({"_id": item, "title": ", ".join(lemmas), "text": text, "pos": parts[2]})
    for number, example in enumerate(one.strip() for one in re.findall(r'"([^"]+)"', gloss)):
        found = _mention(example, lemmas)
        if found and len(example.split()) >= MIN_WORDS:
            query = f"{item}.{number}"
            place = {"mention": found[0], "start": found.start(), "end": found.end()}
            made.queries.append({"_id": query, "text": example, **place})
            split = share(f"item {item}")
            made.judge("test" if split < 0.1 else "dev" if split < 0.2 else "train", query, item)


MIN_WORDS = 3
"""Of an example: fewer are no context."""


def _mention(example: str, lemmas: list[str]) -> re.Match[str] | None:
    stems = [lemma[:-1] if len(lemma) > 4 else lemma for lemma in lemmas]
    found = [re.search(rf"\b{re.escape(stem)}\w*", example, re.IGNORECASE) for stem in stems]
    return max((one for one in found if one), key=lambda one: len(one[0]), default=None)


def debian(folder: Path) -> Made:
    """Packages, and those that they depend on."""
    made, stanzas = Made(), list(_stanzas(_text(folder, "Packages")))
    long = {one["Package"]: one.get("Description-en", "") for one in _stanzas(_text(folder, "Translation-en"))}
    known = {one["Package"]: one for one in stanzas}
    needs = {}
    for name, one in known.items():
        told = ",".join(one.get(kind, "") for kind in ("Depends", "Recommends", "Suggests"))
        named = re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]+)", told)
        needs[name] = [other for other in dict.fromkeys(named) if other in known and other != name]
    counts = Counter(other for row in needs.values() for other in row)
    labels = {name: count for name, count in counts.items() if 3 <= count <= 2000}
    for name in sorted(labels):
        made.items.append({"_id": name, "title": name, "text": known[name].get("Description", "").split("\n")[0],
                           "count": labels[name]})  # fmt: skip
    for name, row in sorted(needs.items()):
        wanted = [other for other in row if other in labels]
        if wanted:
            synopsis, _, more = (long.get(name) or known[name].get("Description", "")).partition("\n")
            told = " ".join(line.strip() for line in more.split("\n") if line.strip() != ".")
            made.queries.append({"_id": name, "text": f"{name}. {synopsis}. {told}".strip()})
            for other in wanted:
                made.judge("test" if share(f"query {name}") < 0.2 else "train", name, other)
    return made


def _text(folder: Path, name: str) -> str:
    file = next((path for path in sorted(folder.rglob(f"*{name}*")) if path.is_file()), None)
    if file is None:
        raise SystemExit(f"--origin must hold {name}. Got none in {folder}.")
    if file.suffix == ".gz":
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            return lines.read()
    return file.read_text(encoding="utf-8")


def _stanzas(text: str) -> Iterator[dict[str, str]]:
    for stanza in text.split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in stanza.split("\n"):
            if line.startswith(" ") and name:
                fields[name] += "\n" + line[1:]
            elif ":" in line:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        if "Package" in fields:
            yield fields


NQG = "https://raw.githubusercontent.com/xinyadu/nqg/master/data/processed"
ORIGINS = {
    "tldr": Origin(
        tldr, ("https://github.com/tldr-pages/tldr/archive/refs/heads/main.zip",),
        "a checkout of github.com/tldr-pages/tldr", ("3bc28b492aee8e6e", "5133c636c3f1ccc6"),
    ),
    "squad-sent": Origin(
        squad, tuple(f"{NQG}/{side}-{part}.txt" for side in ("src", "tgt") for part in ("dev", "test")),
        "src-dev.txt, tgt-dev.txt, src-test.txt and tgt-test.txt of github.com/xinyadu/nqg (data/processed)",
        ("18de1313d4bca1e0", "0c94613f6b8ac18d"),
    ),
    "debian-deps": Origin(
        debian, (), "Packages and Translation-en of Debian 12, main, amd64 (in /var/lib/apt/lists after "
        "`apt-get update -o Acquire::Languages=en`, unpacked)", ("b2a0695aad09c606", "cbf6732b7bb7efe8"),
    ),
    "wordnet-senses": Origin(
        wordnet, (), "/usr/share/wordnet of the Debian package wordnet-base (1:3.0-37)",
        ("a235b7cade945152", "0a2f8918511581bc"),
    ),
}  # fmt: skip


def get(name: str, origin: Path | None, out: Path) -> Path:
    """Make a collection, and return its folder."""
    with tempfile.TemporaryDirectory() as folder:
        made = ORIGINS[name].make(_fetched(name, Path(folder)) if origin is None else origin)
    if not made.items:
        raise SystemExit(f"--origin must hold {ORIGINS[name].told}. Got nothing to read in {origin}.")
    target = out / name
    (target / "qrels").mkdir(parents=True, exist_ok=True)
    for file, records in (("corpus", made.items), ("queries", made.queries)):
        (target / f"{file}.jsonl.gz").write_bytes(gzip.compress(_lines(records), mtime=0))
    for split, pairs in made.right.items():
        lines = ["query-id\tcorpus-id\tscore", *(f"{query}\t{item}\t1" for query, item in pairs)]
        (target / "qrels" / f"{split}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return target


def _lines(records: list[Record]) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def _fetched(name: str, folder: Path) -> Path:
    """Fetch an origin, or say in one sentence what to get."""
    told = f"Get {ORIGINS[name].told} and run: python -m benchmarks.data get {name} --origin PATH"
    if not ORIGINS[name].urls:
        raise SystemExit(told)
    for url in ORIGINS[name].urls:
        file = folder / url.rsplit("/", 1)[1]
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                file.write_bytes(answer.read())
        except OSError as error:
            raise SystemExit(f"{url} cannot be fetched ({error}). {told}") from None
        if file.suffix == ".zip":
            zipfile.ZipFile(file).extractall(folder)
    return folder


def differences(name: str, folder: Path) -> list[str]:
    """Return which files are not those that published figures were measured on."""
    found = []
    for file, known in zip(("corpus", "queries"), ORIGINS[name].sums, strict=True):
        with gzip.open(folder / f"{file}.jsonl.gz") as lines:
            text = lines.read()
        digest = hashlib.sha256(text).hexdigest()[:16]
        if digest != known:
            lines_read = len(text.splitlines())
            found.append(f"{file}: SHA-256 {digest}…, {lines_read:,} lines; published figures had {known}…")
    return found


def main() -> None:
    """Make a collection, or check one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.data", description=__doc__)
    parser.add_argument("verb", choices=["get", "check"])
    parser.add_argument("name", choices=list(ORIGINS))
    parser.add_argument("--origin", type=Path, help="a folder that holds the origin's files")
    parser.add_argument("--out", type=Path, help="where collections lie (default: $VIZSLA_DATA)")
    given = parser.parse_args()
    if given.verb == "get":
        if given.out is None and not os.environ.get("VIZSLA_DATA"):
            parser.error("--out or $VIZSLA_DATA must say where collections lie")
        folder = get(given.name, given.origin, given.out or Path(os.environ["VIZSLA_DATA"]))
        print(folder)
    else:
        folder = (given.out or data_folder()) / given.name
    for line in differences(given.name, folder):
        print(line, file=sys.stderr)


if __name__ == "__main__":
    main()
