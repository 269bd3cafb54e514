"""A small click log whose answers are known: every item has words of its text, and a nickname that only queries use."""

from __future__ import annotations

from vizsla.data.dataset import Dataset

TOPICS = ("garden", "kitchen", "harbour", "railway", "library", "theatre")


def item_text(number: int) -> str:
    return f"{TOPICS[number % len(TOPICS)]} thing{number} shelf{number // 7}"


def toy(items: int = 48, *, cold: int = 0, text: bool = True) -> Dataset:
    """The last `cold` items have no clicks; without `text`, no item has a text."""
    catalog = {f"i{number}": item_text(number) if text else "" for number in range(items)}
    queries, clicks = {}, []
    for number in range(items - cold):
        topic = TOPICS[number % len(TOPICS)]
        texts = (f"nick{number}", f"{topic} thing{number}", f"nick{number} {topic}")
        for way, words in enumerate(texts):
            queries[f"q{number}-{way}"] = words
            clicks.append((f"q{number}-{way}", f"i{number}", float(1 + way)))
    return Dataset.of(catalog, queries=queries, clicks=clicks)
