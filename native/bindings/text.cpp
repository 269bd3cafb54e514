// Tokens and bags of words for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/exclusive_use.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "bindings/texts.hpp"
#include "text/bag_builder.hpp"
#include "text/bag_lookup.hpp"
#include "text/english.hpp"
#include "text/evidence.hpp"
#include "text/fold.hpp"
#include "text/tokens.hpp"
#include "text/vocabulary.hpp"

namespace vizsla {

namespace {

nb::list tokens(nb::str text, bool lower, int min_chars, int max_chars, bool any_language) {
  const TokenRule rule{lower, min_chars, max_chars, any_language};
  rule.check();
  const Text utf8(text);
  WordBuffer buffer;
  nb::list found;
  for_each_token(utf8.view(), rule, buffer, [&](std::string_view token) { found.append(decoded(token)); });
  return found;
}

class BoundBagBuilder {
 public:
  BoundBagBuilder(bool lower, int min_chars, int max_chars, bool any_language, const std::vector<std::string>& skipped)
      : builder_({lower, min_chars, max_chars, any_language}, skipped) {}

  void add(const nb::list& list) {
    const ExclusiveUse use(busy_);
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

  nb::object evidence(InArray<std::int32_t> row_of_form, InArray<std::int32_t> weights, std::uint32_t columns,
                      std::uint32_t most) {
    const ExclusiveUse use(busy_);
    std::vector<std::int32_t> sums;
    {
      nb::gil_scoped_release unlocked;
      sums = builder_.evidence(view(row_of_form), view(weights), columns, most);
    }
    return nb::cast(to_numpy(std::move(sums)));
  }

  nb::object holders(InArray<std::int32_t> row_of_form, std::uint32_t forms, std::uint32_t columns,
                     InArray<std::int32_t> column_of_row) {
    const ExclusiveUse use(busy_);
    return nb::cast(to_numpy(builder_.holders(view(row_of_form), forms, columns, view(column_of_row))));
  }

  nb::tuple take_rows(InArray<std::int32_t> terms, std::uint32_t columns, InArray<std::int32_t> column_of_row,
                      std::optional<std::uint32_t> rooted) {
    const ExclusiveUse use(busy_);
    BagRows rows;
    {
      nb::gil_scoped_release unlocked;
      rows = builder_.take_rows(view(terms), columns, view(column_of_row), rooted);
    }
    return nb::make_tuple(to_numpy(std::move(rows.offsets)), to_numpy(std::move(rows.terms)),
                          to_numpy(std::move(rows.counts)));
  }

  nb::tuple ordered_rows(InArray<std::int32_t> terms, std::uint32_t columns, InArray<std::int32_t> column_of_row,
                         std::optional<std::uint32_t> rooted) {
    const ExclusiveUse use(busy_);
    OrderedRows rows;
    {
      nb::gil_scoped_release unlocked;
      rows = builder_.ordered_rows(view(terms), columns, view(column_of_row), rooted);
    }
    return nb::make_tuple(to_numpy(std::move(rows.offsets)), to_numpy(std::move(rows.terms)),
                          to_numpy(std::move(rows.counts)));
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
  BoundBagLookup(bool lower, int min_chars, int max_chars, bool any_language, InArray<std::uint8_t> bytes,
                 InArray<std::int64_t> offsets, InArray<std::uint32_t> slots, InArray<std::int32_t> terms,
                 std::uint32_t columns, bool rooted)
      : bytes_(bytes),
        offsets_(offsets),
        slots_(slots),
        terms_(terms),
        lookup_({lower, min_chars, max_chars, any_language}, StringTable(view(bytes_), view(offsets_), view(slots_)),
                view(terms_), columns, rooted) {
    if (slots_.size() == 0) throw std::invalid_argument("a vocabulary needs its slots");
  }

  nb::tuple rows(const nb::list& list) const { return looked_up(list, {}); }

  nb::tuple rows_with(const nb::list& list, InArray<std::int32_t> answers) const {
    return looked_up(list, view(answers));
  }

 private:
  nb::tuple looked_up(const nb::list& list, std::span<const std::int32_t> answers) const {
    LookedUp found;
    found.answers = answers;
    WordBuffer buffer;
    const std::vector<Text> texts = texts_of(list);
    const Poll poll = signals_between(texts.size());
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
  InArray<std::int32_t> terms_;
  BagLookup lookup_;
};

OutArray<std::int32_t> forms_without_parts(InArray<std::uint8_t> bytes, InArray<std::int64_t> offsets) {
  return to_numpy(without_parts(StringTable(view(bytes), view(offsets), {})));
}

nb::tuple fold(InArray<std::uint8_t> bytes, InArray<std::int64_t> offsets, InArray<std::int32_t> stemmed,
               const std::vector<std::optional<nb::list>>& stems, InArray<std::uint8_t> dropped, bool rooted) {
  const StringTable forms(view(bytes), view(offsets), {});
  Fold fold(forms, view(dropped), stems.size(), rooted);
  for (const auto& column : stems) {
    if (column && nb::len(*column) != stemmed.size())
      throw std::invalid_argument("every stemmed form must have a stem in each column");
  }
  std::size_t next = 0;
  for (std::size_t form = 0; form < forms.size(); ++form) {
    if (next == stemmed.size() || static_cast<std::size_t>(view(stemmed)[next]) != form) {
      fold.keep(form);
      continue;
    }
    for (std::size_t column = 0; column < stems.size(); ++column) {
      if (stems[column]) {
        fold.put(form, column, Text((*stems[column])[next]).view());
      } else {
        fold.put_english(form, column);
      }
    }
    ++next;
  }
  if (next != stemmed.size()) throw std::invalid_argument("`stemmed` must ascend, and hold numbers of forms");
  const auto& data = fold.terms().bytes();
  const auto& starts = fold.terms().offsets();
  return nb::make_tuple(to_numpy(std::vector<std::uint8_t>(data.data(), data.data() + data.size())),
                        to_numpy(std::vector<std::int64_t>(starts.data(), starts.data() + starts.size())),
                        to_numpy(std::move(fold.table())));
}

nb::typed<nb::list, nb::str> english_stems(const nb::list& words, bool roots) {
  nb::typed<nb::list, nb::str> found;
  std::string stem, root;
  for (nb::handle word : words) {
    const Text text(word);
    stem.assign(text.view());
    english::uninflect(stem);
    if (roots) english::take_root(text.view(), stem, root);
    found.append(decoded(roots ? root : stem));
  }
  return found;
}

nb::tuple bound_strongest(InArray<std::int32_t> sums, std::size_t columns) {
  Strongest found = strongest(view(sums), columns);
  return nb::make_tuple(to_numpy(std::move(found.column)), to_numpy(std::move(found.first)),
                        to_numpy(std::move(found.second)));
}

void check_vocabulary(InArray<std::uint8_t> bytes, InArray<std::int64_t> offsets, InArray<std::uint32_t> slots) {
  StringTable(view(bytes), view(offsets), view(slots)).check_vocabulary();
}

}  // namespace

void register_text(nb::module_& module) {
  module.attr("unicode_version") = unicode_ranges::version;
  module.def("tokens", &tokens, nb::arg("text"), nb::arg("lower"), nb::arg("min_chars"), nb::arg("max_chars"),
             nb::arg("any_language"),
             "The tokens of a text: words, n-grams of words when the lengths are not 0, or what suits each script.");
  module.def("without_parts", &forms_without_parts, nb::arg("bytes"), nb::arg("offsets"),
             "The numbers of the strings that hold neither a digit nor an underscore.");
  module.def("fold", &fold, nb::arg("bytes"), nb::arg("offsets"), nb::arg("stemmed"), nb::arg("stems"),
             nb::arg("dropped"), nb::arg("rooted") = false,
             "The distinct terms as bytes and offsets, and a row of terms for each form: its stems (None: English ones "
             "are made here), or itself; -1 where it is dropped. "
             "If rooted, one column more: an English word's root, where it differs from the stem.");
  module.def("english_stems", &english_stems, nb::arg("words"), nb::arg("roots") = false,
             "English words in lower case without their inflections, or their roots.");
  module.def("strongest", &bound_strongest, nb::arg("sums"), nb::arg("columns"),
             "The column of each row's largest number, that number, and the next.");
  module.def("check_vocabulary", &check_vocabulary, nb::arg("bytes"), nb::arg("offsets"), nb::arg("slots"),
             "Raises unless the strings are UTF-8, distinct, and found by their slots.");
  nb::class_<BoundBagBuilder>(module, "BagBuilder")
      .def(nb::init<bool, int, int, bool, const std::vector<std::string>&>(), nb::arg("lower"), nb::arg("min_chars"),
           nb::arg("max_chars"), nb::arg("any_language"), nb::arg("skipped"))
      .def("add", &BoundBagBuilder::add)
      .def("forms", &BoundBagBuilder::forms)
      .def("evidence", &BoundBagBuilder::evidence, nb::arg("row_of_form"), nb::arg("weights"), nb::arg("columns"),
           nb::arg("most"),
           "The weights of the forms of every row, or of `most` rows at even distances, added up, a row after another.")
      .def("holders", &BoundBagBuilder::holders, nb::arg("row_of_form"), nb::arg("forms"), nb::arg("columns"),
           nb::arg("column_of_row"), "How many rows of each column hold each of some forms.")
      .def("take_rows", &BoundBagBuilder::take_rows, nb::arg("terms"), nb::arg("columns"), nb::arg("column_of_row"),
           nb::arg("rooted") = nb::none(),
           "The rows, each read in its column of the terms; none given: the forms themselves. Rows of the rooted "
           "column count the last column, too, by half.")
      .def("ordered_rows", &BoundBagBuilder::ordered_rows, nb::arg("terms"), nb::arg("columns"),
           nb::arg("column_of_row"), nb::arg("rooted") = nb::none(),
           "The rows as `take_rows` has them, counts in halves, each in the order in which its text names terms first; "
           "terms of languages that a row is not in have the count 0.");
  nb::class_<BoundBagLookup>(module, "BagLookup")
      .def(nb::init<bool, int, int, bool, InArray<std::uint8_t>, InArray<std::int64_t>, InArray<std::uint32_t>,
                    InArray<std::int32_t>, std::uint32_t, bool>(),
           nb::arg("lower"), nb::arg("min_chars"), nb::arg("max_chars"), nb::arg("any_language"), nb::arg("bytes"),
           nb::arg("offsets"), nb::arg("slots"), nb::arg("terms"), nb::arg("columns"), nb::arg("rooted") = false)
      .def("rows", &BoundBagLookup::rows, "Offsets, terms and counts as bytes, and the forms that are unknown.")
      .def("rows_with", &BoundBagLookup::rows_with, nb::arg("texts"), nb::arg("answers"),
           "As rows, with a term (or -1) for each form that was unknown.");
}

}  // namespace vizsla
