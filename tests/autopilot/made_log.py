"""A dated log over made items: words that only customers use, repeated queries, and items that arrive late."""

from __future__ import annotations

import random

from vizsla.data.dataset import SECONDS_PER_DAY, Dataset

LOOKS = ["oak", "steel", "blue", "round", "small", "folding", "glass", "tall"]
KINDS = ["lamp", "chair", "table", "shelf", "rug", "clock", "mirror", "stool", "bench", "vase"]


def made_log(searches: int = 2000, *, slang: float = 0.6, seed: int = 1, times: bool = True) -> Dataset:
    """Return 80 items, and searches of which a share uses words that no item has."""
    draw = random.Random(seed)
    items = [
        {"id": f"{look}-{kind}", "title": f"{look} {kind}", "text": f"a {kind}, {look}", "sold": at}
        for at, (look, kind) in enumerate((look, kind) for look in LOOKS for kind in KINDS)
    ]
    log = []
    for number in range(searches):
        look, kind = draw.choice(LOOKS), draw.choice(KINDS)
        said = f"x{look[::-1]}" if draw.random() < slang else look
        query = f"{said} {kind}" if draw.random() < 0.7 else f"{kind} {said} {draw.choice(['please', 'cheap', 'new'])}"
        if draw.random() < 0.1:  # a click on something else
            look, kind = draw.choice(LOOKS), draw.choice(KINDS)
        click = (query, f"{look}-{kind}", 1.0)
        log.append((*click, SECONDS_PER_DAY * number / 10 + 1e9) if times else click)
    return Dataset.of(items, clicks=log)
