// Rows of tables for Python.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/register.hpp"
#include "common/checks.hpp"
#include "io/csv_record.hpp"

namespace vizsla {

namespace {

using Rows = nb::typed<nb::list, nb::typed<nb::list, nb::str>>;

// A text of UTF-8; null if it is none.
nb::object text_of(std::string_view data, const CsvField& field) {
  std::string_view text = data.substr(field.begin, field.end - field.begin);
  std::string single;
  if (field.doubled) {
    for (std::size_t at = 0; at < text.size(); at += text[at] == '"' ? 2 : 1) single.push_back(text[at]);
    text = single;
  }
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict"));
}

// A row's texts; null if one is no UTF-8.
nb::object row_of(std::string_view data, const std::vector<CsvField>& fields) {
  nb::object row = nb::steal(PyList_New(static_cast<Py_ssize_t>(fields.size())));
  if (!row.is_valid()) throw nb::python_error();
  for (std::size_t number = 0; number < fields.size(); ++number) {
    nb::object text = text_of(data, fields[number]);
    if (!text.is_valid()) {
      if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) throw nb::python_error();
      PyErr_Clear();
      return {};
    }
    PyList_SET_ITEM(row.ptr(), static_cast<Py_ssize_t>(number), text.release().ptr());
  }
  return row;
}

nb::typed<nb::tuple, Rows, OutArray<std::int64_t>, OutArray<std::int64_t>, std::size_t, std::int64_t> csv_rows(
    nb::bytes block, std::size_t position, std::int64_t line, char separator, bool quotes, std::size_t width) {
  require(position <= block.size(), "the position must be inside the block");
  require(width >= 2, "a row has two columns or more");
  require(separator != '"' && separator != '\n' && separator != '\r', "a quote or a line end is no separator");
  const std::string_view data(block.c_str(), block.size());
  CsvRecord record(separator, quotes, std::min(width, data.size() + 2));  // a row has a byte at least for every column
  nb::list rows;
  std::vector<std::int64_t> starts, lines;
  while (const auto end = record.read(data, position)) {
    nb::object row = row_of(data, record.fields());
    if (!row.is_valid()) break;
    rows.append(std::move(row));
    starts.push_back(static_cast<std::int64_t>(position));
    lines.push_back(line);
    line += std::count(data.begin() + static_cast<std::ptrdiff_t>(position),
                       data.begin() + static_cast<std::ptrdiff_t>(*end), '\n');
    position = *end;
  }
  return nb::make_tuple(rows, to_numpy(std::move(starts)), to_numpy(std::move(lines)), position, line);
}

}  // namespace

void register_csv(nb::module_& module) {
  module.def("csv_rows", &csv_rows, nb::arg("block"), nb::arg("position"), nb::arg("line"), nb::kw_only(),
             nb::arg("separator"), nb::arg("quotes"), nb::arg("width"),
             "Reads records up to the end or to one that is odd: rows, where and on which line each begins, and where "
             "it stopped.");
}

}  // namespace vizsla
