import numpy as np
import pytest

from vizsla.demo.python_docs import COLD_SHARE, HELD_OUT_SHARE, docs_dataset


@pytest.fixture(scope="module")
def dataset(pages):
    return docs_dataset(list(pages.values()), held_out=HELD_OUT_SHARE, cold=COLD_SHARE, seed=0)


def test_every_page_is_an_item_and_nothing_was_dropped(dataset, pages):
    assert list(dataset.item_ids) == list(pages)
    assert dataset.warnings == ()
    assert all(item.text.strip() for item in dataset.items)


def test_every_query_is_in_one_split_and_points_at_items(dataset):
    train, test = dataset.qrels_dict("train"), dataset.qrels_dict("test")
    assert not train.keys() & test.keys()
    assert sorted([*train, *test]) == sorted(dataset.query_ids)
    ids = set(dataset.item_ids)
    assert all(items and items.keys() <= ids for items in [*train.values(), *test.values()])


def test_no_query_text_comes_twice(dataset):
    texts = [query.text.casefold() for query in dataset.queries]
    assert len(texts) == len(set(texts))


def test_nine_in_ten_held_out_queries_are_about_items_that_keep_one(dataset):
    kept = np.asarray((dataset.qrels("train") > 0).sum(axis=0)).ravel() > 0
    test = dataset.qrels("test")
    rows = [kept[test.indices[a:b]] for a, b in zip(test.indptr, test.indptr[1:], strict=False) if b > a]
    warm, cold = sum(row.all() for row in rows), sum(not row.any() for row in rows)
    assert warm + cold == len(rows) == round(HELD_OUT_SHARE * len(dataset.queries))
    assert cold == round(COLD_SHARE * len(rows))


def test_clicks_to_learn_from_are_those_of_the_split_train(dataset):
    assert (dataset.clicks != dataset.qrels("train")).nnz == 0


def test_what_another_page_says_about_an_item_is_a_query(dataset, pages):
    by_text = {query.text: query.id for query in dataset.queries}
    judged = {**dataset.qrels_dict("train"), **dataset.qrels_dict("test")}
    entry = next(entry for entry in pages["numpy.linalg.eig"].entries if entry.names == ("eigvals",))
    assert "numpy.linalg.eigvals" in judged[by_text[entry.said.rstrip(".")]]


def test_the_seed_chooses_what_is_held_out(dataset, pages):
    def held_out(seed):
        return set(
            docs_dataset(list(pages.values()), held_out=HELD_OUT_SHARE, cold=COLD_SHARE, seed=seed).qrels_dict("test")
        )

    assert held_out(0) == set(dataset.qrels_dict("test")) != held_out(1)
