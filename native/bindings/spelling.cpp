// Words near a word, and completions of a prefix, for Python.
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "bindings/texts.hpp"
#include "text/completions.hpp"
#include "text/fuzzy_words.hpp"

namespace vizsla {

namespace {

// Keeps the arrays alive that the table looks into.
class BoundFuzzyWords {
 public:
  BoundFuzzyWords(InArray<std::uint8_t> bytes, InArray<std::int64_t> offsets, InArray<std::uint32_t> letters,
                  InArray<std::uint32_t> starts, InArray<std::uint32_t> numbers, InArray<std::uint32_t> signatures)
      : bytes_(bytes),
        offsets_(offsets),
        letters_(letters),
        starts_(starts),
        numbers_(numbers),
        signatures_(signatures),
        words_(StringTable(view(bytes_), view(offsets_), {}), view(letters_), view(starts_), view(numbers_),
               view(signatures_)) {}

  // [(word, distance), ...]
  nb::typed<nb::list, nb::tuple> near(nb::str word, std::size_t most) const {
    const Text text(word);
    std::vector<Neighbor> found;
    {
      nb::gil_scoped_release unlocked;
      found = words_.near(text.view(), most);
    }
    nb::typed<nb::list, nb::tuple> neighbors;
    for (const Neighbor& one : found) neighbors.append(nb::make_tuple(one.word, one.distance));
    return neighbors;
  }

 private:
  InArray<std::uint8_t> bytes_;
  InArray<std::int64_t> offsets_;
  InArray<std::uint32_t> letters_, starts_, numbers_, signatures_;
  FuzzyWords words_;
};

nb::tuple fuzzy_build(InArray<std::uint8_t> bytes, InArray<std::int64_t> offsets) {
  const StringTable words(view(bytes), view(offsets), {});
  const Poll poll = python_signals();
  FuzzyArrays built;
  {
    nb::gil_scoped_release unlocked;
    built = FuzzyWords::build(words, poll);
  }
  return nb::make_tuple(to_numpy(std::move(built.letters)), to_numpy(std::move(built.starts)),
                        to_numpy(std::move(built.numbers)), to_numpy(std::move(built.signatures)));
}

class BoundCompletions {
 public:
  BoundCompletions(InArray<std::uint8_t> bytes, InArray<std::int64_t> offsets, InArray<float> weights)
      : bytes_(bytes),
        offsets_(offsets),
        weights_(weights),
        completions_(StringTable(view(bytes_), view(offsets_), {}), view(weights_)) {}

  // [(entry, edits), ...]
  nb::typed<nb::list, nb::tuple> find(nb::str prefix, std::size_t k, bool typos) const {
    const Text text(prefix);
    std::vector<Completion> found;
    {
      nb::gil_scoped_release unlocked;
      found = completions_.find(text.view(), k, typos);
    }
    nb::typed<nb::list, nb::tuple> entries;
    for (const Completion& one : found) entries.append(nb::make_tuple(one.entry, one.edits));
    return entries;
  }

 private:
  InArray<std::uint8_t> bytes_;
  InArray<std::int64_t> offsets_;
  InArray<float> weights_;
  Completions completions_;
};

}  // namespace

void register_spelling(nb::module_& module) {
  module.def("fuzzy_build", &fuzzy_build, nb::arg("bytes"), nb::arg("offsets"),
             "Letters, starts, numbers and signatures: what FuzzyWords finds the neighbors of words by.");
  nb::class_<BoundFuzzyWords>(module, "FuzzyWords")
      .def(nb::init<InArray<std::uint8_t>, InArray<std::int64_t>, InArray<std::uint32_t>, InArray<std::uint32_t>,
                    InArray<std::uint32_t>, InArray<std::uint32_t>>(),
           nb::arg("bytes"), nb::arg("offsets"), nb::arg("letters").noconvert(), nb::arg("starts").noconvert(),
           nb::arg("numbers").noconvert(), nb::arg("signatures").noconvert())
      .def("near", &BoundFuzzyWords::near, nb::arg("word"), nb::arg("most"),
           "The words within `most` edits, with their distances: the nearest first, then by number.");
  nb::class_<BoundCompletions>(module, "Completions")
      .def(nb::init<InArray<std::uint8_t>, InArray<std::int64_t>, InArray<float>>(), nb::arg("bytes"),
           nb::arg("offsets"), nb::arg("weights").noconvert())
      .def("find", &BoundCompletions::find, nb::arg("prefix"), nb::arg("k"), nb::arg("typos"),
           "The heaviest strings that begin with the prefix, then with one that is an edit away, and their edits.");
}

}  // namespace vizsla
