import pytest

from vizsla.demo.docstring import split_docstring


@pytest.mark.parametrize(
    ("doc", "names", "calls", "summary", "body"),
    [
        ("Add numbers.", {"add"}, "", "Add numbers.", ""),
        ("Add numbers\n\nMore.", {"add"}, "", "Add numbers", "More."),
        ("Add numbers. Then rest.\n\nMore.", {"add"}, "", "Add numbers.", "Then rest.\n\nMore."),
        ("Add two\nnumbers of v. 2 files.\nGo on.", {"add"}, "", "Add two numbers of v.", "2 files.\nGo on."),
        ("add(a, b=(1, 2),\n    c=3)\n\nAdd.", {"add"}, "add(a, b=(1, 2), c=3)", "Add.", ""),
        ("max(it) -> v\nmax(a, b) -> v\n\nBiggest.", {"max"}, "max(it) -> v\nmax(a, b) -> v", "Biggest.", ""),
        ("Put it in.\n\nPut it\nin. Wait.", {"put"}, "", "Put it in.", "Wait."),
        ("D.pop(k[,d]) -> v, remove key.\nElse raise.", {"pop"}, "D.pop(k[,d]) -> v", "remove key.", "Else raise."),
        ("od.copy() -> a shallow copy of od", {"copy"}, "od.copy()", "a shallow copy of od", ""),
        ("f.ratio() -> (int, int)\n\nReturn a pair.", {"ratio"}, "f.ratio() -> (int, int)", "Return a pair.", ""),
        ("Bool()\n--\n\nDType class.", {"Bool"}, "Bool()", "DType class.", ""),
        ("conj(x)\n\nConjugate.", {"conjugate", "conj"}, "conj(x)", "Conjugate.", ""),
        ("print(x) is what you want.", {"add"}, "", "print(x) is what you want.", ""),
        ("add(a", {"add"}, "", "add(a", ""),
        ("Parameters\n----------\nx : int", {"add"}, "", "", "Parameters\n----------\nx : int"),
        ("Attributes:\n  x : int", {"add"}, "", "", "Attributes:\n  x : int"),
        ("go(x : [s],\n   y)\n-> (a : [s], b)\n\nGo on.", {"go"}, "go(x : [s], y) -> (a : [s], b)", "Go on.", ""),
        ("Point(x, y)", {"Point"}, "Point(x, y)", "", ""),
        ("", {"add"}, "", "", ""),
    ],
)
def test_parts_of_a_docstring(doc, names, calls, summary, body):
    assert split_docstring(doc, names) == (calls, summary, body)


def test_a_page_without_full_stops_has_no_summary_and_loses_nothing():
    doc = " ".join(["word"] * 50)
    assert split_docstring(doc, {"f"}) == ("", "", doc)
