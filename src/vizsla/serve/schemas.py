"""Requests of the service's own routes, with examples for the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Text = Annotated[str, StringConstraints(max_length=1_000_000)]
Name = Annotated[str, StringConstraints(max_length=200)]
ItemId = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Where = str | dict[str, Any]
Time = float | str | None


class Strict(BaseModel):
    """A request in which an unknown field is an error: a misspelled option is not ignored."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class UbiQuery(BaseModel):
    """What a client may say of its query in the User Behavior Insights format."""

    model_config = ConfigDict(extra="allow")
    query_id: Name | None = None
    user_query: Text | None = None
    client_id: Name | None = None


class SearchRequest(Strict):
    """A search: one query, or several that share all options."""

    model_config = ConfigDict(
        extra="forbid",
        allow_inf_nan=False,
        json_schema_extra={
            "examples": [
                {"query": "fig tree", "k": 10, "where": "price<20", "facets": ["brand"], "highlights": True},
                {"query": "fig tree", "where": {"type": "lt", "key": "price", "value": 20}, "explain": True},
            ]
        },
    )
    query: Text | None = None
    queries: list[Text] | None = None
    k: Annotated[int, Field(ge=1)] = 10
    offset: Annotated[int, Field(ge=0)] = 0
    where: Where | None = None
    using: Name = Field("", description="The member that answers; the default one unless given.")
    facets: list[Name] = Field([], description="Fields whose values are counted.", max_length=50)
    sort: list[Name] = Field([], description="Fields to sort by, such as `price:desc`.", max_length=10)
    group: Name | None = Field(None, description="Return the best item per value of this field.")
    highlights: bool = False
    parent: Literal["section", "document"] | None = Field(
        None, description="Return the text of the whole section or document of each hit, a passage."
    )
    explain: bool = False
    stages: bool = Field(False, description="Return how long each step took: encode, search, score, facets.")
    syntax: Literal["web", "plain"] = Field(
        "web", description='With "phrases", +must, -not, field:word and prefix*, or plain words.'
    )
    typos: bool = Field(
        True, description="Whether members of BM25 forgive typos: a word that no item holds stands for those near it."
    )
    min_confidence: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="Leave out hits that are less likely to be clicked, of a member with confidence."
    )
    count_to: int = Field(
        10_000, ge=0, description="Where more items match, `total` may be a lower bound; `total_is_exact` says so."
    )
    fields: list[Name] | None = Field(None, description="The metadata to return; all unless given.", max_length=200)
    ubi: UbiQuery | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> SearchRequest:
        if (self.query is None) == (self.queries is None):
            raise ValueError("either `query` or `queries` must be given, and not both")
        if self.queries is not None and not self.queries:
            raise ValueError("`queries` must not be empty")
        return self

    def texts(self) -> list[str]:
        """Return the queries."""
        return [self.query] if self.query is not None else list(self.queries or ())


class ItemIn(BaseModel):
    """An item; what it has besides id, text and title is metadata."""

    model_config = ConfigDict(
        extra="allow",
        allow_inf_nan=False,
        json_schema_extra={"examples": [{"id": "fig", "text": "a small fig tree", "title": "Fig", "price": 12}]},
    )
    id: ItemId
    text: Text = ""
    title: Text = ""

    def to_row(self) -> dict[str, Any]:
        """Return the item as the engine takes it."""
        row = {"id": self.id, "text": self.text, **(self.model_extra or {})}
        return {**row, "title": self.title} if self.title else row


class ItemsRequest(Strict):
    """Items to store in one transaction."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"items": [{"id": "fig", "text": "a small fig tree", "price": 12}], "mode": "upsert"}]
        },
    )
    items: list[ItemIn] = Field(min_length=1)
    mode: Annotated[str, StringConstraints(pattern="^(add|upsert)$")] = "upsert"


class ItemPatch(BaseModel):
    """Fields to change; null removes one. `text` and `title` replace the item's own, and keep its clicks."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False, json_schema_extra={"examples": [{"price": 9}]})


class DeleteRequest(Strict):
    """Items to delete, by id or by a condition."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"where": "stock=0"}, {"ids": ["fig"]}]})
    ids: list[ItemId] | None = None
    where: Where | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> DeleteRequest:
        if (self.ids is None) == (self.where is None):
            raise ValueError("either `ids` or `where` must be given, and not both")
        return self


class CountRequest(Strict):
    """A condition whose items are counted; all items without one."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"where": "price<20"}, {}]})
    where: Where | None = None


class ClickIn(Strict):
    """One click: a query, or the id of an answer, and the item that was chosen."""

    query: Text | None = None
    query_id: Name | None = None
    item: ItemId
    weight: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    time: Time = Field(None, description="Seconds since 1970, or ISO 8601; now unless given.")

    @model_validator(mode="after")
    def _names_a_query(self) -> ClickIn:
        if self.query is None and self.query_id is None:
            raise ValueError("`query` or `query_id` must be given")
        return self


class ClicksRequest(Strict):
    """Clicks to store in one transaction."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"clicks": [{"query": "fig tree", "item": "fig"}]}]}
    )
    clicks: list[ClickIn] = Field(min_length=1)


class ExplainRequest(Strict):
    """A query and an item whose score is to be explained."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"query": "fig tree", "item": "fig", "using": "words"}]}
    )
    query: Text
    item: ItemId
    using: Name = ""


class CompareRequest(Strict):
    """A query to be answered by several members, side by side."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"query": "fig tree", "members": ["words", "best"]}]}
    )
    query: Text
    members: list[Name] = Field(min_length=2, max_length=8)
    k: Annotated[int, Field(ge=1)] = 10
    where: Where | None = None
    highlights: bool = False
    stages: bool = False


class MemberRequest(Strict):
    """A member to rebuild; all that were trained unless given."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"member": "clicks"}, {}]})
    member: Name | None = None


class NameRequest(Strict):
    """The name of a snapshot."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "before-retraining"}]})
    name: Annotated[str, StringConstraints(min_length=1, max_length=100)]


class EvaluateRequest(Strict):
    """Members to evaluate on the judged queries that the service was started with."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"members": ["words", "best"], "split": "test", "measures": ["nDCG@10"]}]},
    )
    members: list[Name] | None = Field(None, max_length=20)
    split: Name = "test"
    measures: list[Name] = Field(["nDCG@10", "R@10"], min_length=1, max_length=10)


class RerankRequest(BaseModel):
    """A rerank request in the shapes of Cohere, Jina, vLLM (`documents`) and TEI (`texts`); more is ignored."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={"examples": [{"query": "fig", "documents": ["a fig tree", "a pear"], "top_n": 1}]},
    )
    query: Text
    documents: list[Text | dict[str, Any]] | None = None
    texts: list[Text] | None = None
    top_n: Annotated[int, Field(ge=1)] | None = None
    model: Name = ""
    return_documents: bool = False
    return_text: bool = False
    raw_scores: bool = False

    @model_validator(mode="after")
    def _one_of_both(self) -> RerankRequest:
        if (self.documents is None) == (self.texts is None):
            raise ValueError("either `documents` or `texts` must be given, and not both")
        return self
