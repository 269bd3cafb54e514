"""Vizsla's XR-Linear as a contestant."""

import json
import tempfile
from pathlib import Path

from clock import serve
from scipy.sparse import csr_matrix, save_npz
from xrlinear_measures import folder_bytes, matrix_of, microseconds, peak_above, recall, texts_of

from vizsla import Dataset
from vizsla.indexes.tree import layer_matchers
from vizsla.methods.xrlinear.build import xrlinear
from vizsla.methods.xrlinear.tuning import default_encoder
from vizsla.text.ngrams import NgramTfidf

K = 100
built = {}


def train(folder, instances, words=False, fitted=False, **options):
    """Train on a data set; with `words`, on word unigrams alone; with `fitted`, the features are there beforehand."""
    dataset = _in_memory(Dataset.open(json.loads((Path(folder) / "source.json").read_text())))
    item_texts = instances == "with-items"
    ready = _chosen(folder, texts_of(folder, instances)) if fitted else None

    def work():
        encoder = _words(texts_of(folder, instances)) if words else ready
        return xrlinear(dataset, encoder=encoder, item_texts=item_texts, **options)

    built["model"], seconds, peak = peak_above(work)
    return {"seconds": seconds, "peak": peak}


def _chosen(folder, texts):
    """Fit the features that `write_features` wrote; the trial that chose them was another process's, and its memory."""
    return default_encoder(texts).with_shares(json.loads((Path(folder) / "shares.json").read_text()))


def _in_memory(dataset):
    """Read all texts beforehand, as the peer has them."""
    clicks = dataset.clicks.tocoo()
    asked, chosen = dataset.query_ids.take(clicks.row.astype("i4")), dataset.item_ids.take(clicks.col.astype("i4"))
    items = {item.id: item.default_text() for item in dataset.items}
    queries = {query.id: query.text for query in dataset.queries}
    return Dataset.of(items, queries=queries, clicks=zip(asked, chosen, clicks.data.tolist(), strict=True))


def _words(texts):
    return NgramTfidf.fit(texts, bigrams=0, trigrams=0, idf_power=2.0)


def save():
    """Save and load again, memory-mapped; return the bytes of the tree alone."""
    folder = built["folder"] = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "model"
    built["model"].save(path)
    built["model"] = type(built["model"]).load(path)
    return folder_bytes(path / "tree")


def measure_recall(folder, split, beam):
    found = built["model"].with_effort(beam)(texts_of(folder, split), k=K)
    rows = [found.row(number)[0] for number in range(len(found))]
    return [recall(rows, matrix_of(folder, split), k) for k in (10, 100)]


def query(folder, split, count):
    """Text in, item ids out, beam 10."""
    model = built["model"].with_effort(10)
    return microseconds(lambda text: model(text, k=K).ids, texts_of(folder, split)[:count])


def kernel(folder, split):
    model = built["model"]
    rows, index = model.encoder.queries(texts_of(folder, split)), model.index.with_effort(10)
    return microseconds(lambda _: index.search(rows, K), [0]) / len(rows)


def fit_all_kinds(folder, instances):
    """Fit words, pairs of words and character trigrams, whatever the model chose."""
    built["all kinds"] = default_encoder(texts_of(folder, instances))


def transform(folder, split, repeats):
    encoder, texts = built["all kinds"], texts_of(folder, split)
    return 1e6 * len(texts) / microseconds(lambda _: encoder.queries(texts), [0] * repeats)


def write_features(folder, names):
    """Give the peer our features, and remember their shares."""
    (Path(folder) / "shares.json").write_text(json.dumps(built["model"].encoder.shares))
    for name in names:
        rows = built["model"].encoder.queries(texts_of(folder, name))
        save_npz(Path(folder) / f"{name}.features.npz", csr_matrix(rows.to_scipy()), compressed=False)


def zeros():
    index = built["model"].index
    return int(sum((layer_matchers(index, layer).values == 0).sum() for layer in range(len(index.layers))))


serve(
    train=train, save=save, recall=measure_recall, query=query, kernel=kernel, transform=transform,
    fit_all_kinds=fit_all_kinds, write_features=write_features, zeros=zeros,
    features=lambda: built["model"].encoder.dim,
)  # fmt: skip
