"""What the routes answer, for the OpenAPI document; answers are plain data, and not checked by these models."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from vizsla.serve.schemas import Name


class Answer(BaseModel):
    """An answer of a route; later versions may have more fields."""

    model_config = ConfigDict(extra="allow")


class SpanList(Answer):
    """A short piece of an item's text, with the spans that a query's words have in it, in characters."""

    text: str
    spans: list[tuple[int, int]]


class SearchHit(Answer):
    """One item of an answer; what was not asked for is missing."""

    id: str
    rank: int
    score: float | None
    text: str | None = None
    metadata: dict[str, Any] = {}
    highlights: dict[str, list[tuple[int, int]]] | None = Field(None, description="Where words stand, by field.")
    snippet: SpanList | None = None
    confidence: float | None = Field(None, description="The probability of a click.")
    more: int | None = Field(None, description="Further items of this hit's group.")
    parent: str | None = Field(None, description="The text of the section or document that it is a passage of.")
    why: dict[str, Any] | None = Field(None, description="A tree of `score`, `reason` and `parts`.")


class StageTime(Answer):
    """How long one step of an answer took, and how many steps it is within."""

    name: str
    start_ms: float
    ms: float
    depth: int


class QueryAnswer(Answer):
    """The answer to one query."""

    query: str
    query_id: str = Field(description="By this id clicks may name the query.")
    results: list[SearchHit]
    total: int
    total_is_exact: bool
    offset: int
    facets: dict[str, Any]
    groups: int | None = None
    hints: list[str] | None = None
    cost: dict[str, float | bool]
    member: str
    generation: int = Field(description="The last transaction that the answer knows.")
    stages: list[StageTime] | None = None


class OneAnswer(QueryAnswer):
    """The answer to a request with `query`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "fig tree",
                    "query_id": "4b0c6a1f5b5e4b6f8f0f7d1f3a2b1c0d",
                    "results": [{"id": "fig", "rank": 1, "score": 3.2, "metadata": {"price": 12}}],
                    "total": 1,
                    "total_is_exact": True,
                    "offset": 0,
                    "facets": {},
                    "cost": {"ms": 0.2, "postings": 4},
                    "member": "words",
                    "generation": 7,
                    "took_ms": 0.9,
                }
            ]
        }
    )
    took_ms: float


class ManyAnswers(Answer):
    """The answers to a request with `queries`, in their order."""

    answers: list[QueryAnswer]
    member: str
    generation: int
    took_ms: float


class WhyAnswer(Answer):
    """A score as a tree of shares."""

    score: float
    reason: str
    parts: list[dict[str, Any]]


class MemberOverlap(Answer):
    """How much the answers of two members share."""

    members: tuple[str, str]
    shared: int
    jaccard: float


class MemberAnswer(Answer):
    """What one member answers, and how long that took."""

    member: str
    results: list[SearchHit]
    took_ms: float


class CompareAnswer(Answer):
    """Answers of several members, side by side."""

    query: str
    answers: list[MemberAnswer]
    overlaps: list[MemberOverlap]


class Completions(Answer):
    """What may follow what was typed."""

    completions: list[str]


class ItemAnswer(Answer):
    """An item with its text and metadata."""

    id: str
    title: str
    text: str
    metadata: dict[str, Any]


class StoredAnswer(Answer):
    """How many were stored."""

    stored: int


class ClicksAnswer(StoredAnswer):
    """How many clicks were stored, and how many events are none."""

    left_out: int


class DeletedAnswer(Answer):
    """How many items were deleted."""

    deleted: int


class ChangedAnswer(Answer):
    """How many items were changed."""

    changed: int


class CountAnswer(Answer):
    """How many items there are."""

    count: int


class RerankAnswer(Answer):
    """Scores in the shape of Cohere, Jina and vLLM, best first."""

    id: str
    model: str
    results: list[dict[str, Any]]
    meta: dict[str, Any]
    usage: dict[str, int]


class TeiScore(Answer):
    """A score in TEI's shape."""

    index: int
    score: float
    text: str | None = None


class JobAnswer(Answer):
    """A long action: ask for it by its id until its state is "done" or "failed"."""

    id: Name
    action: str
    state: str = Field(description="waiting, running, done or failed")
    started: float
    ended: float | None = None
    result: Any = None
    error: str | None = None


class SnapshotAnswer(Answer):
    """The snapshot that was kept."""

    snapshot: str


class RollbackAnswer(Answer):
    """The snapshot that the members are as in."""

    rolled_back_to: str


class HistoryEntry(Answer):
    """Something that happened to members or snapshots."""

    action: str
    detail: str
    time: float
    generation: int


class HealthAnswer(Answer):
    """The process answers."""

    status: str


class ReadyAnswer(HealthAnswer):
    """Searches are accepted."""

    in_flight: int


class InfoAnswer(Answer):
    """What is served."""

    version: str
    kind: str = Field(description="engine or artifact")
    members: dict[str, str]
    default: str
    fields: dict[str, str]
    items: int
    generation: int
    judged: bool
    in_flight: int
    limits: dict[str, Any]
    engine: dict[str, Any] | None = None


class ProblemAnswer(Answer):
    """What was expected and what came (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, str]] | None = Field(None, description="Of an invalid request, each place and problem.")
