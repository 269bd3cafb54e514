"""The data model: strings, sparse rows, candidates, catalogs, explanations and argument checks."""
