"""A single BM25 query crosses few modules and calls: each costs about as much as the search of a short list."""

import sys

import vizsla

MARK = "/vizsla/"


def test_one_query_crosses_at_most_eight_files_in_twenty_five_calls():
    search = vizsla.bm25(["a fig", "a pear"])
    search("fig")  # what is made once is made now
    entered = []

    def follow(frame, event, _):
        name = frame.f_code.co_filename
        if event == "call" and MARK in name and name.endswith(".py"):
            entered.append(name)

    before = sys.getprofile()
    sys.setprofile(follow)
    try:
        found = search("fig")
    finally:
        sys.setprofile(before)
    assert found.ids == [["0"]]
    entered = [name for name in entered if name != __file__]
    assert len(set(entered)) <= 8, sorted(set(entered))
    assert len(entered) <= 25


def test_odd_counts_are_still_refused_or_taken():
    import numpy as np
    import pytest

    from vizsla.errors import InputError

    search = vizsla.bm25(["a fig", "a fig tree", "a pear"])
    assert search("fig", k=np.int64(1)).ids == search("fig", k=1).ids
    assert len(search("fig", k=2**63 - 1)[0]) == 2
    with pytest.raises(InputError, match="`k` must be a whole number below"):
        search("fig", k=10**30)
    for wrong in (0, -1, True, 1.5, "3", None, np.arange(2)):
        with pytest.raises(InputError, match="`k` must be a whole number above 0"):
            search("fig", k=wrong)
        with pytest.raises(InputError, match="`threads` must be a whole number above 0"):
            search("fig", threads=wrong)
