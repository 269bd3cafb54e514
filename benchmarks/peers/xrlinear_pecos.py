"""PECOS's XR-Linear as a contestant: PIFA, a tree of branching 32 and leaves of 100, teacher forcing, threshold 0.1."""

import tempfile
from pathlib import Path

import numpy as np
from clock import serve
from pecos.utils.featurization.text.vectorizers import Vectorizer
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from scipy.sparse import load_npz
from xrlinear_measures import folder_bytes, matrix_of, microseconds, peak_above, recall, texts_of

K = 100
ALL_KINDS = [
    {"analyzer": "word", "ngram_range": (1, 1)},
    {"analyzer": "word", "ngram_range": (2, 2)},
    {"analyzer": "char_wb", "ngram_range": (3, 3)},
]
built = {}


def train(folder, instances, given=False):
    """Train with its own vectorizer as it comes, which is word unigrams; or on features that are `given`."""
    texts, clicks = texts_of(folder, instances), matrix_of(folder, instances)
    built["given"] = given

    def work():
        features = _given(folder, instances) if given else _fitted(texts)
        vectors = LabelEmbeddingFactory.create(clicks, features, method="pifa")
        tree = Indexer.gen(vectors, nr_splits=32, max_leaf_size=100, seed=0, threads=1)
        kind = {"negative_sampling_scheme": "tfn", "threshold": 0.1}
        return XLinearModel.train(features, clicks, C=tree, threads=1, **kind)

    built["model"], seconds, peak = peak_above(work)
    return {"seconds": seconds, "peak": peak}


def _given(folder, name):
    return load_npz(Path(folder) / f"{name}.features.npz").tocsr().astype(np.float32)


def _fitted(texts):
    config = {"type": "tfidf", "kwargs": {"threads": 1}}
    built["vectorizer"] = Vectorizer.train(texts, config=config)
    return _rows(texts)


def _rows(texts):
    rows = built["vectorizer"].predict(texts, threads=1).astype(np.float32)
    rows.sort_indices()
    return rows


def save():
    """Save, compile to the memory-mapped form and load that; return its bytes."""
    folder = built["folder"] = tempfile.TemporaryDirectory()
    plain, mapped = Path(folder.name) / "npz", Path(folder.name) / "mmap"
    built["model"].save(str(plain))
    XLinearModel.compile_mmap_model(str(plain), str(mapped))
    built["model"] = XLinearModel.load(str(mapped), is_predict_only=True)
    return folder_bytes(mapped)


def _queries(folder, split):
    return _given(folder, split) if built["given"] else _rows(texts_of(folder, split))


def _search(rows, beam):
    model = built["model"]
    return model.predict(rows, beam_size=beam, only_topk=K, post_processor="l3-hinge", threads=1)


def measure_recall(folder, split, beam):
    found = _search(_queries(folder, split), beam).tocsr()
    parts = [slice(a, b) for a, b in zip(found.indptr, found.indptr[1:], strict=False)]
    rows = [found.indices[part][np.argsort(-found.data[part], kind="stable")] for part in parts]
    return [recall(rows, matrix_of(folder, split), k) for k in (10, 100)]


def query(folder, split, count):
    """Text in, row numbers of items out, beam 10."""
    vectorizer = built["vectorizer"]

    def ask(text):
        return _search(vectorizer.predict([text], threads=1), 10).indices.tolist()

    return microseconds(ask, texts_of(folder, split)[:count])


def kernel(folder, split):
    rows = _queries(folder, split)
    return microseconds(lambda _: _search(rows, 10), [0]) / rows.shape[0]


def fit_all_kinds(folder, instances):
    """Fit a vectorizer of unigrams, bigrams and character trigrams, for `transform` alone."""
    config = {"type": "tfidf", "kwargs": {"base_vect_configs": ALL_KINDS, "threads": 1}}
    built["all kinds"] = Vectorizer.train(texts_of(folder, instances), config=config)


def transform(folder, split, repeats):
    vectorizer, texts = built["all kinds"], texts_of(folder, split)
    return 1e6 * len(texts) / microseconds(lambda _: vectorizer.predict(texts, threads=1), [0] * repeats)


serve(
    train=train, save=save, recall=measure_recall, query=query, kernel=kernel, transform=transform,
    fit_all_kinds=fit_all_kinds,
)  # fmt: skip
