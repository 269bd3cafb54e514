// Checksums and string tables for Python.
#include <nanobind/stl/vector.h>

#include <string>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "common/hash.hpp"
#include "text/string_table.hpp"

namespace vizsla {

namespace {

std::string_view utf8(nb::handle text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data == nullptr) throw nb::python_error();
  return {data, static_cast<std::size_t>(size)};
}

// The Python side of a StringTable: keeps the arrays alive that the table looks into.
class BoundStrings {
 public:
  BoundStrings(InArray<std::uint8_t> bytes, InArray<std::int64_t> offsets, InArray<std::uint32_t> slots)
      : bytes_(bytes), offsets_(offsets), slots_(slots), table_(view(bytes_), view(offsets_), view(slots_)) {}

  std::size_t size() const { return table_.size(); }

  nb::str get(std::int64_t number) const {
    if (number < 0 || static_cast<std::size_t>(number) >= table_.size())
      throw nb::index_error("string number out of range");
    return decode(static_cast<std::size_t>(number));
  }

  nb::typed<nb::list, nb::str> take(InArray<std::int32_t> numbers) const {
    nb::typed<nb::list, nb::str> strings;
    for (std::int32_t number : view(numbers)) strings.append(get(number));
    return strings;
  }

  std::int64_t find(nb::str text) const {
    require_slots();
    return table_.find(utf8(text));
  }

  OutArray<std::int64_t> find_all(nb::typed<nb::list, nb::str> texts) const {
    require_slots();
    std::vector<std::int64_t> numbers;
    numbers.reserve(nb::len(texts));
    const Poll poll = signals_between(nb::len(texts));
    for (nb::handle text : texts) {
      numbers.push_back(table_.find(utf8(text)));
      if (poll) poll();
    }
    return to_numpy(std::move(numbers));
  }

 private:
  nb::str decode(std::size_t number) const {
    const std::string_view text = table_[number];
    PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict");
    if (decoded == nullptr) throw nb::python_error();
    return nb::steal<nb::str>(decoded);
  }

  void require_slots() const {
    if (slots_.size() == 0) throw std::invalid_argument("this string table was stored without slots");
  }

  InArray<std::uint8_t> bytes_;
  InArray<std::int64_t> offsets_;
  InArray<std::uint32_t> slots_;
  StringTable table_;
};

nb::typed<nb::tuple, OutArray<std::uint32_t>, OutArray<std::int64_t>> build_slots(InArray<std::uint8_t> bytes,
                                                                                  InArray<std::int64_t> offsets) {
  const StringTable table(view(bytes), view(offsets), {});
  std::vector<std::uint32_t> slots(StringTable::slot_count(table.size()), 0);
  std::vector<std::int64_t> repeats;
  StringTable::fill(table, slots, repeats, python_signals());
  return nb::make_tuple(to_numpy(std::move(slots)), to_numpy(std::move(repeats)));
}

std::uint64_t checksum(nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> bytes,
                       std::uint64_t seed) {
  nb::gil_scoped_release unlocked;
  return xxh64({bytes.data(), bytes.size()}, seed);
}

}  // namespace

void register_strings(nb::module_& module) {
  module.def("checksum", &checksum, nb::arg("bytes"), nb::arg("seed") = 0, "XXH64 of the bytes.");
  module.def("build_slots", &build_slots, nb::arg("bytes"), nb::arg("offsets"),
             "The hash table over the strings, and the numbers of strings that repeat an earlier one.");
  nb::class_<BoundStrings>(module, "Strings")
      .def(nb::init<InArray<std::uint8_t>, InArray<std::int64_t>, InArray<std::uint32_t>>(), nb::arg("bytes"),
           nb::arg("offsets"), nb::arg("slots"))
      .def("__len__", &BoundStrings::size)
      .def("get", &BoundStrings::get)
      .def("take", &BoundStrings::take)
      .def("find", &BoundStrings::find)
      .def("find_all", &BoundStrings::find_all);
}

}  // namespace vizsla
