"""Plain twins of the fuzzy dictionary and of completions: every word is compared with every other."""

from functools import cache


@cache
def edit_distance(a: str, b: str) -> int:
    """The restricted Damerau-Levenshtein distance, by the whole table."""
    table = [[i + j if not i * j else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


def near(word: str, words: list[str], most: int) -> list[tuple[int, int]]:
    """Numbers and distances of the words within `most` edits, the nearest first."""
    found = [(edit_distance(word, other), number) for number, other in enumerate(words) if len(other) <= 40]
    return [(number, distance) for distance, number in sorted(found) if distance <= most]


def complete(prefix: str, keys: list[str], weights: list[float], k: int) -> list[tuple[int, int]]:
    """Entries and edits: those that begin with the prefix by weight, then those that begin one edit away from it."""
    order = sorted(range(len(keys)), key=lambda number: (-weights[number], number))
    exact = [number for number in order if keys[number].startswith(prefix)]
    near_ones = [
        number
        for number in order
        if number not in exact
        and any(edit_distance(prefix, keys[number][:size]) == 1 for size in range(len(keys[number]) + 1))
    ]
    return ([(number, 0) for number in exact] + [(number, 1) for number in near_ones])[:k]
