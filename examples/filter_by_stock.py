"""Search only what is in stock: prepare the list once, ask many times. Unknown ids are ignored on request."""

import vizsla

search = vizsla.bm25({"fig": "a small fig tree", "apple": "an apple tree", "plum": "a plum tree"})
in_stock = search.filter(["apple", "plum", "sold out long ago"], unknown="ignore")
for query in ("tree", "fig tree"):
    print(query, search(query, where=in_stock).ids[0])
