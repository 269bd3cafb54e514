"""Bags of tokens read by the default analyzer of BM25: stems, languages, growth and files."""

from __future__ import annotations

import vizsla
from vizsla.cli import main
from vizsla.text import AnyLanguage

ITEMS = {
    "haus": "Die Häuser in der Straße sind nicht neu",
    "hund": "Der Hund schläft, und die Katze ist auf dem Dach",
    "dogs": "The dogs were sleeping in front of the house",
    "bike": "How to repair the wheels of a bicycle",
}


def test_a_bag_reads_each_item_in_its_language(tmp_path):
    search = vizsla.tokens(ITEMS, analyzer=AnyLanguage(), b=0.5)
    search.save(tmp_path / "tokens")
    for one in (search, vizsla.load(tmp_path / "tokens")):
        assert one("haus").ids == [["haus"]] and one("dog").ids == [["dogs"]] and one("wheel").ids == [["bike"]]
        assert one("der the").ids == [[]]


def test_new_items_are_read_in_their_own_language_too():
    first = {id: ITEMS[id] for id in ("haus", "hund", "dogs")} | {"war": "A short history of the war and what it was"}
    analyzer = AnyLanguage(["german", "english"])
    grown = vizsla.tokens(first, analyzer=analyzer, b=0.5).with_items({"bike": ITEMS["bike"]})
    whole = vizsla.tokens(first | {"bike": ITEMS["bike"]}, analyzer=analyzer, b=0.5)
    for query in ("wheels", "häuser", "hunde", "repairing"):
        assert grown(query).to_dict() == whole(query).to_dict()


def test_clicks_teach_stems():
    learned = vizsla.learning.train_tokens(
        vizsla.tokens(ITEMS, analyzer=AnyLanguage()), [("cycling", "bike")] * 3, epochs=3
    )
    assert learned("cycling", k=1).ids == [["bike"]]


def test_a_language_is_asked_for_on_the_command_line(tmp_path, capsys):
    (tmp_path / "items.tsv").write_text("".join(f"{id}\t{text}\n" for id, text in ITEMS.items()))
    command = [
        "index",
        "tokens",
        str(tmp_path / "items.tsv"),
        "--overwrite",
        "-o",
        str(tmp_path / "tokens"),
        "--language",
    ]
    assert main([*command, "auto"]) == 0
    assert vizsla.load(tmp_path / "tokens")("dog").ids == [["dogs"]]
    assert main([*command, "german", "--learn-vocabulary", "30"]) != 0
    assert "`--language` must be left out" in capsys.readouterr().err
