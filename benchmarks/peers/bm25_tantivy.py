"""tantivy as a contestant: frequencies without positions, one thread, in memory."""

import tantivy
from clock import cpu_seconds, p50_ms, read_lines, serve

built = {}


def index(file):
    texts = read_lines(file)

    def work():
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", stored=False, tokenizer_name="default", index_option="freq")
        engine = tantivy.Index(builder.build())
        writer = engine.writer(heap_size=500_000_000, num_threads=1)
        for text in texts:
            writer.add_document(tantivy.Document(text=text))
        writer.commit()
        writer.wait_merging_threads()
        engine.reload()
        return engine

    built["engine"], seconds = cpu_seconds(work)
    return seconds


def search(file, k):
    engine = built["engine"]
    searcher = engine.searcher()
    # Without counting all hits it may prune, as we do.
    return p50_ms(lambda q: searcher.search(engine.parse_query(q, ["text"]), k, count=False), read_lines(file))


serve(index=index, search=search)
