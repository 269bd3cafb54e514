"""English words without their inflections, in plain Python, on the bytes of a word: what the native code must do."""

from __future__ import annotations

import re

WHOLE = {"andes", "atlas", "bias", "cosmos", "howe", "news", "sky", "inning", "outing", "canning", "herring", "earring"}
WHOLE |= {"proceed", "exceed", "succeed", "evening"}
IRREGULAR = {"skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "vying": "vie"}
SYLLABLE = re.compile("[aeiouy][^aeiouy]")
SHORT = re.compile("(?:^[aeiouy][^aeiouy]|[^aeiouy][aeiouy][^aeiouywxY])$")


def stem(word: str) -> str:
    """Return the stem of a word in lower case."""
    found = _stem(word.encode().decode("latin-1"))
    return found.replace("Y", "y").encode("latin-1").decode()


def _stem(word: str) -> str:
    if len(word) <= 2 or word in WHOLE:
        return word
    if word in IRREGULAR:
        return IRREGULAR[word]
    word = re.sub("([aeiouy])y", r"\1Y", re.sub("^y", "Y", word))
    first = _after_syllable(word, 0)
    second = _after_syllable(word, first)
    word = _without_s(word)
    if word in WHOLE or word in IRREGULAR:
        return IRREGULAR.get(word, word)
    word = _without_ed(word, first)
    word = re.sub("(?<=.[^aeiouy])y$", "i", word)
    rest = word[:-1]
    if word.endswith("e") and (len(rest) >= second or (len(rest) >= first and not SHORT.search(rest))):
        return rest
    return word


def _after_syllable(word: str, start: int) -> int:
    found = SYLLABLE.search(word, start)
    return found.end() if found else len(word)


def _without_s(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith(("us", "ss")) or not word.endswith("s"):
        return word
    return word[:-1] if re.search("[aeiouy]", word[:-2]) else word


def _without_ed(word: str, first: int) -> str:
    if word.endswith("eed"):
        return word[:-1] if len(word) - 3 >= first else word
    found = re.fullmatch("(.*[aeiouy].*)(?:ed|ing)", word, re.DOTALL)
    if not found:
        return word
    rest = found[1]
    if word.endswith("ing") and re.fullmatch("[^aeiou\x80-\xbf][\x80-\xbf]*y", rest):
        return rest[:-1] + "ie"
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if re.search(r"([bdfgmnprt])\1$", rest) and not re.fullmatch("[aeo]..", rest):
        return rest[:-1]
    return rest + "e" if len(rest) <= first and SHORT.search(rest) else rest
