from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from vizsla.demo.holding_out import hold_out

ABOUT = st.dictionaries(st.text(max_size=3), st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=3, unique=True))


@given(ABOUT, st.integers(0, 5), st.integers(0, 5), st.integers(0, 9))
def test_warm_questions_leave_another_and_cold_ones_leave_none(about, warm, cold, seed):
    test = hold_out(about, warm=warm, cold=cold, seed=seed)
    left = Counter(item for text, items in about.items() if text not in test for item in items)
    sure = [text for text in test if all(left[item] for item in about[text])]
    lost = [text for text in test if not any(left[item] for item in about[text])]
    assert len(sure) + len(lost) == len(test)
    assert len(sure) <= warm and len(lost) <= cold
    assert test == hold_out(dict(reversed(about.items())), warm=warm, cold=cold, seed=seed)


def test_the_numbers_asked_for_are_held_out_where_they_exist():
    about = {f"{item} {number}": [f"item {item}"] for item in range(20) for number in range(1 + item % 2)}
    assert len(hold_out(about, warm=7, cold=3, seed=1)) == 10
    assert hold_out(about, warm=7, cold=3, seed=1) != hold_out(about, warm=7, cold=3, seed=2)
