// Tokens and bags of words for Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "bindings/texts.hpp"
#include "bindings/turn.hpp"
#include "text/bag_builder.hpp"
#include "text/bag_lookup.hpp"
#include "text/tokens.hpp"

namespace vizsla {

namespace {

nb::list tokens(nb::str text, bool lower, int min_chars, int max_chars) {
  const TokenRule rule{lower, min_chars, max_chars};
  rule.check();
  const Text utf8(text);
  WordBuffer buffer;
  nb::list found;
  for_each_token(utf8.view(), rule, buffer, [&](std::string_view token) { found.append(decoded(token)); });
  return found;
}

class BoundBagBuilder {
 public:
  BoundBagBuilder(bool lower, int min_chars, int max_chars, const std::vector<std::string>& skipped)
      : builder_({lower, min_chars, max_chars}, skipped) {}

  void add(const nb::list& list) {
    const Turn turn(busy_);
    const std::vector<Text> texts = texts_of(list, builder_.rows());
    for (std::size_t next = 0; next < texts.size();) {
      next = add_some(texts, next);
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }

  nb::tuple forms() const {
    auto [bytes, offsets] = builder_.forms();
    return nb::make_tuple(to_numpy(std::move(bytes)), to_numpy(std::move(offsets)));
  }

  nb::tuple take_rows(InArray<std::int32_t> term_of_form) {
    const Turn turn(busy_);
    BagRows rows;
    {
      nb::gil_scoped_release unlocked;
      rows = builder_.take_rows(view(term_of_form));
    }
    return nb::make_tuple(to_numpy(std::move(rows.offsets)), to_numpy(std::move(rows.terms)), to_numpy(std::move(rows.counts)));
  }

 private:
  static constexpr std::size_t bytes_between_signals = 4U << 20;  // some 30 ms: Ctrl-C feels prompt

  std::size_t add_some(const std::vector<Text>& texts, std::size_t next) {
    nb::gil_scoped_release unlocked;
    for (std::size_t bytes = 0; next < texts.size() && bytes < bytes_between_signals; ++next) {
      builder_.add(texts[next].view());
      bytes += texts[next].view().size();
    }
    return next;
  }

  BagBuilder builder_;
  bool busy_ = false;
};

// A few values as bytes: numpy.frombuffer makes an array of them at a third of the cost of an exported array.
template <class T>
nb::bytes raw(const std::vector<T>& values) {
  return nb::bytes(values.data(), values.size() * sizeof(T));
}

class BoundBagLookup {
 public:
  BoundBagLookup(bool lower, int min_chars, int max_chars, InArray<std::uint8_t> bytes, InArray<std::int64_t> offsets,
                 InArray<std::uint32_t> slots, InArray<std::int32_t> term_of_form)
      : bytes_(bytes),
        offsets_(offsets),
        slots_(slots),
        term_of_form_(term_of_form),
        lookup_({lower, min_chars, max_chars}, StringTable(view(bytes_), view(offsets_), view(slots_)), view(term_of_form_)) {
    if (slots_.size() == 0) throw std::invalid_argument("a vocabulary needs its slots");
  }

  nb::tuple rows(const nb::list& list) const { return looked_up(list, {}); }

  nb::tuple rows_with(const nb::list& list, InArray<std::int32_t> answers) const { return looked_up(list, view(answers)); }

 private:
  nb::tuple looked_up(const nb::list& list, std::span<const std::int32_t> answers) const {
    LookedUp found;
    found.answers = answers;
    WordBuffer buffer;
    const std::vector<Text> texts = texts_of(list);
    const Poll poll = texts.size() > 1 ? python_signals() : Poll();
    for (const Text& text : texts) {
      lookup_.add(text.view(), buffer, found);
      if (poll) poll();
    }
    return nb::make_tuple(raw(found.offsets), raw(found.terms), raw(found.counts), strings(found.unknown));
  }

  static nb::list strings(const std::vector<std::string>& texts) {
    nb::list list;
    for (const std::string& text : texts) list.append(decoded(text));
    return list;
  }

  InArray<std::uint8_t> bytes_;
  InArray<std::int64_t> offsets_;
  InArray<std::uint32_t> slots_;
  InArray<std::int32_t> term_of_form_;
  BagLookup lookup_;
};

void check_vocabulary(InArray<std::uint8_t> bytes, InArray<std::int64_t> offsets, InArray<std::uint32_t> slots) {
  StringTable(view(bytes), view(offsets), view(slots)).check_vocabulary();
}

}  // namespace

void register_text(nb::module_& module) {
  module.attr("unicode_version") = unicode_ranges::version;
  module.def("tokens", &tokens, nb::arg("text"), nb::arg("lower"), nb::arg("min_chars"), nb::arg("max_chars"),
             "The tokens of a text: words, or n-grams of words when the lengths are not 0.");
  module.def("check_vocabulary", &check_vocabulary, nb::arg("bytes"), nb::arg("offsets"), nb::arg("slots"),
             "Raises unless the strings are UTF-8, distinct, and found by their slots.");
  nb::class_<BoundBagBuilder>(module, "BagBuilder")
      .def(nb::init<bool, int, int, const std::vector<std::string>&>(), nb::arg("lower"), nb::arg("min_chars"),
           nb::arg("max_chars"), nb::arg("skipped"))
      .def("add", &BoundBagBuilder::add)
      .def("forms", &BoundBagBuilder::forms)
      .def("take_rows", &BoundBagBuilder::take_rows);
  nb::class_<BoundBagLookup>(module, "BagLookup")
      .def(nb::init<bool, int, int, InArray<std::uint8_t>, InArray<std::int64_t>, InArray<std::uint32_t>, InArray<std::int32_t>>(),
           nb::arg("lower"), nb::arg("min_chars"), nb::arg("max_chars"), nb::arg("bytes"), nb::arg("offsets"), nb::arg("slots"),
           nb::arg("term_of_form"))
      .def("rows", &BoundBagLookup::rows,
           "Offsets, terms and counts as bytes, and the forms that nobody knows.")
      .def("rows_with", &BoundBagLookup::rows_with, nb::arg("texts"), nb::arg("answers"),
           "As rows, with a term (or -1) for each form that nobody knew.");
}

}  // namespace vizsla
