from vizsla.demo.docstring import Docstring, Entry
from vizsla.demo.python_docs import MAX_ITEMS_PER_QUERY, DocPage, questions, resolve


def page(name, summary="", *entries, aliases=()):
    return DocPage((name, *aliases), "(x)", Docstring("", summary, "Body."), tuple(Entry(*entry) for entry in entries))


def test_a_name_is_resolved_from_the_page_outwards():
    ids = {name: name for name in ("sum", "numpy.sum", "numpy.ma.sum", "numpy.ndarray.sum", "numpy.ndarray.mean")}
    assert resolve("sum", "numpy.ma.mean", ids) == "numpy.ma.sum"
    assert resolve("sum", "numpy.fft.fft", ids) == "numpy.sum"
    assert resolve("sum", "numpy.ndarray.mean", ids) == "numpy.ndarray.sum"
    assert resolve("ma.sum", "numpy.mean", ids) == "numpy.ma.sum"
    assert resolve("sum", "scipy.fft.fft", ids) == "sum"
    assert resolve("prod", "numpy.mean", ids) is None


def test_questions_are_summaries_and_descriptions_by_others():
    pages = [
        page("numpy.absolute", "Absolute value, element-wise.", aliases=("numpy.abs",)),
        page("numpy.fabs", "Absolute of `floats`.", (("abs", "fabs", "lost"), "Size of a number. See there.")),
    ]
    assert questions(pages) == {
        "Absolute of floats": ["numpy.fabs"],
        "Absolute value, element-wise": ["numpy.absolute"],
        "Size of a number": ["numpy.absolute"],
    }


def test_equal_questions_merge_and_those_about_too_many_items_go():
    few = [
        page(f"a.f{number}", "Emit A record." if number % 2 else "emit a record")
        for number in range(MAX_ITEMS_PER_QUERY)
    ]
    assert questions(few) == {"emit a record": [one.id for one in few]}
    assert questions([*few, page("a.g", "Emit a record.")]) == {}


def test_what_cannot_stand_by_itself_is_no_question():
    said = ["", "Equivalent function", "similar to `other`, but new.", "For details.", "Average", "..", "1 - 2"]
    pages = [page("a.target"), *(page(f"a.p{n}", "", (("target",), text)) for n, text in enumerate(said))]
    assert questions(pages) == {}
