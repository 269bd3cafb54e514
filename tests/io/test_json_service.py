"""Calls to a service: none is begun after a failure, and a secret is shown in no form that a service may repeat."""

from __future__ import annotations

from threading import Thread, current_thread
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vizsla.io.json_service import REDACTED, JsonService, PartlyAnswered, call_all

SECRETS = st.text(st.sampled_from("abz09 +/&=%?#é~-"), min_size=3, max_size=12).filter(
    lambda text: len(text.strip()) > 2
)


@given(SECRETS, st.sampled_from([quote, quote_plus]), st.sampled_from(["api_key", "token", "version"]))
def test_a_secret_of_an_address_is_shown_neither_as_it_is_written_nor_as_it_is_read(secret, written, name):
    sent = written(secret, safe="")
    service = JsonService(f"https://rerank.example/v2?x=1&{name}={sent}")
    for form in {secret, sent}:
        said = service._without_secrets(f"[[{form}]] is no key")
        assert f"[[{form}]]" not in said and REDACTED in said
    assert sent not in repr(service.url) and sent not in service.identity


@pytest.mark.parametrize("count", [2, 3, 50])
def test_after_a_failure_no_other_call_is_begun(count):
    """The second call waits for the thread of the first, which fails: that thread must end without another call."""
    failing: list[Thread] = []
    begun: list[int] = []

    def act(number: int) -> int:
        begun.append(number)
        if number == 0:
            failing.append(current_thread())
            raise ValueError("no")
        while not failing:
            pass
        if number == 1:
            failing[0].join()
        return number

    with pytest.raises(PartlyAnswered) as told:
        call_all(act, range(count), 2)
    assert str(told.value.cause) == "no" and told.value.answered == []
    assert sorted(begun) in ([0], [0, 1]) and told.value.begun == len(begun)


def test_one_at_a_time_the_calls_before_a_failure_are_told():
    with pytest.raises(PartlyAnswered) as told:
        call_all(lambda number: 1 // (number - 3), range(9), 1)
    assert told.value.answered == [-1, -1, -1] and told.value.begun == 4
