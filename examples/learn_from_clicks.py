"""Train XR-Linear on a click log and join it with BM25: people ask with words that no item has."""

import vizsla

items = {"fig": "a fig", "pear": "a pear", "plum": "a plum"}
clicks = [("small purple fruit", "fig", 3), ("green fruit", "pear", 5), ("purple stone fruit", "plum", 2)]
log = vizsla.Dataset.of(items, clicks=clicks)
model, words = vizsla.xrlinear(log), vizsla.bm25(log)
print("clicks:", model("something purple", k=2).ids[0])
both = 0.5 * words.normalized() + 0.5 * model.normalized()
print("both:  ", both("purple fig", k=2).ids[0])
