"""Readers of documents: HTML against Python's parser, Word and PDF files, hostile files, and readers of users."""

from __future__ import annotations

import html
import io
import subprocess
import sys
import zipfile
from html.parser import HTMLParser

import docx
import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vizsla
from tests.io.conftest import Put
from vizsla import _native
from vizsla.cli import main
from vizsla.core.validation import DatasetWarning
from vizsla.errors import DataError, InputError
from vizsla.io.document_readers import READERS, Reader, read_html, register_reader
from vizsla.io.documents import read_document
from vizsla.io.files import max_document_bytes


class Twin(HTMLParser):
    """All characters of a page but white space, scripts and styles, as Python reads it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found, self._silent = "", False

    def handle_starttag(self, tag, attrs):
        self._silent = tag in ("script", "style", "title")

    def handle_endtag(self, tag):
        self._silent = False

    def handle_data(self, data):
        self.found += "" if self._silent else "".join(data.split())


TAGS = ["p", "div", "b", "span class='x y'", 'a href="a>b"', "h1", "h2 id=x", "pre", "td", "li", "br/", "IMG src='<p>'"]
WORDS = [
    "fig ",
    " ripe",
    "&amp;",
    "&lt;b&gt;",
    "&eacute;",
    "&#233;",
    "&#xE9;",
    "&notin;",
    "a & b",
    "\n",
    "无花果",
    "&nbsp;",
    "&",
]
BLOCK = st.one_of(
    st.sampled_from(WORDS),
    st.tuples(st.sampled_from(TAGS), st.sampled_from(WORDS)).map(
        lambda two: f"<{two[0]}>{two[1]}</{two[0].split()[0]}>"
    ),
    st.sampled_from(
        [
            "<!-- <p>no</p> -->",
            "<script>if (a < b) '</p>'</script>",
            "<!DOCTYPE html>",
            "<?php no ?>",
            "<title>t</title>",
        ]
    ),
)


@given(st.lists(BLOCK, max_size=20).map(" ".join))
def test_html_has_the_text_that_python_reads(page):
    twin = Twin()
    twin.feed(page)
    twin.close()
    assert "".join(read_html(page).text.split()) == twin.found


@given(st.text(alphabet="<>/!-='\" &;#anvhre1p\x00\x02\x03\x1a\u00e9", max_size=60))
def test_html_of_any_characters_is_read(page):
    marked = _native.html_text(page)
    assert marked.count("\x02") == marked.count("\x03") and "\0" not in marked
    document = read_html(page)
    assert not {*document.text} & {"\x02", "\x03", "\x1a", "\0"}
    assert all(document.text[one.start : one.end] == one.text for one in document.headings)


def test_boilerplate_is_left_out():
    page = """<html><head><title>Figs</title><style>p {}</style></head><body>
    <header><b>The shop</b></header><nav><ul><li>Home<li>About</ul></nav><div class="related">next | previous</div>
    <main><h1>Fig<a class="headerlink" href="#fig">¶</a></h1><p>Sweet &amp; small.</p>
    <aside>A note in the text.</aside><h2>Tree §</h2><p>Tall.<svg><text>no</text></svg></p>
    <table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table><pre>a
      b</pre></main><div role="search">Find</div><aside>Ads</aside><footer>© 2024</footer></body></html>"""
    document = read_html(page)
    wanted = "Fig\n\nSweet & small.\n\nA note in the text.\n\nTree\n\nTall.\n\n1 2\n3\n\na\n      b"
    assert document.text == wanted
    assert [heading[:2] for heading in document.headings] == [(1, "Fig"), (2, "Tree")]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<header><h1>Fig</h1></header>Sweet.", "Fig\n\nSweet."),
        ("<nav>never ended <p>Sweet.", "never ended\n\nSweet."),
        ("<article><header>By me</header>Sweet.<footer>Signed</footer></article>", "By me\n\nSweet.\n\nSigned"),
        ("<nav>a<nav>b</nav>c</nav>Sweet.", "Sweet."),
        ("<h1>Fig<p>Sweet.", "Fig\n\nSweet."),
        ("a < b", "a < b"),
        ("<p>x<!-- never ended", "x"),
        ("<textarea>no</textarea><button>Press</button>yes", "yes"),
    ],
)
def test_odd_pages(page, text):
    assert read_html(page).text == text


def test_a_page_without_headings_is_headed_by_its_title(put: Put):
    folder = put("titled/a.html", "<head><title>\n Figs &amp;\n trees</title></head><p>Sweet.").parent
    put("titled/b.html", "<title>Shop</title><h1>Pear</h1><p>Green.")
    put("titled/c.html", "<title> </title><p>Blue.")
    found = [(item.id, item.title, item.text) for item in vizsla.open_dataset(folder).items]
    assert found == [("a.html#figs--trees", "Figs & trees", "Sweet."), ("b.html#pear", "Pear", "Green."),
                     ("c.html", "", "Blue.")]  # fmt: skip
    assert read_html("<title " * 100_000).text == ""


def word_file(*blocks: tuple[str, str]) -> bytes:
    made = docx.Document()
    for style, text in blocks:
        made.add_paragraph(text, style=style)
    table = made.add_table(rows=1, cols=2)
    table.cell(0, 0).text, table.cell(0, 1).text = "weight", "50 g"
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def pdf_file(text: str) -> bytes:
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /MediaBox [0 0 612 792] "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]  # fmt: skip
    out, places = "%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{one}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF"
    return f"{out}xref\n0 6\n0000000000 65535 f \n{table}{end}".encode()


def test_word_and_pdf_files(put: Put):
    folder = put("office/a.docx", word_file(("Heading 1", "Fig"), ("Normal", "Sweet."), ("Heading 2", "Tree"))).parent
    put("office/b.pdf", pdf_file("A fig tree in a PDF file."))
    items = {item.id: item for item in vizsla.open_dataset(folder, passage_min=0).items}
    assert {id: (item.title, item.text) for id, item in items.items()} == {
        "a.docx#fig": ("Fig", "Sweet."), "a.docx#tree": ("Fig › Tree", "weight | 50 g"),
        "b.pdf": ("", "A fig tree in a PDF file."),
    }  # fmt: skip


def bomb(size: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("word/document.xml", b" " * size)
    return out.getvalue()


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.ipynb"])
@pytest.mark.parametrize(
    "content", [b"", b"no such file", b"%PDF-1.4\n", b"[" * 100_000, b"PK\x03\x04", b"[1, 2]", b"{}"]
)
def test_files_that_are_not_what_their_names_say_raise(put: Put, name: str, content: bytes):
    path = put(f"odd/{name}", content)
    with pytest.raises(DataError, match=f"{name}: "):
        read_document(path)
    put("odd/b.md", "Fine.")
    with pytest.warns(DatasetWarning, match="1 unreadable documents skipped"):
        assert list(vizsla.open_dataset(path.parent).item_ids) == ["b.md"]


def test_a_word_document_that_unpacks_to_much_is_refused(put: Put, monkeypatch):
    monkeypatch.setenv("VIZSLA_MAX_RECORD_MB", "1")
    with pytest.raises(DataError, match="MB unpacked"):
        read_document(put("bomb.docx", bomb(max_document_bytes() + 1)))


def test_what_is_wrong_with_a_pdf_file_is_said_once_and_with_its_name(put: Put):
    folder = put("some/broken.pdf", b"%PDF-1.4\nno end").parent
    put("some/a.txt", "a fig tree")
    said = subprocess.run(
        [sys.executable, "-m", "vizsla", "search", str(folder), "fig"], capture_output=True, text=True, check=True
    ).stderr.splitlines()
    assert all(line.startswith("vizsla: ") for line in said)
    assert sum("broken.pdf" in line for line in said) == 1


def test_a_pdf_file_with_a_password_is_refused(put: Put):
    out, writer = io.BytesIO(), pypdf.PdfWriter(io.BytesIO(pdf_file("secret")))
    writer.encrypt("password", algorithm="RC4-40")
    writer.write(out)
    with pytest.raises(DataError, match="cannot be read"):
        read_document(put("locked.pdf", out.getvalue()))


def test_a_type_whose_extra_is_missing_is_left_out(put: Put, monkeypatch):
    monkeypatch.setitem(READERS, ".pdf", Reader(READERS[".pdf"].read, True, "no_such_package", "pdf"))
    folder = put("some/a.md", "A fig.").parent
    put("some/b.pdf", pdf_file("fig"))
    with pytest.warns(DatasetWarning, match=r"1 that need pip install 'vizsla\[pdf\]', such as b.pdf"):
        assert list(vizsla.open_dataset(folder).item_ids) == ["a.md"]


def test_a_reader_of_a_user_is_used(put: Put, monkeypatch, capsys):
    monkeypatch.delitem(READERS, ".log", raising=False)
    folder = put("logs/a.LOG", "fig|tree").parent
    register_reader(".log", lambda text: text.replace("|", " "))
    try:
        assert [item.text for item in vizsla.open_dataset(folder).items] == ["fig tree"]
        assert main(["search", str(folder), "tree"]) == 0
        assert "a.LOG" in capsys.readouterr().out
        register_reader(".log", lambda content: content.decode()[::-1], binary=True)
        assert read_document(folder / "a.LOG").text == "eert|gif"
        register_reader(".log", lambda text: int(text))
        with pytest.raises(DataError, match=r"a.LOG: the reader of .LOG failed"):
            read_document(folder / "a.LOG")
    finally:
        del READERS[".log"]
    with pytest.raises(InputError, match="`suffix` must be a dot"):
        register_reader("log", str)
    with pytest.raises(InputError, match="must be a document of a type that is read"):
        read_document(folder / "a.LOG")


def test_the_parent_of_a_passage(put: Put):
    text = "# Fig\r\n\r\nSweet and small.\r\n\r\n" + "A fig. " * 300
    folder = put("parent/a.md", text).parent
    items = list(vizsla.open_dataset(folder).items)
    assert len(items) > 2
    for item in items:
        document = read_document(folder / item.metadata["path"])
        assert document.text[item.metadata["start"] : item.metadata["end"]] == item.text
        assert document.text == (folder / "a.md").read_text()


def test_a_folder_is_read_once(put: Put, monkeypatch):
    folder = put("once/a.md", "# Fig\nSweet.").parent
    put("once/b.html", "<h1>Pear</h1>Green.")
    dataset = vizsla.open_dataset(folder)
    first = list(dataset.items)
    for path in folder.iterdir():
        path.unlink()
    assert list(dataset.items) == first == [dataset.items[number] for number in range(2)]
    assert vizsla.bm25(dataset)("pear", k=1).ids == [["b.html#pear"]]


def test_references_are_all_those_of_python():
    names = [name for name in html.entities.html5 if name.endswith(";")][::7]
    page = " ".join(f"<b>&{name}</b>" for name in names)
    wanted = "".join(html.unescape(f"&{name}") for name in names)
    assert "".join(read_html(page).text.split()) == "".join(wanted.split())
