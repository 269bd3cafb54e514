"""The small catalog that every implementation is tested on: words with ties, repeats, marks and an empty text."""

from __future__ import annotations

import random

from vizsla.core.catalog import Item

WORDS = [
    "fig",
    "pear",
    "apple",
    "plum",
    "quince",
    "tree",
    "leaf",
    "root",
    "seed",
    "bark",
    "river",
    "stone",
    "café",
    "größe",
    "東京",
    "naïve",
    "don't",
    "x1",
    "ω",
]


def make_items(count: int = 60, seed: int = 7) -> dict[str, str]:
    pick = random.Random(seed)
    items = {f"item/{n} ü": " ".join(pick.choices(WORDS, k=pick.randint(1, 12))) for n in range(count)}
    items["twin 1"] = items["twin 2"] = "fig pear pear"
    items["empty"] = ""
    return items


ITEMS = make_items()


def titled_items() -> list[Item]:
    """Return the items with their first words as titles, and their lengths; joined, their texts are the same."""
    split = ((item, text.split()) for item, text in ITEMS.items())
    return [Item(item, " ".join(words[2:]), " ".join(words[:2]), {"words": len(words)}) for item, words in split]


QUERIES = [
    "fig",
    "pear apple",
    "fig fig tree",
    "größe café 東京",
    "ЖЖЖ щщщ",
    "",
    "plum " * 40,
    " ".join(WORDS),
]


def make_clicks(queries: int = 80, seed: int = 11) -> tuple[dict[str, str], list[tuple[str, str, float]]]:
    """Queries of a few words of an item's text, and a click on it; every third item has no clicks."""
    pick = random.Random(seed)
    known = [item for number, item in enumerate(ITEMS) if number % 3 and ITEMS[item]]
    chosen = {f"q{n}": pick.choice(known) for n in range(queries)}
    texts = {q: " ".join(pick.choices(ITEMS[item].split(), k=pick.randint(1, 3))) for q, item in chosen.items()}
    return texts, [(q, item, float(pick.randint(1, 5))) for q, item in chosen.items()]


CLICKED, CLICKS = make_clicks()
