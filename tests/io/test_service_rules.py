"""The rules of a JSON service, one by one: addresses, keys, headers, pauses, messages, and calls side by side."""

from __future__ import annotations

import io
import random
from email.message import Message
from email.utils import formatdate
from threading import Barrier, Lock
from time import time
from urllib.error import HTTPError

import pytest

from vizsla.errors import InputError, ServiceError
from vizsla.io.json_service import (
    MAX_MESSAGE_CHARS,
    MAX_WAIT_S,
    JsonService,
    PartlyAnswered,
    _message_of,
    _wait_s,
    backoff_s,
    call_all,
)

HOST = "https://rerank.example/v2"


def test_an_address_is_itself_without_keys_and_another_with_other_parameters():
    def identity(query):
        return JsonService(HOST + query).identity

    assert identity("") == identity("#part") == HOST and identity("?api_key=1") == identity("?token=a&sig=b")
    assert identity("?model=a&key=1") == identity("?key=2&model=a") == identity("?model=a") != identity("?key=1")
    assert len({identity("?model=a"), identity("?model=b"), identity("?a=model"), identity("?model=a&x=1")}) == 4
    assert identity("?api%5Fk%65y=1") == identity("?api_key=1") and identity("?si%67=1&model=a") == identity("?model=a")
    assert JsonService(HOST + "/x").identity != HOST
    for query, holds in {"": 0, "?model=a": 0, "?model=a&sig=1": 1, "?x=1&ACCESS_TOKEN=2": 1, "?sign=1": 0}.items():
        assert JsonService(HOST + query).holds_key == bool(holds), query
    assert JsonService(HOST + "?model=a&key=1#part").address == HOST + "?model=a&key=1"


@pytest.mark.parametrize("sound", ["http://127.0.0.1:1/x", "http://localhost/x", "http://[::1]:80/", "https://a.b:443"])
def test_plain_http_is_for_this_machine(sound):
    assert JsonService(sound).address.startswith(sound.partition(":")[0])


@pytest.mark.parametrize(
    "wrong",
    ["http://a.b/", "ftp://localhost/", "https:///x", "https://u@a.b", "https://u:p@a.b/", "https://a.b:0/", "a.b",
     "https://a.b:99999/", "https://a.b/ x", "https://a.b/é", "https://a.b/\n", "http://127.0.0.1.evil.example/"],
)  # fmt: skip
def test_other_addresses_are_refused(wrong):
    with pytest.raises(InputError, match="`url` must"):
        JsonService(wrong)


def test_headers_come_from_the_environment_and_a_key_is_a_bearer(monkeypatch):
    monkeypatch.setenv("A_KEY", "k1")
    monkeypatch.setenv("B_KEY", "k2")
    given = {"api-key": "$B_KEY", "X-Version": "2"}
    found = JsonService(HOST, key_variable="A_KEY", headers=given)._headers()
    sent = {"Content-Type": "application/json", "Accept": "application/json"}
    assert found == sent | {"api-key": "k2", "X-Version": "2", "Authorization": "Bearer k1"}
    for value in ("", "é", "a\nb"):
        monkeypatch.setenv("B_KEY", value)
        with pytest.raises(InputError, match="B_KEY must hold"):
            JsonService(HOST, headers=given)._headers()
    monkeypatch.delenv("A_KEY")
    with pytest.raises(InputError, match="A_KEY must hold"):
        JsonService(HOST, key_variable="A_KEY")._headers()


@pytest.mark.parametrize(
    "wrong",
    [{"Authorization": "$A"}, {"HOST": "x"}, {"a b": "x"}, {"": "x"}, {"x" * 101: "y"}, {"x": "a\nb"}, {"x": "é"},
     {"x-api-key": "plain"}, {"x-signature": "plain"}, {"x": 3}, {3: "x"}],
)  # fmt: skip
def test_headers_that_a_request_has_itself_or_that_hold_a_key_are_refused(wrong):
    with pytest.raises(InputError, match="header"):
        JsonService(HOST, headers=wrong)
    JsonService(HOST, headers={"x" * 100: "y", "x-signed": "plain", "x-api-key": "$A"})


def test_pauses_double_up_to_a_limit_and_are_never_shorter_than_asked_for():
    for attempt, whole in enumerate([1.5, 3.0, 6.0, 10.0, 10.0]):
        drawn = [backoff_s(attempt, 1.5, 10.0, random.Random(seed), None) for seed in range(200)]
        assert whole / 2 <= min(drawn) < 0.6 * whole and 0.9 * whole < max(drawn) <= whole
    assert backoff_s(0, 1.0, 2.0, random.Random(0), 7.5) == 7.5
    assert backoff_s(3, 1.0, 30.0, random.Random(0), 0.1) >= 4


def test_when_to_ask_again_is_a_number_or_a_date():
    assert [_wait_s(said) for said in (None, "", "soon", "-3", "1.5", "nan")] == [None] * 6
    assert [_wait_s(said) for said in ("0", " 7 ", "301", "9" * 400)] == [0.0, 7.0, MAX_WAIT_S, MAX_WAIT_S]
    assert 80 < _wait_s(formatdate(time() + 100, usegmt=True)) <= 100
    assert _wait_s(formatdate(time() - 100, usegmt=True)) == 0.0
    assert _wait_s(formatdate(time() + 9000, usegmt=True)) == MAX_WAIT_S


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"error": {"message": "no  such\\nmodel"}}', "no such model"),
        ('{"message": "a", "error": "b"}', "a"),
        ('{"detail": [{"msg": "first"}, {"msg": "second"}]}', "first"),
        ('{"title": "t"}', "t"),
        ('{"other": "x"}', ""),
        ("[]", ""),
        ('"plain"', "plain"),
        ("<html>", ""),
        ("3", ""),
    ],
)
def test_what_a_service_says_of_an_error_is_found(body, said):
    assert _message_of(HTTPError(HOST, 400, "Bad", Message(), io.BytesIO(body.encode()))) == said


@pytest.mark.parametrize("code", [400, 401, 404, 408, 413, 422, 425, 429, 500, 501, 502, 503, 504])
def test_only_what_may_pass_is_asked_again(code):
    headers = Message()
    headers["Retry-After"] = "9"
    found = JsonService(HOST)._refused(HTTPError(HOST, code, "Bad", headers, io.BytesIO(b'{"message": "m"}')))
    passing = code in (408, 425, 429, 500, 502, 503, 504)
    assert isinstance(found, ServiceError if passing else InputError)
    assert f"HTTP {code} (m)" in str(found)
    if passing:
        assert found.wait_s == 9.0


def test_what_is_quoted_is_cut_after_secrets_are_gone(monkeypatch):
    monkeypatch.setenv("A_KEY", "hunter2")
    service = JsonService(HOST + "?sig=abcdef&x=a%20b", key_variable="A_KEY", headers={"api-key": "$A_KEY"})
    said = "x" * (MAX_MESSAGE_CHARS - 4) + "hunter2 abcdef"
    found = service._without_secrets(said)
    assert len(found) <= MAX_MESSAGE_CHARS and "hunt" not in found and found.endswith("x… …")
    assert service._without_secrets("sig=abcdef&x=a%20b, a b, a%20b and hunter2") == "…, …, … and …"


@pytest.mark.parametrize(("count", "concurrency"), [(0, 3), (1, 3), (5, 1), (5, 2), (5, 9)])
def test_answers_of_calls_side_by_side_are_in_order(count, concurrency):
    assert call_all(lambda number: number * number, list(range(count)), concurrency) == [n * n for n in range(count)]


def test_so_many_calls_are_made_at_a_time():
    meeting, lock, most, running = Barrier(3), Lock(), [0], [0]

    def act(number):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        meeting.wait(60)  # which three must reach together
        with lock:
            running[0] -= 1

    call_all(act, list(range(9)), 3)
    assert most == [3]


@pytest.mark.parametrize("concurrency", [1, 2])
def test_the_first_failure_in_order_is_told_with_what_came_before(concurrency):
    def act(number):
        if number >= 2:
            raise ValueError(f"number {number}")
        return -number

    with pytest.raises(PartlyAnswered, match="number 2") as failed:
        call_all(act, [0, 1, 2, 3, 4], concurrency)
    assert failed.value.answered == [0, -1] and str(failed.value.cause) == "number 2"
    assert 3 <= failed.value.begun <= 2 + concurrency
