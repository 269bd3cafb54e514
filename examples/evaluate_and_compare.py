"""Measure two systems on judged queries, with significance and cost. Needs the extra `eval`."""

import vizsla

items = {f"d{n}": f"text about {word}" for n, word in enumerate(["figs", "pears", "plums", "apples"] * 5)}
queries = {f"q{n}": word for n, word in enumerate(["figs", "pears", "plums", "apples"])}
data = vizsla.Dataset.of(items, queries=queries, qrels=[(f"q{n}", f"d{n}", 1) for n in range(4)])
words = vizsla.text.Analyzer.named("words")
plain, stemmed = vizsla.bm25(data, analyzer=words), vizsla.bm25(data, analyzer=vizsla.text.AnyLanguage("english"))
vizsla.compare({"plain": plain, "stemmed": stemmed}, data, "test", ["R@5", "RR@10"], latency_queries=4).show()
