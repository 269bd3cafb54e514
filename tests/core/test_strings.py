"""String tables against Python's own dict and list."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from vizsla import _native
from vizsla.core.strings import Strings
from vizsla.errors import InputError

texts = st.lists(st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=8), max_size=40)


@given(texts, texts)
def test_behaves_like_a_list_and_its_first_positions(strings, others):
    table = Strings.of(strings)
    first = {string: number for number, string in reversed(list(enumerate(strings)))}
    assert list(table) == strings and len(table) == len(strings)
    assert table[:] == strings
    assert table.find_all(strings + others).tolist() == [first.get(string, -1) for string in strings + others]
    assert all((string in table) == (string in first) for string in others)


@given(texts)
def test_repeats_are_the_later_positions(strings):
    _, repeats = Strings.with_repeats(strings)
    seen: set[str] = set()
    expected = [number for number, s in enumerate(strings) if s in seen or seen.add(s)]
    assert repeats.tolist() == expected


@given(texts, texts)
def test_fingerprints_tell_tables_apart(left, right):
    assert (Strings.of(left) == Strings.of(right)) == (left == right)


@given(st.binary(max_size=300), st.integers(0, 2**64 - 1))
def test_checksum_is_xxh64(data, seed):
    assert _native.checksum(np.frombuffer(data, np.uint8), seed) == xxhash.xxh64(data, seed=seed).intdigest()


def test_unique_names_the_repeated_id():
    with pytest.raises(InputError, match="Got 'a' again at position 2"):
        Strings.unique(["a", "b", "a"])


def test_take_and_number_check_their_range():
    table = Strings.of(["a", "b"])
    with pytest.raises(IndexError):
        table.take(np.array([2], np.int32))
    with pytest.raises(IndexError):
        table[5]
    with pytest.raises(InputError, match="known id. Got 'x'"):
        table.number("x")


@pytest.mark.parametrize(
    ("data", "offsets", "slots"),
    [
        (b"ab", [0, 1, 3], None),
        (b"ab", [1, 2], None),
        (b"ab", [0, 2, 1, 2], None),
        (b"ab", [], None),
        (b"ab", [0, 1, 2], [0] * 7),
        (b"ab", [0, 1, 2], [9] * 8),
    ],
)
def test_hostile_tables_are_refused(data, offsets, slots):
    numbers = np.array(offsets, np.int64)
    table = np.zeros(8, np.uint32) if slots is None else np.array(slots, np.uint32)
    with pytest.raises(ValueError):
        Strings(np.frombuffer(data, np.uint8), numbers, table)


def test_a_full_table_of_wrong_slots_still_ends():
    table = Strings(np.frombuffer(b"ab", np.uint8), np.array([0, 1, 2]), np.full(8, 1, np.uint32))
    assert table.find("zzz") == -1


def test_a_table_survives_pickling_and_copying(tmp_path):
    table = Strings.of(["fig", "größe", "", "東京"])
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(table, protocol))
        assert list(again) == list(table) and again == table and again.find("東京") == 3
        assert not any(values.flags.writeable for values in (again.data, again.offsets, again.slots))
    assert copy.copy(table) is table and copy.deepcopy({"x": table})["x"] is table


def test_a_forged_pickle_of_a_table_is_checked():
    table = Strings.of(["fig", "pear"])
    rebuild, (data, offsets, slots, source) = table.__reduce__()
    with pytest.raises(ValueError, match="offset"):
        rebuild(data, offsets + 5, slots, source)
