"""The least that evaluation asks of a dataset: query texts and judgments, written down."""

from __future__ import annotations


class JudgedDict:
    """One split, "test", from `{query id: text}` and `{query id: {item id: grade}}`."""

    splits = ("test",)

    def __init__(self, texts: dict[str, str], qrels: dict[str, dict[str, int]]):
        self.texts, self.qrels = texts, qrels

    def query_texts(self, split: str) -> tuple[list[str], list[str]]:
        return list(self.texts), list(self.texts.values())

    def qrels_dict(self, split: str) -> dict[str, dict[str, int]]:
        return self.qrels
