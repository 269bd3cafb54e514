from vizsla.demo.docstring import see_also, without_descriptions

PAGE = """\
Returns
-------
w : array
    The eigenvalues.

See Also
--------
eig : eigenvalues and right eigenvectors
eigvalsh : eigenvalues of a real symmetric or complex Hermitian
           (conjugate symmetric) array.
ma.sum, ~numpy.prod : never parsed, a tilde needs quotes
func_a, func_b, func_c
numpy.linalg.svd, qr : decompositions.
:func:`scipy.linalg.eigvals`
    Similar: with a colon.

:meth:`~ndarray.sum`, `mean` : of an array
invertible: no space before the colon.
:func:`lu`, :func:`qz`
    ..
fft.fft :
    One-dimensional.
:ref:`how-to-partition`
This is prose, which names nothing.
    And this goes with it.

Notes
-----
other : not an entry
"""


def test_entries_are_read_as_numpydoc_writes_them():
    assert see_also(PAGE) == [
        (("eig",), "eigenvalues and right eigenvectors"),
        (("eigvalsh",), "eigenvalues of a real symmetric or complex Hermitian (conjugate symmetric) array."),
        (("func_a", "func_b", "func_c"), ""),
        (("numpy.linalg.svd", "qr"), "decompositions."),
        (("scipy.linalg.eigvals",), "Similar: with a colon."),
        (("ndarray.sum", "mean"), "of an array"),
        (("invertible",), "no space before the colon."),
        (("lu", "qz"), ""),
        (("fft.fft",), "One-dimensional."),
    ]


def test_a_docstring_without_the_section_has_no_entries():
    assert see_also("Sum.\n\nNotes\n-----\nmean : average") == []
    assert see_also("See Also") == []
    assert without_descriptions("Sum.\n\nNotes\n-----\nmean : average") == "Sum.\n\nNotes\n-----\nmean : average"


def test_the_text_keeps_the_names_and_the_other_sections_only():
    text = without_descriptions(PAGE)
    assert "The eigenvalues." in text and "other : not an entry" in text
    assert "eigvalsh, func_a" in text
    for description in ("right eigenvectors", "conjugate symmetric", "One-dimensional", "of an array"):
        assert description not in text


def test_the_section_may_end_the_docstring():
    assert see_also("See also\n========\neig :\n") == [(("eig",), "")]
    assert without_descriptions("A.\n\nSee Also\n--------\neig : values") == "A.\n\nSee Also\n--------\neig"
