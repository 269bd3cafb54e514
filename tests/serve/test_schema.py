"""Requests that the OpenAPI document allows, and some that it does not: answers are as it says, and no error is ours.

`VIZSLA_REQUESTS=100000 python -m pytest tests/serve/test_schema.py` sends more.
"""

from __future__ import annotations

import io
import os
from collections import Counter

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

import vizsla
from tests.serve.services import fruit_engine
from vizsla.serve import ServiceSettings, app, schemas
from vizsla.serve.telemetry import JsonLog

REQUESTS = int(os.environ.get("VIZSLA_REQUESTS", "900"))
"""How many requests all routes together get."""
CHECKED = {"not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"}
SOUND = {
    "using": ["", "words", "letters"],
    "members": [["words", "letters"]],
    "where": ["price<20", {"type": "eq", "key": "kind", "value": "tree"}, None],
    "facets": [[], ["kind"], ["price:3"]],
    "sort": [[], ["price"], ["kind:desc"]],
    "group": [None, "kind"],
    "fields": [None, ["price"]],
    "min_confidence": [None],
    "item": ["fig", "apple"],
    "time": [None, 1.5, "2026-01-01"],
    "k": [1, 10],
    "offset": [0, 1],
}
"""Values that the document cannot know: without them nearly every request would be refused for one of its fields."""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    members = {"words": vizsla.Recipe.of("bm25"), "letters": vizsla.Recipe.of("tfidf")}
    with fruit_engine(tmp_path_factory.mktemp("schema"), members=members, default="words") as engine:
        service = app(engine, settings=ServiceSettings(), log=JsonLog(io.StringIO()))
        with TestClient(service):
            yield service


def sound(body, draw):
    """Return a body most of whose fields have values that mean something."""
    if not isinstance(body, dict):
        return body
    return {name: draw(st.sampled_from(SOUND[name])) if name in SOUND else value for name, value in body.items()}


def test_every_route_answers_as_the_document_says(service):
    from schemathesis import checks

    checks.load_all_checks()
    chosen = [check for check in checks.CHECKS.get_all() if check.__name__ in CHECKED]
    assert len(chosen) == len(CHECKED)
    operations = [each.ok() for each in schemathesis.openapi.from_asgi("/openapi.json", service).get_all_operations()]
    statuses = Counter()
    fast = [each for each in operations if "rebuild" not in each.path]
    for operation in operations:

        @settings(
            max_examples=REQUESTS // len(fast) if operation in fast else 3,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(), data=st.data())
        def answers_as_documented(case, data):
            if data.draw(st.booleans()):
                case.body = sound(case.body, data.draw)
            answer = case.call()
            statuses[case.operation.label, answer.status_code // 100] += 1
            case.validate_response(answer, checks=chosen)

        answers_as_documented()
    answered = {label for label, kind in statuses if kind == 2}
    assert {each.label for each in operations} - answered <= {
        "POST /v1/admin/evaluate",  # there are no judged queries
        "GET /v1/admin/jobs/{id}",  # drawn ids are of no job
        "GET /v1/items/{id}",
        "PATCH /v1/items/{id}",
        "DELETE /v1/items/{id}",
        "POST /v1/explain",
        "POST /v1/admin/rollback",
    }


def test_the_document_names_tokens_and_problems_and_has_examples(service):
    document = service.openapi()
    assert document["openapi"].startswith("3.1")
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            token = None if path in ("/health", "/ready") else operation["security"][0]
            writes = path.startswith(("/v1/admin", "/v1/clicks")) or method in ("patch", "delete")
            writes = writes or path in ("/v1/items", "/v1/items/delete")
            assert token == (None if token is None else {"write": []} if writes else {"read": []}), path
            assert {"4XX", "5XX"} <= operation["responses"].keys() and "422" not in operation["responses"]
    described = document["components"]["schemas"]
    assert "examples" in described["OneAnswer"]
    for name in (name for name in described if name.endswith("Request") or name == "ItemPatch"):
        for example in described[name]["examples"]:
            getattr(schemas, name).model_validate(example)
