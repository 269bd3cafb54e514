"""Adapt a black-box encoder to clicks without training it: PEFA moves items towards the queries that chose them."""

import vizsla

items = {"fig": "a sweet fig", "pear": "a green pear", "onion": "a yellow onion", "leek": "a long leek"}
base = vizsla.dense(items, vizsla.encoders.LsaEncoder.fit(items.values(), dim=4))
adapted = vizsla.pefa(
    base, [("long and yellow", "onion"), ("a long one", "onion")], variant="xs", weight=0.2, calibrated=False
)
for name, search in {"base": base, "adapted": adapted}.items():
    print(name, search.score("long", base("long", k=4)).top(2).to_dict()["0"])
