"""Seismic as a contestant: approximate search over sparse vectors, one thread."""

import os
import sys
from time import process_time

import numpy as np
import seismic
from clock import serve

built = {}


def index(file, postings):
    rows = dict(np.load(file))
    built["names"] = names = np.arange(int(rows["width"])).astype(seismic.get_seismic_string())
    data, start = seismic.SeismicDataset(), process_time()
    for number, own in enumerate(slices(rows)):
        data.add_document(str(number), names[rows["columns"][own]], rows["values"][own])
    built["index"] = seismic.SeismicIndex.build_from_dataset(data, n_postings=postings, num_threads=1)
    return process_time() - start


def search(file, k, cut, factor):
    """Return each query's milliseconds and items."""
    rows, found = dict(np.load(file)), []
    for number, own in enumerate(slices(rows)):
        tokens, weights = built["names"][rows["columns"][own]], rows["values"][own]
        start = process_time()
        answer = built["index"].search(str(number), tokens, weights, k=k, query_cut=cut, heap_factor=factor)
        found.append([(process_time() - start) * 1e3, [int(item) for _, _, item in answer]])
    return found


def slices(rows):
    return [slice(*pair) for pair in zip(rows["offsets"][:-1], rows["offsets"][1:], strict=True)]


sys.stdout = os.fdopen(os.dup(1), "w")  # answers go where they went; what the library prints goes to the other side
os.dup2(2, 1)
serve(index=index, search=search)
