"""The documentation of this Python, read once for all tests of the demo."""

import pytest

from vizsla.demo.python_docs import read_pages


@pytest.fixture(scope="session")
def pages():
    return {page.id: page for page in read_pages()}
