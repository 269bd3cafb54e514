"""From a list of texts to a first hit, with the reason."""

import vizsla

search = vizsla.bm25({"fig": "a small fig tree", "apple": "an apple tree", "pear": "pears in autumn"})
search("fig tree", k=2).show()
print(search.explain("fig tree", "fig"))
