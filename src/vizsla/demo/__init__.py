"""The embedded demo: search the documentation of the Python that is installed on this machine."""

from vizsla.demo.python_docs import python_docs

__all__ = ["python_docs"]
