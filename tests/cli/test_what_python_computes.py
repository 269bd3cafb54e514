"""What verbs print and write is what Python computes from the same arguments, hit by hit and file by file."""

from __future__ import annotations

import json
from itertools import product

import pytest

from tests.support.table_retriever import TableRetriever
from vizsla import Dataset, bm25, where
from vizsla.cli import main
from vizsla.cli.options import bundling, is_run, named, prepared_where, read_lines, system_paths, unique_names
from vizsla.cli.search import print_counts, shown_fields
from vizsla.errors import InputError
from vizsla.evaluation import compare
from vizsla.evaluation.judgments import Judgments
from vizsla.evaluation.runs import fuse_runs, pool

COLORS = ["red", "green", "old", "small"]
ITEMS = [
    {"id": f"i{n:02}", "text": f"{color} fig {'tree ' * (n % 3)}number {n}", "price": n * 2, "brand": "xyz"[n % 3]}
    for n, color in enumerate(COLORS * 6)
]
QUERIES = {"q7": "red fig", "q1": "green tree", "q3": "number 5", "q9": "nothing here"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    bm25(Dataset.of(ITEMS, keep_texts=True)).save(folder / "words.idx")
    lines = [json.dumps({"id": id, "text": text}) for id, text in QUERIES.items()]
    (folder / "queries.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def words():
    return bm25(Dataset.of(ITEMS, keep_texts=True))


PAGES = {
    "offset": (["--offset", "3"], {"offset": 3}),
    "facets": (["--facets", "brand,price:10"], {"facets": "brand,price:10"}),
    "sort": (["--sort", "price:desc"], {"sort": "price:desc"}),
    "sorts": (["--sort", "brand,price:desc"], {"sort": "brand,price:desc"}),
    "distinct": (["--distinct", "brand"], {"distinct": "brand"}),
    "highlight": (["--highlight"], {"highlight": True}),
    "fields": (["--highlight", "text,brand"], {"highlight": ["text", "brand"]}),
    "where": (["--where", "price<30", "--where", "brand!=x"], {"where": where("price<30", "brand!=x")}),
    "plain": (["--syntax", "plain"], {"syntax": "plain"}),
}


@pytest.mark.parametrize(
    ("names", "k"),
    [((one,), 3) for one in PAGES]
    + [(pair, 2) for pair in [("offset", "sort"), ("offset", "distinct"), ("facets", "where"), ("highlight", "sorts")]],
)
def test_a_page_is_the_retrievers_page(names, k, folder, words, capsys):
    flags = [flag for name in names for flag in PAGES[name][0]]
    options = {"syntax": "web"} | {key: value for name in names for key, value in PAGES[name][1].items()}
    if not {"where", "plain"}.issuperset(names):
        argv = ["search", str(folder / "words.idx"), "red", "+fig", "-k", str(k), "--json", *flags]
        assert main(argv) == 0
        found = json.loads(capsys.readouterr().out)
        page = words.page("red +fig", k, **options).to_dict(None)
        assert found == json.loads(json.dumps(page)) | ({"ms": found["ms"]} if "ms" in page else {})
        assert len(found["hits"]) == (k if "distinct" not in names or k == 3 else 0), "there are three brands"
    else:
        assert main(["search", str(folder / "words.idx"), "red", "+fig", "-k", str(k), "--json", *flags]) == 0
        found = json.loads(capsys.readouterr().out)["hits"]
        own = words("red +fig", k=k, **options)
        assert [(hit["id"], hit["score"]) for hit in found] == [(hit.id, hit.score) for hit in own[0]]


@pytest.mark.parametrize("flags", [[], ["--where", "price>=20"]])
def test_a_run_has_the_ids_of_the_file_and_the_answers_of_the_retriever(flags, folder, words, tmp_path, capsys):
    out = tmp_path / "mine.run"
    argv = ["search", str(folder / "words.idx"), "--queries", str(folder / "queries.jsonl"), "-k", "4", *flags]
    assert main([*argv, "--trec", str(out)]) == 0
    filter = where(*flags[1:]) if flags else None
    found = words(list(QUERIES.values()), k=4, where=filter)
    words_of = [line.split() for line in out.read_text().splitlines()]
    wanted = [
        (id, item, str(rank)) for id, row in zip(QUERIES, found.ids, strict=True) for rank, item in enumerate(row, 1)
    ]
    assert [(query, item, rank) for query, _, item, rank, *_ in words_of] == wanted
    assert f"4 queries, {len(wanted)} answers" in capsys.readouterr().out
    for more in (["fig"], ["--json"], ["--offset", "1"]):
        assert main([*argv, "--trec", str(tmp_path / "no.run"), *more]) == 2
    lines = (folder / "queries.jsonl").read_text()
    (tmp_path / "twice.jsonl").write_text(lines + lines)
    argv[3] = str(tmp_path / "twice.jsonl")
    assert main([*argv, "--trec", str(tmp_path / "no.run")]) == 2 and not (tmp_path / "no.run").exists()


def test_similar_items_come_under_the_filter_and_without_the_item(folder, words, capsys):
    argv = ["search", str(folder / "words.idx"), "--similar", "i04", "-k", "3", "--json", "--where", "brand=x,z"]
    assert main(argv) == 0
    answer = json.loads(capsys.readouterr().out)
    wanted = words.similar("i04", 3, where=where("brand=x,z"))
    assert answer["query"] == "i04" and [hit["id"] for hit in answer["hits"]] == wanted.ids[0]
    assert "i04" not in wanted.ids[0] and len(wanted.ids[0]) == 3


@pytest.mark.parametrize("flags", [["--explain"], ["--explain", "--offset", "1"], ["--explain", "--show", "price"]])
def test_every_hit_of_a_table_has_its_reasons(flags, folder, words, capsys):
    assert main(["search", str(folder / "words.idx"), "red tree", "-k", "2", *flags]) == 0
    printed = capsys.readouterr().out
    first = 1 if "--offset" in flags else 0
    for item in words("red tree", k=4).ids[0][first : first + 2]:
        assert f"\n{item}\n{words.explain('red tree', item)}" in printed
    assert printed.count("number") == (0 if "--show" in flags else printed.count("number"))


RUNS = {
    "one": {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"d": 2.0, "a": 1.0}},
    "two": {"q1": {"c": 9.0, "a": 1.0}, "q2": {"b": 5.0}, "q3": {"a": 1.0}},
    "six": {"q2": {"d": 4.0, "c": 3.0, "b": 2.0}, "q1": {"e": 1.0}},
}
QRELS = {"q1": {"a": 1, "c": 2}, "q2": {"b": 1, "e": 0}, "q3": {"d": 1}}


@pytest.fixture
def runs(tmp_path):
    for name, queries in RUNS.items():
        rows = [
            f"{query} Q0 {item} {rank} {score} {name}"
            for query, items in queries.items()
            for rank, (item, score) in enumerate(items.items(), 1)
        ]
        (tmp_path / f"{name}.run").write_text("\n".join(rows) + "\n")
    rows = [f"{query} 0 {item} {grade}" for query, items in QRELS.items() for item, grade in items.items()]
    (tmp_path / "qrels.txt").write_text("\n".join(rows) + "\n")
    return [str(tmp_path / f"{name}.run") for name in RUNS]


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ([], {}),
        (["--k", "2"], {"k": 2}),
        (["--rank-constant", "1"], {"rank_constant": 1}),
        (["--weights", "1", "0", "3"], {"weights": [1, 0, 3]}),
    ],
)
def test_fused_runs_are_the_sum_of_reciprocal_ranks(flags, options, runs, tmp_path, capsys):
    out = tmp_path / "fused.run"
    assert main(["runs", "fuse", *runs, "-o", str(out), *flags]) == 0
    wanted: dict[str, dict[str, float]] = {}
    shares = options.get("weights", [1, 1, 1])
    for share, queries in zip(shares, RUNS.values(), strict=True):
        for query, items in queries.items():
            for rank, item in enumerate(items, 1):
                row = wanted.setdefault(query, {})
                row[item] = row.get(item, 0.0) + share / (options.get("rank_constant", 60) + rank)
    lines = [line.split() for line in out.read_text().splitlines()]
    for query, row in wanted.items():
        own = [(item, float(score)) for other, _, item, _, score, _ in lines if other == query]
        best = sorted((value for value in row.values() if value > 0 or len(shares) == 3), reverse=True)
        assert [score for _, score in own] == pytest.approx(best[: options.get("k")][: len(own)], rel=1e-5)
        assert all(score == pytest.approx(row[item], rel=1e-5) for item, score in own)
    assert f"{len(wanted)} queries" in capsys.readouterr().out
    assert len(lines) == len(fuse_runs(list(RUNS.values()), **options).items)
    assert main(["runs", "fuse", *runs, "-o", str(out), *flags]) == 2, "what is there is kept"
    assert main(["runs", "fuse", *runs, "-o", str(out), "--overwrite", *flags]) == 0


@pytest.mark.parametrize(("depth", "judged"), product([1, 2, 100], [False, True]))
def test_a_pool_is_the_union_of_the_best_without_what_is_judged(depth, judged, runs, tmp_path):
    out, flags = tmp_path / "pool.tsv", ["--qrels", str(tmp_path / "qrels.txt")] if judged else []
    assert main(["runs", "pool", *runs, "-o", str(out), "--depth", str(depth), *flags]) == 0
    wanted: dict[str, dict[str, int]] = {}
    for queries in RUNS.values():
        for query, items in queries.items():
            row = wanted.setdefault(query, {})
            for rank, item in enumerate(list(items)[:depth]):
                if not judged or item not in QRELS[query]:
                    row[item] = min(rank, row.get(item, rank))
    pairs = [(query, item) for query, row in wanted.items() for item in sorted(row, key=lambda item: (row[item], item))]
    assert [tuple(line.split("\t")) for line in out.read_text().splitlines()] == pairs
    assert list(pool(list(RUNS.values()), depth, judged=QRELS if judged else None)) == list(wanted)


def test_every_report_of_a_comparison_is_that_of_python(runs, tmp_path, capsys):
    wanted = compare(
        dict(zip(RUNS, map(str, runs), strict=True)), Judgments.of(tmp_path / "qrels.txt"), measures=["RR@10", "R@2"]
    )
    files = {name: tmp_path / f"out.{name}" for name in ("markdown", "latex", "per-query", "json")}
    flags = [part for name, path in files.items() for part in (f"--{name}", str(path))]
    told = ["compare", *runs, "--qrels", str(tmp_path / "qrels.txt"), "--measures", "RR@10,R@2"]
    assert main([*told, *flags, "--trec", str(tmp_path / "trec"), "--overlap", "1", "--differences", "2"]) == 0
    assert files["per-query"].read_text() == wanted.per_query()
    for name, write in (("markdown", wanted.to_markdown), ("latex", wanted.to_latex)):
        write(tmp_path / "wanted")
        assert files[name].read_text() == (tmp_path / "wanted").read_text()
    found = json.loads(files["json"].read_text())
    assert {name: found[name]["measures"] for name in RUNS} == {
        name: wanted.evaluations[name].measures for name in RUNS
    }
    assert len(list((tmp_path / "trec").iterdir())) == 3
    printed = capsys.readouterr().out
    wanted.overlaps(1).show()
    assert capsys.readouterr().out.strip() in printed
    differences = wanted.differences(2)
    assert differences
    for each in differences:
        each.show()
        assert capsys.readouterr().out.strip() in printed
    assert main([*told, "--per-query"]) == 0
    assert wanted.per_query() in capsys.readouterr().out
    alone = ["eval", runs[1], "--qrels", str(tmp_path / "qrels.txt"), "--measures", "RR@10", "--json"]
    assert main([*alone, str(tmp_path / "alone.json")]) == 0
    (own,) = json.loads((tmp_path / "alone.json").read_text()).values()
    assert own["measures"]["RR@10"] == pytest.approx((1 + 1 + 0) / 3)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("q Q0 a 1 2.5 x\n", True),
        ("\n\nq Q0 a 1 -2e-5 x\n", True),
        ("q Q0 a 1 2.5\n", False),
        ("q Q0 a 1 2.5 x y\n", False),
        ("q Q0 a 1 high x\n", False),
        ("", False),
    ],
)
def test_a_run_is_told_by_its_six_columns(text, wanted, tmp_path):
    (tmp_path / "file").write_text(text)
    assert is_run(str(tmp_path / "file")) is wanted and not is_run(str(tmp_path))


def test_names_of_systems(tmp_path):
    paths = {"a=x/y": ("a", "x/y"), "x/y/": ("y", "x/y/"), "y": ("y", "y"), "a=b=c": ("a", "b=c")}
    assert {pair: named(pair) for pair in paths} == paths
    for wrong in ("=x", "a="):
        with pytest.raises(InputError, match="NAME=PATH"):
            named(wrong)
    assert unique_names(["x/a", "b=x/a"]) == {"a": "x/a", "b": "x/a"}
    with pytest.raises(InputError, match="'a' twice"):
        unique_names(["x/a", "y/a"])
    for name in ("b.run", "a.run", ".hidden"):
        (tmp_path / name).write_text("q Q0 a 1 2.5 x\n")
    (tmp_path / "inner").mkdir()
    assert system_paths([str(tmp_path)]) == {name: str(tmp_path / f"{name}.run") for name in ("a", "b")}
    assert system_paths([f"c={tmp_path / 'b.run'}", "d=nowhere"]) == {"c": str(tmp_path / "b.run"), "d": "nowhere"}


def test_models_to_store(monkeypatch):
    from argparse import Namespace

    for given, wanted in {None: None, False: False}.items():
        assert bundling(Namespace(bundle_model=given)) is wanted
    assert bundling(Namespace(bundle_model=[[]])) is True
    assert bundling(Namespace(bundle_model=[["a", "b"], ["c"]])) == ["a", "b", "c"]
    for wrong in ([[], ["a"]], [["a"], []]):
        with pytest.raises(InputError, match="given alone"):
            bundling(Namespace(bundle_model=wrong))


def test_lines_are_read_without_ends_and_blanks(tmp_path):
    (tmp_path / "lines").write_bytes("\ufeffa\r\n \r\n\n b \nlast".encode())
    assert read_lines(str(tmp_path / "lines")) == ["a", " b ", "last"]


def test_a_file_called_like_a_condition_is_a_file(tmp_path, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "price<9").write_text("i11\ni12\nnobody\n")
    with pytest.warns(UserWarning, match="1 of 3 ids of price<9 are of no item, for example 'nobody'"):
        filter = prepared_where(["price<9"], words)
    assert [ITEMS[n]["id"] for n in filter.mask.nonzero()[0]] == ["i11", "i12"]
    assert prepared_where([], words) is None
    assert prepared_where(["price<8"], words).mask.sum() == 4


@pytest.mark.parametrize("more", [[], ["--offset", "0"], ["--offset", "1"], ["--json"]])
def test_a_value_that_no_item_has_is_said_once(more, folder, capsys):
    assert main(["search", str(folder / "words.idx"), "fig", "--where", "brand=w", *more]) == 0
    out, err = capsys.readouterr()
    assert (out + err).count("no item has brand = 'w'") == 1 and "hint" in err


def test_a_total_that_is_not_exact_is_said_to_be_the_least(capsys):
    names = [f"i{n}" for n in range(5)]
    search = TableRetriever({"q": {name: 5.0 - n for n, name in enumerate(names)}}, names)
    for depth, said in [(2, "at least 2 found, "), (20, "5 found, ")]:
        print_counts(search.page("q", 10, depth=depth))
        assert capsys.readouterr().out.startswith(said)


def test_fields_to_show_may_have_spaces_around_them(folder, capsys):
    tables = []
    for fields in ("brand,price", " brand , price"):
        assert main(["search", str(folder / "words.idx"), "red", "fig", "--show", fields, "-k", "2"]) == 0
        tables.append(capsys.readouterr().out.splitlines()[:-1])  # the last line has the time
    assert tables[0] == tables[1] and any("price" in line for line in tables[0])
    assert shown_fields("id, brand ,score,rank") == ["brand"] and shown_fields("") is None


@pytest.mark.parametrize("other", [["fig"], ["--json"], ["--explain"], ["--similar", "i00"], ["--offset", "1"]])
def test_a_run_is_of_a_file_of_queries_alone(other, folder, tmp_path, capsys):
    queries = ["--queries", str(folder / "queries.jsonl"), "--trec", str(tmp_path / "out.run")]
    assert main(["search", str(folder / "words.idx"), *other, *queries]) == 2
    assert "`--trec` must be given with --queries FILE" in capsys.readouterr().err
    assert not (tmp_path / "out.run").exists()
