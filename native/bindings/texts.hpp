// Python strings as UTF-8, ready to be read without the GIL.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <string_view>
#include <vector>

namespace vizsla {

namespace nb = nanobind;

// Keeps what the view looks into alive: the string itself when it is ASCII, else a copy that dies with this object
// (PyUnicode_AsUTF8 would leave the copy inside the string, and double the memory of the caller's catalog).
class Text {
 public:
  explicit Text(nb::handle text) {
    if (PyUnicode_Check(text.ptr()) && PyUnicode_IS_ASCII(text.ptr())) {
      owner_ = nb::borrow(text);
      view_ = {static_cast<const char*>(PyUnicode_DATA(text.ptr())),
               static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr()))};
    } else {
      // A lone surrogate becomes '?', which belongs to no word.
      owner_ = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "replace"));
      if (!owner_.is_valid()) throw nb::python_error();
      view_ = {PyBytes_AS_STRING(owner_.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(owner_.ptr()))};
    }
  }

  std::string_view view() const { return view_; }

 private:
  nb::object owner_;
  std::string_view view_;
};

inline nb::object decoded(std::string_view text) {
  PyObject* string = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict");
  if (string == nullptr) throw nb::python_error();
  return nb::steal(string);
}

inline std::vector<Text> texts_of(const nb::list& list, std::size_t first_position = 0) {
  std::vector<Text> texts;
  texts.reserve(nb::len(list));
  for (nb::handle text : list) {
    if (!PyUnicode_Check(text.ptr())) {
      const std::string got = nb::cast<std::string>(text.type().attr("__name__"));
      const std::string position = std::to_string(first_position + texts.size());
      throw nb::type_error(("`texts` must hold str. Got " + got + " at position " + position + ".").c_str());
    }
    texts.emplace_back(text);
  }
  return texts;
}

}  // namespace vizsla
