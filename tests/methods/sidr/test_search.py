"""What the trained encoder serves: beta, full, alpha and late parametric search, their forms, files, and law 7."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pytest

import vizsla
from tests.methods.sidr.encoders import tiny_encoder
from tests.methods.sidr.tiny import ITEMS, tiny_base
from vizsla import sidr
from vizsla.base import Queries
from vizsla.cli import main
from vizsla.encoders.sidr import SidrEncoder
from vizsla.errors import FormatError, InputError, VizslaError
from vizsla.io.jsonl import write_items
from vizsla.scorers import LateParametric
from vizsla.scorers.cache import ScoreStore

for package in ("torch", "transformers", "onnx", "onnxruntime"):
    pytest.importorskip(package, reason="the extra neural is not installed")

QUERIES = ["fig auto", "a plum cake please", "orchard", ""]


@pytest.fixture(scope="module")
def encoder() -> SidrEncoder:
    return tiny_encoder()


def beside_bags(encoder: SidrEncoder, **changes) -> SidrEncoder:
    """Return the encoder whose items begin at their bags, as the tiny bag weighs them."""
    search = tiny_base()
    own = {"b": search.b, "mean_length": float(search.lengths.mean()), **changes}
    return SidrEncoder(encoder.table, encoder.model, encoder.tokens, **{**encoder.settings, **own})


@pytest.fixture
def late(encoder, tmp_path):
    made = LateParametric(encoder, ITEMS, tmp_path / "vectors.db")
    yield made
    made.close()


def test_beta_search_is_the_weights_of_the_tokens_that_items_hold(encoder):
    beta = tiny_base().with_table(encoder)
    rows = encoder.queries(QUERIES).toarray().astype(np.float64)
    bags = tiny_base().index.item_rows().toarray()
    expected = rows @ bags.T * beta.index.norms
    found = beta.exact(QUERIES, k=len(ITEMS))
    for row, truth in enumerate(expected):
        items, scores = found.row(row)
        assert np.allclose(scores, truth[items], rtol=1e-5)


def test_full_search_is_the_product_of_vectors(encoder):
    found = sidr(ITEMS, encoder).exact(QUERIES, k=len(ITEMS))
    truth = encoder.queries(QUERIES).toarray() @ encoder.items(list(ITEMS.values())).toarray().T
    for row in range(len(QUERIES)):
        items, scores = found.row(row)
        assert np.allclose(scores, truth[row][items], rtol=1e-5)


def test_an_items_vector_is_its_bag_and_what_the_model_says(encoder):
    texts, search = list(ITEMS.values()), tiny_base()
    beside = beside_bags(encoder)
    bags = search.index.item_rows().toarray() * search.index.norms[:, None]
    said = encoder.items(texts).toarray()
    assert np.allclose(beside.items(texts).toarray(), bags + said, rtol=1e-6)
    assert np.array_equal(beside.with_forms(items="learned").items(texts).toarray(), said)


def test_full_search_begins_at_beta(encoder):
    """Without what the model says of items, an index of vectors scores as the bags do."""
    beta, full = tiny_base().with_table(encoder), sidr(ITEMS, beside_bags(encoder, item_scale=0.0))
    found, expected = full.exact(QUERIES[:3], k=len(ITEMS)), beta.exact(QUERIES[:3], k=len(ITEMS))
    for row in range(3):
        items, scores = found.row(row)
        truth = dict(zip(*expected.row(row), strict=True))
        assert np.allclose(scores, [truth[item] for item in items], rtol=1e-5)


@pytest.mark.parametrize("beside", [False, True])
def test_beta_at_full_depth_reranked_is_full_search(encoder, tmp_path, beside):
    """Law 7, to the last bit."""
    encoder = beside_bags(encoder) if beside else encoder
    late = LateParametric(encoder, ITEMS, tmp_path / "vectors.db")
    beta, full = tiny_base().with_table(encoder), sidr(ITEMS, encoder)
    everything = (beta % len(ITEMS)) >> late
    asked = QUERIES[:3]  # an empty query finds no item in bags
    found, expected = everything(asked, k=10), full(asked, k=10)
    reached = beta(asked, k=len(ITEMS))
    assert all(len(row) == len(ITEMS) for row in reached.ids)
    assert found.ids == expected.ids
    assert (found.scores == expected.scores).all()
    late.close()


def test_a_query_is_encoded_once_for_both_stages(encoder, late, monkeypatch):
    calls = []
    real = SidrEncoder.queries
    monkeypatch.setattr(SidrEncoder, "queries", lambda self, texts: calls.append(list(texts)) or real(self, texts))
    (tiny_base().with_table(encoder) >> late)("fig auto")
    assert calls == [["fig auto"]]


def test_items_are_encoded_once_and_kept(encoder, late, tmp_path, monkeypatch):
    pipeline = (tiny_base().with_table(encoder) % 5) >> late
    calls = []
    real = SidrEncoder.items
    monkeypatch.setattr(SidrEncoder, "items", lambda self, texts: calls.append(len(texts)) or real(self, texts))
    first, second = pipeline("fig auto"), pipeline("fig auto")
    assert calls == [5]
    assert first.ids == second.ids and (first.scores == second.scores).all()
    another = LateParametric(encoder, ITEMS, tmp_path / "vectors.db")
    assert repr(another) == f"LateParametric(5 of {len(ITEMS)} items encoded)"
    ((tiny_base().with_table(encoder) % 5) >> another)("fig auto")
    assert calls == [5]
    another.close()


def test_a_changed_text_is_encoded_anew(encoder, tmp_path):
    with_text = {"a": "a fig tree", "b": "a car"}
    one = LateParametric(encoder, with_text, tmp_path / "v.db")
    two = LateParametric(encoder, {**with_text, "a": "an apple tart"}, tmp_path / "v.db")
    found = vizsla.tokens(with_text)("fig tree car")
    assert one.score("fig", found).to_dict() != two.score("fig", found).to_dict()
    one.close()
    two.close()


def test_inspect_says_how_far_the_store_is(encoder, late, capsys):
    ((tiny_base().with_table(encoder) % 5) >> late)("fig auto")
    late.close()
    assert main(["inspect", str(late.path)]) in (0, None)
    assert "5 vectors" in capsys.readouterr().out


def test_inspect_counts_the_texts_of_a_catalog(encoder, late, tmp_path, capsys):
    ((tiny_base().with_table(encoder) % 5) >> late)("fig auto")
    late.close()
    lines = [json.dumps({"id": item, "text": text}) for item, text in {**ITEMS, "new": "a new text"}.items()]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    data = ["--data", str(tmp_path / "items.jsonl")]
    assert main(["inspect", str(late.path), *data]) in (0, None)
    assert f"(5 of the data's {len(ITEMS) + 1} texts)" in capsys.readouterr().out
    assert main(["inspect", str(late.path), "--json", *data]) in (0, None)
    counts = json.loads(capsys.readouterr().out)[encoder.fingerprint]
    assert (counts["vectors"], counts["encoded"], counts["texts"]) == (5, 5, len(ITEMS) + 1)


def test_alpha_search_works_where_item_vectors_are_bags_alone(encoder):
    """A scale of 0 leaves the transformer out of an item's vector, not out of what it says alone."""
    bags = SidrEncoder(encoder.table, encoder.model, encoder.tokens, **{**encoder.settings, "item_scale": 0.0})
    said = encoder.with_forms(items="learned").items(["a fig tree"]).toarray() / encoder.item_scale
    assert np.allclose(bags.with_forms(items="learned").items(["a fig tree"]).toarray(), said, rtol=1e-5)
    assert vizsla.sidr(ITEMS, bags.with_forms(items="learned")).with_query_form("tokens")("fig car", k=3).ids[0]


@pytest.mark.parametrize("change", ["numbers = X'00000000'", "numbers = 7", "columns = X'00'", "seal = 1"])
def test_a_damaged_vector_is_refused(encoder, late, change):
    pipeline = (tiny_base().with_table(encoder) % 5) >> late
    pipeline("fig auto")
    late.close()
    with sqlite3.connect(late.path) as connection:
        connection.execute(f"UPDATE vectors SET {change}")
    connection.close()
    with pytest.raises(FormatError, match="store of vectors"):
        pipeline("fig auto")


def test_a_score_cache_is_no_store_of_vectors(encoder, tmp_path):
    ScoreStore(tmp_path / "scores.db").close()
    with pytest.raises(FormatError, match="another program"):
        LateParametric(encoder, ITEMS, tmp_path / "scores.db")


def test_a_second_stage_may_have_another_encoder(encoder, tmp_path):
    lengths = vizsla.encoders.FunctionEncoder(lambda texts: [[len(t), 1.0] for t in texts], dim=2, name="length")
    other = LateParametric(lengths, ITEMS, tmp_path / "v.db")
    found = ((tiny_base().with_table(encoder) % 4) >> other)("fig auto")
    assert len(found.ids[0]) == 4
    other.close()


@pytest.mark.parametrize("form", ["learned", "lexical", "binary", "tokens"])
def test_forms_of_queries(encoder, form):
    full, rows = encoder.queries(QUERIES).toarray(), encoder.with_forms(queries=form).queries(QUERIES).toarray()
    own = encoder.words.queries(QUERIES).toarray() > 0
    learned = full - encoder.table.queries(QUERIES).toarray()
    expected = {"learned": learned, "lexical": full * own, "binary": full > 0, "tokens": own}[form]
    if form == "learned":
        assert np.allclose(rows, expected, atol=1e-5)
        return
    assert np.array_equal(rows, expected.astype(np.float32))


def test_overlap_and_alpha_need_no_model(encoder):
    plain = SidrEncoder(encoder.table, np.zeros(3, np.uint8), encoder.tokens, query_form="tokens", item_form="tokens")
    assert len(tiny_base().with_table(plain)("fig tree", k=2).ids[0]) == 2
    alpha = sidr(ITEMS, encoder).with_query_form("tokens")
    truth = encoder.words.queries(["fig tree"]).toarray() @ encoder.items(list(ITEMS.values())).toarray().T
    items, scores = alpha.exact("fig tree", k=5).row(0)
    assert np.allclose(scores, truth[0][items], rtol=1e-5)


def test_a_vector_keeps_its_strongest_tokens(encoder):
    few = SidrEncoder(encoder.table, encoder.model, encoder.tokens, **{**encoder.settings, "most": 4})
    rows, full = few.items(["a fig tree"]), encoder.items(["a fig tree"])
    strongest = np.sort(full.columns[np.argsort(-full.values)[:4]])
    assert rows.columns.tolist() == strongest.tolist()


def test_explanations_add_up_and_mark_expansions(encoder):
    for search in (tiny_base().with_table(encoder), sidr(ITEMS, encoder)):
        found = search("fig auto", k=1)
        why = search.explain("fig auto", found.ids[0][0])
        assert np.isclose(sum(part.score for part in why.parts), found.scores[0], rtol=1e-4)
        assert "(expansion)" in str(why)


def test_late_parametric_search_explains_itself_as_full_search_does(encoder, tmp_path):
    late = LateParametric(encoder, ITEMS, tmp_path / "vectors.db")
    search, full = (tiny_base().with_table(encoder) % 5) >> late, sidr(ITEMS, encoder)
    why, wanted = (one.explain("fig auto", "fig-car") for one in (search, full))
    assert why.score == wanted.score and why.parts == wanted.parts
    late.close()


def test_a_dense_second_stage_explains_itself_by_its_name(encoder, tmp_path):
    lengths = vizsla.encoders.FunctionEncoder(lambda texts: [[len(text)] for text in texts], dim=1, name="length")
    late = LateParametric(lengths, ITEMS, tmp_path / "vectors.db")
    why = ((tiny_base().with_table(encoder) % 5) >> late).explain("fig auto", "fig-car")
    assert "LateParametric" in why.reason and why.score == 8 * len(ITEMS["fig-car"]) and not why.parts
    late.close()


def test_a_trained_model_cannot_forget_clicks(encoder):
    for search in (tiny_base().with_table(encoder), sidr(ITEMS, encoder)):
        with pytest.raises(InputError, match="cannot forget clicks. Give a function"):
            search.refit_on(vizsla.Dataset.of(ITEMS))


def test_beta_survives_its_files(encoder, tmp_path):
    for search in (tiny_base().with_table(encoder), sidr(ITEMS, encoder)):
        loaded = vizsla.load(search.save(tmp_path / search.kind))
        asked = Queries(QUERIES[:3])
        assert (loaded(asked).scores == search(QUERIES[:3]).scores).all()


def test_items_may_come_and_go(encoder):
    beta = tiny_base().with_table(encoder)
    more = beta.with_items({"new": "a fig garden"})
    assert "new" in more("fig garden", k=40).ids[0]
    assert "new" not in more.without_items(["new"])("fig garden", k=40).ids[0]


def test_a_model_that_is_none_is_refused_when_it_is_asked(encoder):
    broken = SidrEncoder(encoder.table, np.arange(99, dtype=np.uint8), encoder.tokens)
    with pytest.raises(FormatError, match="ONNX model must be sound"):
        broken.queries(["fig"])


def test_a_head_of_another_width_is_refused(encoder):
    broken = SidrEncoder(encoder.table, encoder.model, encoder.tokens[:-1])
    with pytest.raises(FormatError, match="must give"):
        broken.queries(["fig"])


@pytest.mark.parametrize("damage", ["bytes", "width"])
def test_a_damaged_model_inside_an_artifact_is_a_format_error(encoder, tmp_path, damage):
    model = np.arange(99, dtype=np.uint8) if damage == "bytes" else encoder.model
    tokens = encoder.tokens if damage == "bytes" else encoder.tokens[:-1]
    loaded = vizsla.load(SidrEncoder(encoder.table, model, tokens).save(tmp_path / "saved"))
    for act in (loaded.queries, loaded.items):
        with pytest.raises(FormatError, match="model"):
            act(["fig"])


@pytest.mark.parametrize(
    "changes", [{"most": 0}, {"max_tokens": 2}, {"query_form": "other"}, {"query_scale": 0.0}, {"item_scale": np.nan},
                {"b": 1.5}, {"mean_length": -1.0}]
)  # fmt: skip
def test_wrong_settings_are_refused(encoder, changes):
    with pytest.raises(VizslaError):
        SidrEncoder(encoder.table, encoder.model, encoder.tokens, **{**encoder.settings, **changes})


@pytest.mark.parametrize("tokens", [[3, 2], [1, 1], [-1, 2], [2, 10_000], []])
def test_wrong_tokens_are_refused(encoder, tokens):
    with pytest.raises(InputError, match="`tokens`"):
        SidrEncoder(encoder.table, encoder.model, np.array(tokens, np.int64))


def test_later_clicks_teach_the_table_beside_the_model(encoder):
    clicks = [("shop", "fig-market"), ("shop", "pear-market")]
    taught = tiny_base().with_table(encoder).with_clicks(clicks, epochs=3)
    alone = tiny_base().with_table(encoder.table).with_clicks(clicks, epochs=3)
    assert taught.encoder.table.fingerprint == alone.encoder.fingerprint
    assert taught.encoder.model is encoder.model


@pytest.fixture
def shell(encoder, tmp_path, capsys):
    """A model and its items in files, and how a command's answers are read."""
    tiny_base().with_table(encoder).save(tmp_path / "beta")
    write_items(vizsla.Dataset.of(ITEMS), tmp_path / "items.jsonl")

    def searched(*words: str) -> list[str]:
        capsys.readouterr()
        assert main(["search", words[0], "plum cake", "--json", "-k", "40", *words[1:]]) == 0
        return [hit["id"] for hit in json.loads(capsys.readouterr().out)["hits"]]

    return searched


def test_the_shell_builds_full_and_alpha_search(encoder, shell, tmp_path):
    index = ["index", "sidr", str(tmp_path / "items.jsonl"), "--model", str(tmp_path / "beta")]
    assert main([*index, "-o", str(tmp_path / "full")]) == 0
    assert main([*index, "-o", str(tmp_path / "a"), "--queries-as", "tokens", "--items-as", "learned"]) == 0
    assert shell(str(tmp_path / "full")) == sidr(ITEMS, encoder)("plum cake", k=40).ids[0]
    alpha = sidr(ITEMS, encoder.with_forms(items="learned")).with_query_form("tokens")
    assert shell(str(tmp_path / "a")) == alpha("plum cake", k=40).ids[0]
    assert vizsla.load(tmp_path / "a").encoder.item_form == "learned"


def test_the_shell_searches_late(encoder, shell, late, tmp_path):
    items, kept = str(tmp_path / "items.jsonl"), tmp_path / "kept.db"
    late_search = (tiny_base().with_table(encoder) % 7) >> late
    found = shell(str(tmp_path / "beta"), "--late", str(kept), "--depth", "7", "--data", items)
    assert found == late_search("plum cake", k=40).ids[0]
    assert kept.exists()


def test_the_shell_says_what_late_search_needs(shell, tmp_path, capsys):
    assert main(["search", str(tmp_path / "beta"), "fig", "--late", str(tmp_path / "kept.db")]) == 2
    assert "Got no --data" in capsys.readouterr().err
    vizsla.bm25(ITEMS).save(tmp_path / "words")
    assert main(["index", "sidr", str(tmp_path / "items.jsonl"), "--model", str(tmp_path / "words"), "-o", "x"]) == 2
    assert "must be SiDR's" in capsys.readouterr().err
