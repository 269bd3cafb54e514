from __future__ import annotations

from pathlib import Path

import pytest

from tests.io.conftest import Put
from vizsla.core.validation import DatasetWarning
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError, InputError
from vizsla.io.files import LineFile

ITEMS = '{"_id": "a", "text": "x"}\n{"_id": "b", "text": "y"}\n'
QUERIES = "q1\tfirst\nq2\tsecond\n"


def opened(put: Put, name: str, log: str, **options: str) -> Dataset:
    return Dataset.open(put("items.jsonl", ITEMS), queries=put("q.tsv", QUERIES), clicks=put(name, log), **options)


@pytest.mark.parametrize(
    ("name", "log"),
    [
        ("log.tsv", "q1\ta\t2\nq2\tb\t0.5\nq1\ta\t1\n"),
        ("log.tsv", "query\titem\tweight\nq1\ta\t3\nq2\tb\t0.5\n"),
        ("log.tsv", "weight\titem_id\tquery_id\n3\ta\tq1\n0.5\tb\tq2\n"),
        ("log.csv", "q1,a,3\nq2,b,.5\n"),
        ("log.csv.gz", "Query,Item,Weight,Time\nq1,a,3,2024-01-01\nq2,b,5e-1,2024-01-02\n"),
        ("log.csv", '"q1","a","3"\r\n"q2","b","0.5"\r\n'),
        ("log.txt", "q1\ta\t3\t17\nq2\tb\t0.5\t18\n"),
        ("log.csv", "time,query,item,weight\n1,q1,a,3\n2,q2,b,0.5\n"),
    ],
)
def test_logs_in_many_shapes(put: Put, name: str, log: str) -> None:
    dataset = opened(put, name, log)
    assert dataset.clicks.toarray().tolist() == [[3, 0], [0, 0.5]]
    assert dataset.splits == ("train",)
    assert dataset.qrels_dict("train") == {"q1": {"a": 1}, "q2": {"b": 1}}
    assert dataset.query_texts("train") == (["q1", "q2"], ["first", "second"])


def test_a_letter_that_could_be_a_title_is_a_query_where_no_header_stands(put: Put) -> None:
    dataset = Dataset.open(put("items.jsonl", ITEMS), clicks=put("log.tsv", "q\ta\t2\nq\tb\t1\n"))
    assert [query.text for query in dataset.queries] == ["q"] and dataset.clicks.toarray().tolist() == [[2, 1]]


def test_columns_of_no_use_are_passed_over(put: Put) -> None:
    log = put("log.tsv", "query\tmood\titem\nq1\tgood\ta\n")
    assert Dataset.open(put("items.jsonl", ITEMS), clicks=log).clicks.toarray().tolist() == [[1, 0]]


def test_repeated_pairs_are_summed_exactly(put: Put) -> None:
    log = "q1\ta\t16777216\n" + "q1\ta\t1\n" * 4
    assert opened(put, "log.tsv", log).clicks.toarray()[0, 0] == 16777220


def test_two_columns_weigh_one_each(put: Put) -> None:
    assert opened(put, "log.tsv", "q1\ta\nq1\ta\nq2\ta\n").clicks.toarray().tolist() == [[2, 0], [1, 0]]


def test_a_comma_in_quotes_belongs_to_the_query(put: Put) -> None:
    items = put("items.jsonl", ITEMS)
    dataset = Dataset.open(items, clicks=put("log.csv", '"red, ripe fig",a,1\npear,b,2\n"red, ripe fig",b,1\n'))
    assert [query.text for query in dataset.queries] == ["red, ripe fig", "pear"]


def test_without_queries_the_column_holds_texts(put: Put) -> None:
    log = put("log.tsv", "red fig\ta\t1\npear\tb\t2\nred fig\tb\t4\nRed fig\ta\t8\n")
    dataset = Dataset.open(put("items.jsonl", ITEMS), clicks=log)
    assert [(query.id, query.text) for query in dataset.queries] == [("0", "red fig"), ("1", "pear"), ("2", "Red fig")]
    assert dataset.queries[1].text == "pear"
    assert dataset.clicks.toarray().tolist() == [[1, 4], [0, 2], [8, 0]]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("q1\ta\tmany", "the weight must be a number, 0 or more. Got 'many'"),
        ("q1\ta\t-1", "the weight must be a number, 0 or more. Got '-1'"),
        ("q1\ta\tnan", "the weight must be a number"),
        ("q1\ta\tinf", "the weight must be a number"),
        ("q1\ta\t1e39", "the weight must be a number"),
        ("q1\ta\t", "the weight must be a number"),
        ("q1\ta", "expected 3 columns, as above. Got 2"),
        ("q1\ta\t1\t2\t3", "expected 3 columns, as above. Got 5"),
        ("\ta\t1", "the query is empty"),
        ("q1\t \t1", "the item is empty"),
    ],
)
def test_a_bad_click_is_named_or_skipped_and_counted(put: Put, row: str, message: str) -> None:
    log = f"q2\tb\t1\n{row}\n"
    with pytest.raises(DataError, match=rf"log\.tsv, line 2: {message}"):
        opened(put, "log.tsv", log)
    with pytest.warns(DatasetWarning, match=r"^1 unreadable lines skipped in .*log\.tsv"):
        assert opened(put, "log.tsv", log, on_error="warn").clicks.nnz == 1


@pytest.mark.parametrize(
    ("name", "log", "message"),
    [
        ("log.csv", 'q1,a,1\n"q1,a,1\n', "line 2: this is not CSV"),
        ("log.tsv", "q1,a,1\n", "line 1: expected a header .* or 2 to 4 columns: query, item, weight, time. Got 1"),
        ("log.tsv", "q1\ta\t1\t2\t3\n", "line 1: expected .* 2 to 4 columns.*Got 5"),
        ("log.tsv", "query\tmood\tweight\nq1\ta\t1\n", "line 1: expected a header with query and item"),
        ("log.tsv", "query\titem\tweight\tcount\nq1\ta\t1\t1\n", "line 1: two columns could be the weight"),
        ("log.tsv", "q1\ta\t1\t \n", "line 1: the time is empty"),
        ("log.tsv", "", "there are no entries"),
        ("log.tsv", "query\titem\n", "there are no entries"),
    ],
)
def test_a_wrong_log_raises(put: Put, name: str, log: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened(put, name, log)


def test_dangling_clicks_and_zero_weights_are_counted(put: Put) -> None:
    log = "q1\ta\t1\nq1\tz\t1\nq7\ta\t1\nq2\tb\t0\n"
    with pytest.warns(DatasetWarning):
        dataset = opened(put, "log.tsv", log)
    assert [message.split(" ", 1)[0] for message in dataset.warnings] == ["1", "1", "1"]
    assert {word for message in dataset.warnings for word in ("weight 0", "'z'", "'q7'") if word in message} == {
        "weight 0",
        "'z'",
        "'q7'",
    }
    assert dataset.clicks.toarray().tolist() == [[1, 0], [0, 0]]
    assert dataset.clicks.nnz == 1
    with pytest.raises(DataError, match=r"log\.tsv, line 2: the item 'z' is unknown"):
        opened(put, "log.tsv", log, dangling="raise")


def test_a_log_that_names_its_queries_tells_its_own_faults_before_dangling_items(put: Put) -> None:
    items, log = put("items.jsonl", ITEMS), put("log.tsv", "fig\tz\t1\nfig\ta\t1\nfig\ty\t1\n")
    with pytest.raises(DataError, match=r"log\.tsv, line 1: the item 'z' is unknown"):
        Dataset.open(items, clicks=log, dangling="raise")
    with pytest.raises(DataError, match=r"bad\.tsv, line 2: the weight must be"):
        Dataset.open(items, clicks=put("bad.tsv", "fig\tz\t1\nfig\ta\tmany\n"), dangling="raise")


def test_half_a_surrogate_pair_is_unknown_or_refused() -> None:
    with pytest.warns(DatasetWarning, match=r"unknown item, for example '\\udc80'"):
        dataset = Dataset.of(["x"], queries=["q"], clicks=[("0", "\udc80"), ("0", "0")])
    assert dataset.clicks.nnz == 1
    with pytest.raises(InputError, match="Every string must be valid Unicode"):
        Dataset.of(["x"], clicks=[("\udc80", "0")])


def test_a_damaged_gzip_log_is_named(put: Put) -> None:
    path = put("log.tsv.gz", "".join(f"q1\ta\t{number}\n" for number in range(5000)))
    path.write_bytes(path.read_bytes()[:-2000])
    queries = put("q.tsv", QUERIES)
    with pytest.raises(DataError, match=r"log\.tsv\.gz, line \d+: the gzip stream is damaged") as caught:
        Dataset.open(put("items.jsonl", ITEMS), queries=queries, clicks=path)
    with pytest.raises(DataError) as line_by_line:
        list(LineFile(path))
    assert str(caught.value) == str(line_by_line.value)


def test_a_log_in_a_beir_folder_is_the_clicks(put: Put) -> None:
    put("set/corpus.jsonl", ITEMS)
    put("set/queries.jsonl", '{"_id": "q1", "text": "first"}\n')
    put("set/qrels/train.tsv", "q1\ta\t1\n")
    folder: Path = put("set/clicks.tsv", "q1\tb\t5\n").parent
    dataset = Dataset.open(folder)
    assert dataset.clicks.toarray().tolist() == [[0, 5]]
    assert dataset.qrels_dict("train") == {"q1": {"a": 1}}
    assert dataset.splits == ("train",)


@pytest.mark.parametrize("separator", [",", "\t"])
@pytest.mark.parametrize("blank", ["", " ", "  ", "\xa0", "\u3000"])
@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize("quoted", [False, True])
def test_white_space_is_no_query_no_item_and_no_time(put: Put, separator: str, blank: str, place: int, quoted) -> None:
    fields = ["q1", "a", "1", "7"]
    fields[place] = f'"{blank}"' if quoted and separator == "," else blank
    name = "log.csv" if separator == "," else "log.tsv"
    log = separator.join(["q2", "b", "1", "5"]) + "\n" + separator.join(fields) + "\n"
    what = ("query", "item", "", "time")[place]
    with pytest.raises(DataError, match=rf"line 2: the {what} is empty"):
        opened(put, name, log)


@pytest.mark.parametrize("write", [str.lower, str.upper, str.title, lambda name: f" {name.swapcase()} "])
def test_the_names_of_columns_are_read_in_any_case(put: Put, write) -> None:
    for names in (["query", "sku", "clicks", "day"], ["search_term", "asin", "grade", "ts"]):
        log = "\t".join(map(write, names)) + "\nq1\ta\t3\t17\nq2\tb\t2\t18\n"
        assert opened(put, "log.tsv", log).clicks.toarray().tolist() == [[3, 0], [0, 2]]
    log = "\t".join(map(write, ["phrase", "thing", "query", "item"])) + "\nq1\ta\tx\ty\nq2\tb\tx\ty\n"
    columns = {"query": "PHrase", "item": "THing"}
    named = opened(put, "log.tsv", log, click_columns=columns)
    assert named.clicks.toarray().tolist() == [[1, 0], [0, 1]]
    judged = "\t".join(map(write, ["query-id", "corpus-id", "score"])) + "\nq1\ta\t1\n"
    items, queries = put("items.jsonl", ITEMS), put("q.tsv", QUERIES)
    dataset = Dataset.open(items, queries=queries, qrels=put("qrels.tsv", judged))
    assert dataset.qrels_dict(dataset.splits[0]) == {"q1": {"a": 1}}
