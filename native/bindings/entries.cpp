// Click logs and judgment files for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "bindings/arrays.hpp"
#include "bindings/register.hpp"
#include "common/checks.hpp"
#include "io/entry_table.hpp"

namespace vizsla {

namespace {

using StringArrays = std::tuple<InArray<std::uint8_t>, InArray<std::int64_t>, InArray<std::uint32_t>>;
using Unknown = nb::typed<nb::tuple, std::int64_t, nb::bytes>;

NameTable names_of(const std::optional<StringArrays>& arrays) {
  if (!arrays) return {};
  const auto& [bytes, offsets, slots] = *arrays;
  require(slots.size() > 0, "this string table was stored without slots");
  return NameTable(StringTable(view(bytes), view(offsets), view(slots)));
}

std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

EntryFormat format_of(char separator, int width, int query, int item, int value, int time, bool grades) {
  const auto inside = [width](int column) { return column >= 0 && column < width; };
  require(separator == '\t' || separator == ',' || separator == ' ', "the separator is a tab, a comma or a space");
  require(width >= 2 && width <= EntryFormat::most, "an entry has 2 to 64 columns");
  require(inside(query) && inside(item), "query and item must be columns");
  require((value == -1 || inside(value)) && (time == -1 || inside(time)), "value and time must be columns or -1");
  const Separator kind = separator == '\t' ? Separator::tabs : separator == ',' ? Separator::commas : Separator::spaces;
  return {kind, width, query, item, value, time, grades};
}

// The Python side of an EntryTable: keeps the arrays alive that its names look into.
class BoundEntries {
 public:
  BoundEntries(std::optional<StringArrays> queries, std::optional<StringArrays> items, bool stop_at_unknown)
      : queries_(std::move(queries)),
        items_(std::move(items)),
        table_(names_of(queries_), names_of(items_), stop_at_unknown) {}

  bool add(nb::bytes query, nb::bytes item, double value, std::int64_t line, double time) {
    return table_.add({view(query), view(item), value, time}, line);
  }

  std::tuple<std::size_t, std::int64_t, std::int64_t> read(nb::bytes block, std::size_t position, std::int64_t line,
                                                           const EntryFormat& format) {
    require(position <= block.size(), "the position must be inside the block");
    const EntryTable::Stop stop = table_.read(view(block), position, line, format);
    return {stop.position, stop.line, stop.blank};
  }

  std::int64_t seen() const { return table_.seen(); }
  Unknown unknown_queries() const { return unknown(table_.unknown_queries()); }
  Unknown unknown_items() const { return unknown(table_.unknown_items()); }

  nb::typed<nb::tuple, OutArray<std::int32_t>, OutArray<std::int32_t>, OutArray<double>, OutArray<std::int64_t>>
  take() {
    return nb::make_tuple(to_numpy(std::move(table_.rows())), to_numpy(std::move(table_.columns())),
                          to_numpy(std::move(table_.values())), to_numpy(std::move(table_.lines())));
  }

  OutArray<double> take_times() { return to_numpy(std::move(table_.times())); }

  nb::typed<nb::tuple, OutArray<std::uint8_t>, OutArray<std::int64_t>> queries() { return copied(table_.queries()); }
  nb::typed<nb::tuple, OutArray<std::uint8_t>, OutArray<std::int64_t>> items() { return copied(table_.items()); }

 private:
  static Unknown unknown(const EntryTable::Unknown& found) {
    return nb::make_tuple(found.count, nb::bytes(found.example.data(), found.example.size()));
  }

  static nb::typed<nb::tuple, OutArray<std::uint8_t>, OutArray<std::int64_t>> copied(const NameTable& names) {
    const auto& bytes = names.bytes();
    const auto& offsets = names.offsets();
    return nb::make_tuple(to_numpy(std::vector<std::uint8_t>(bytes.data(), bytes.data() + bytes.size())),
                          to_numpy(std::vector<std::int64_t>(offsets.data(), offsets.data() + offsets.size())));
  }

  std::optional<StringArrays> queries_;
  std::optional<StringArrays> items_;
  EntryTable table_;
};

}  // namespace

void register_entries(nb::module_& module) {
  nb::class_<EntryFormat>(module, "EntryFormat")
      .def(
          "__init__",
          [](EntryFormat* self, char separator, int width, int query, int item, int value, int time, bool grades) {
            new (self) EntryFormat(format_of(separator, width, query, item, value, time, grades));
          },
          nb::kw_only(), nb::arg("separator"), nb::arg("width"), nb::arg("query"), nb::arg("item"),
          nb::arg("value") = -1, nb::arg("time") = -1, nb::arg("grades") = false);
  nb::class_<BoundEntries>(module, "EntryTable")
      .def(nb::init<std::optional<StringArrays>, std::optional<StringArrays>, bool>(), nb::arg("queries").none(),
           nb::arg("items").none(), nb::kw_only(), nb::arg("stop_at_unknown"))
      .def("add", &BoundEntries::add, nb::arg("query"), nb::arg("item"), nb::arg("value"), nb::arg("line"),
           nb::arg("time") = std::nan(""), "Adds one entry; False if its query or item is unknown.")
      .def("read", &BoundEntries::read, nb::arg("block"), nb::arg("position"), nb::arg("line"), nb::arg("format"),
           "Reads lines up to the end or to one that is not plain: where it stopped, that line's number, blank lines "
           "passed.")
      .def_prop_ro("seen", &BoundEntries::seen)
      .def_prop_ro("unknown_queries", &BoundEntries::unknown_queries)
      .def_prop_ro("unknown_items", &BoundEntries::unknown_items)
      .def("take", &BoundEntries::take, "Rows, columns, values and line numbers, which leave the table.")
      .def("take_times", &BoundEntries::take_times, "Times of the entries that have one, in seconds since 1970.")
      .def("queries", &BoundEntries::queries, "Bytes and offsets of the queries that were numbered as they came.")
      .def("items", &BoundEntries::items, "Bytes and offsets of the items that were numbered as they came.");
}

}  // namespace vizsla
