"""Every source of queries and ids counts, not the last one alone; and what a verb writes is what Python computes."""

from __future__ import annotations

import io
import json
import sys

import pytest

from vizsla import Dataset, bm25, open_dataset
from vizsla.cli import main
from vizsla.data.dataset import SECONDS_PER_DAY

ITEMS = [{"id": f"i{n}", "text": f"fig tree {n}", "price": n} for n in range(12)]


@pytest.fixture
def files(tmp_path):
    """Return a folder with items, an index over them, and a log with times."""
    lines = [json.dumps(item) for item in ITEMS]
    (tmp_path / "items.jsonl").write_text("\n".join(lines) + "\n")
    bm25(Dataset.of(ITEMS)).save(tmp_path / "words.idx")
    rows = [f"text {n % 17}\ti{n % 12}\t{1 + n % 3}\t{(n * 37) % 90 * SECONDS_PER_DAY:.0f}" for n in range(120)]
    (tmp_path / "log.tsv").write_text("\n".join(rows) + "\n")
    return tmp_path


def clicks_in(dataset: Dataset) -> list[tuple[str, str, float, float | None]]:
    """Return every click by text and item; with its time, where there are times."""
    texts = dataset.query_texts()[1]
    if dataset.events is not None:
        rows = zip(*(part.tolist() for part in dataset.events), strict=True)
        return sorted((texts[query], dataset.item_ids[item], weight, time) for query, item, weight, time in rows)
    entries = dataset.clicks.tocoo()
    rows = zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True)
    return sorted((texts[query], dataset.item_ids[item], weight, None) for query, item, weight in rows)


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (["--after", "1970-02-15"], {"by": "time", "after": "1970-02-15"}),
        (["--by", "time", "--held-out", "0.3"], {"by": "time", "held_out": 0.3}),
        (["--held-out", "0.2", "--cold", "0", "--seed", "3"], {"held_out": 0.2, "cold": 0.0, "seed": 3}),
    ],
)
@pytest.mark.parametrize("timed", [True, False])
def test_a_split_that_is_written_and_read_again_is_the_split(flags, options, timed, files):
    log = files / "log.tsv"
    if not timed:
        if options.get("by") == "time":
            return
        log.write_text("".join("\t".join(line.split("\t")[:3]) + "\n" for line in log.read_text().splitlines()))
    train, held = open_dataset(files / "items.jsonl", clicks=log).split(**options)
    argv = ["split", str(files / "items.jsonl"), "--clicks", str(log), *flags, "-o", str(files / "out")]
    assert main(argv) == 0
    again = open_dataset(files / "out")
    assert clicks_in(again) == clicks_in(train) and (again.events is None) == (not timed)
    assert set(again.judged_splits) == {split for split in held.judged_splits if held.qrels(split).nnz}
    for split in again.judged_splits:
        found, wanted = (dict(by_text(each, split)) for each in (again, held))
        assert found == wanted
    learned = {(text, item) for text, item, *_ in clicks_in(again)}
    if "by" not in options:  # whole queries: none of their clicks is learned from
        assert not learned & {(text, item) for text, row in by_text(again, "test") for item in row}


def by_text(dataset: Dataset, split: str):
    texts = dict(zip(*dataset.query_texts(split), strict=True))
    return [(texts[query], row) for query, row in dataset.qrels_dict(split).items()]


@pytest.mark.parametrize("listed", [[], ["fig", "tree 3"]])
@pytest.mark.parametrize(
    ("words", "piped"), [(["tree", "7"], ["ignored"]), (["-"], ["fig 5", "", "tree"]), ([], ["fig 2"])]
)
def test_queries_of_every_source_are_answered_in_order(listed, words, piped, files, monkeypatch, capsys):
    argv = ["search", str(files / "words.idx"), *words, "--json", "-k", "1"]
    if listed:
        (files / "queries.txt").write_text("\n".join(listed))
        argv += ["--queries", str(files / "queries.txt")]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(piped) + "\n"))
    assert main(argv) == 0
    asked = [json.loads(line)["query"] for line in capsys.readouterr().out.splitlines()]
    lines = [line for line in piped if line]
    own = lines if words == ["-"] or (not words and not listed) else [" ".join(words)] if words else []
    assert asked == [*listed, *own]


@pytest.mark.parametrize("order", [1, -1])
def test_every_where_counts_files_and_conditions_in_any_order(order, files, capsys):
    (files / "stock").write_text("i3\ni5\ni8\n")
    given = ["price>3", "price<9", str(files / "stock")][::order]
    flags = [flag for one in given for flag in ("--where", one)]
    assert main(["search", str(files / "words.idx"), "fig", "--json", *flags]) == 0
    (answer,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert sorted(hit["id"] for hit in answer["hits"]) == ["i5", "i8"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_id_in_a_list_keeps_the_spaces_around_it(end, tmp_path, capsys):
    ids = ["a", " a", "a ", "a  b", "\ta"]
    index, listed = tmp_path / "words.idx", tmp_path / "listed"
    bm25(dict.fromkeys(ids, "fig")).save(index)
    for id in ids:
        listed.write_bytes(f"{id}{end}{end}".encode())
        assert main(["search", str(index), "fig", "--json", "--where", str(listed)]) == 0
        (answer,) = map(json.loads, capsys.readouterr().out.splitlines())
        assert [hit["id"] for hit in answer["hits"]] == [id]


def test_a_field_called_id_or_score_does_not_take_the_place_of_the_hits_own(tmp_path, capsys):
    shop = [{"_id": "f", "text": "a fig", "score": 99, "price": 3, "id": "other"}, {"_id": "p", "text": "a pear"}]
    index = bm25(Dataset.of(shop, id="_id"))
    index.save(tmp_path / "words.idx")
    assert main(["search", str(tmp_path / "words.idx"), "fig", "--json", "--show", "price,score,id"]) == 0
    (answer,) = map(json.loads, capsys.readouterr().out.splitlines())
    (hit,) = answer["hits"]
    assert (hit["id"], hit["price"]) == ("f", 3) and hit["score"] == pytest.approx(index("fig")[0][0].score)
