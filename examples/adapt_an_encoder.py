"""Adapt a black-box encoder to clicks without training it: PEFA moves items towards the queries that chose them."""

import vizsla

items = {"fig": "a sweet fig", "pear": "a green pear", "onion": "a yellow onion", "leek": "a green leek"}
encoder = vizsla.LsaEncoder.fit(items.values(), dim=4)
base = vizsla.dense(items, encoder)
clicks = [("green vegetable", "onion"), ("something green to cook", "onion")]
adapted = vizsla.pefa_xs(base, clicks, weight=0.2, calibrated=False)
for name, search in {"base": base, "adapted": adapted}.items():
    print(name, search("green", k=1).ids[0])
