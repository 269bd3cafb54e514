// WordPiece for Python.
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/ranked_rows.hpp"
#include "bindings/register.hpp"
#include "bindings/texts.hpp"
#include "common/scratch.hpp"
#include "text/wordpiece.hpp"

namespace vizsla {

namespace {

class BoundWordPiece {
 public:
  BoundWordPiece(InArray<std::uint8_t> bytes, InArray<std::int64_t> offsets, InArray<std::uint32_t> slots,
                 InArray<std::int32_t> special, std::int32_t unknown, const std::string& prefix, bool lower,
                 bool strip_accents, bool split_ideographs, std::size_t most_chars)
      : model_(StringTable(view(bytes), view(offsets), view(slots)), view(special),
               {{lower, strip_accents, split_ideographs}, prefix, unknown, checked(most_chars)}) {}

  std::size_t size() const { return model_.size(); }
  std::size_t bytes() const { return model_.bytes(); }

  // (offsets, ids): all tokens in their order, special ones too.
  nb::tuple ids(const nb::list& list) {
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> found;
    each(list, [&](WordPiece::Reader& reader, std::string_view text) {
      reader.read(model_, text, [&](std::span<const std::int32_t> pieces) {
        found.insert(found.end(), pieces.begin(), pieces.end());
      });
      offsets.push_back(static_cast<std::int64_t>(found.size()));
    });
    return nb::make_tuple(to_bytes(offsets), to_bytes(found));
  }

  // (offsets, ids, counts): the distinct tokens, ascending, without special ones.
  nb::tuple rows(const nb::list& list) {
    WordPieceRows rows(model_.size());
    each(list, [&](WordPiece::Reader& reader, std::string_view text) { rows.add(model_, reader, text); });
    return nb::make_tuple(to_bytes(rows.offsets), to_bytes(rows.ids), to_bytes(rows.counts));
  }

 private:
  static constexpr std::size_t bytes_between_signals = 4U << 20;

  static std::size_t checked(std::size_t most_chars) {
    require(most_chars > 0 && most_chars <= 10'000, "a word must have from 1 to 10,000 characters at most");
    return most_chars;
  }

  template <class Read>
  void each(const nb::list& list, const Read& read) {
    const std::vector<Text> texts = texts_of(list);
    ScratchPool<WordPiece::Reader>::Loan reader(readers_);
    for (std::size_t next = 0; next < texts.size();) {
      {
        nb::gil_scoped_release unlocked;
        for (std::size_t bytes = 0; next < texts.size() && bytes < bytes_between_signals; ++next) {
          read(*reader, texts[next].view());
          bytes += texts[next].view().size();
        }
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }

  WordPiece model_;
  ScratchPool<WordPiece::Reader> readers_;
};

}  // namespace

void register_wordpiece(nb::module_& module) {
  nb::class_<BoundWordPiece>(module, "WordPiece")
      .def(nb::init<InArray<std::uint8_t>, InArray<std::int64_t>, InArray<std::uint32_t>, InArray<std::int32_t>,
                    std::int32_t, const std::string&, bool, bool, bool, std::size_t>(),
           nb::arg("bytes").noconvert(), nb::arg("offsets").noconvert(), nb::arg("slots").noconvert(),
           nb::arg("special").noconvert(), nb::arg("unknown"), nb::arg("prefix"), nb::arg("lower"),
           nb::arg("strip_accents"), nb::arg("split_ideographs"), nb::arg("most_chars"))
      .def_prop_ro("size", &BoundWordPiece::size)
      .def_prop_ro("bytes", &BoundWordPiece::bytes)
      .def("ids", &BoundWordPiece::ids, nb::arg("texts"), "Offsets and ids as bytes: all tokens in their order.")
      .def("rows", &BoundWordPiece::rows, nb::arg("texts"),
           "Offsets, distinct ids and their counts as bytes, without special tokens.");
}

}  // namespace vizsla
