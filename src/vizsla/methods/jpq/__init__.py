"""JPQ: an index of codes whose centroids are trained together with the query side."""
