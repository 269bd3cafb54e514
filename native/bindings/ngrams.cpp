// N-gram features for Python.
#include <nanobind/stl/array.h>

#include <array>
#include <memory>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/exclusive_use.hpp"
#include "bindings/register.hpp"
#include "bindings/texts.hpp"
#include "common/scratch.hpp"
#include "common/threads.hpp"
#include "text/ngram_builder.hpp"
#include "text/ngram_lookup.hpp"

namespace vizsla {

namespace {

constexpr std::size_t bytes_a_turn = 4U << 20;  // some 50 ms of work: Ctrl-C feels prompt

class BoundNgramBuilder {
 public:
  using Sizes = std::array<std::size_t, ngram_kinds>;

  BoundNgramBuilder(bool lower, const Sizes& most, std::size_t bins) : builder_(lower, most, bins) {}

  std::size_t texts() const { return builder_.texts(); }

  void add(const nb::list& list) {
    const ExclusiveUse use(busy_);
    const std::vector<Text> texts = texts_of(list, builder_.texts());
    for (std::size_t next = 0; next < texts.size();) {
      next = add_some(texts, next);
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }

  // (bytes, offsets, texts that hold each, texts that hold others by bin)
  nb::tuple choose(std::size_t kind, std::size_t budget, std::size_t least) {
    const ExclusiveUse use(busy_);
    ChosenNgrams chosen;
    {
      nb::gil_scoped_release unlocked;
      chosen = builder_.choose(kind, budget, least);
    }
    return nb::make_tuple(to_numpy(std::move(chosen.bytes)), to_numpy(std::move(chosen.offsets)),
                          to_numpy(std::move(chosen.texts)), to_numpy(std::move(chosen.unseen)));
  }

 private:
  std::size_t add_some(const std::vector<Text>& texts, std::size_t next) {
    nb::gil_scoped_release unlocked;
    for (std::size_t bytes = 0; next < texts.size() && bytes < bytes_a_turn; ++next) {
      builder_.add(texts[next].view());
      bytes += texts[next].view().size();
    }
    return next;
  }

  NgramBuilder builder_;
  bool busy_ = false;
};

// The Python side of NgramNames: keeps the arrays alive.
class BoundNames {
 public:
  BoundNames(InArray<std::uint8_t> bytes, InArray<std::int64_t> offsets, InArray<std::uint32_t> slots, std::size_t bins)
      : bytes_(bytes),
        offsets_(offsets),
        slots_(slots),
        names_{StringTable(view(bytes_), view(offsets_), view(slots_)), bins} {
    require(slots_.size() > 0, "a vocabulary needs its slots");
  }

  const NgramNames& names() const { return names_; }

 private:
  InArray<std::uint8_t> bytes_;
  InArray<std::int64_t> offsets_;
  InArray<std::uint32_t> slots_;
  NgramNames names_;
};

class BoundNgramLookup {
 public:
  using Shares = std::array<double, ngram_kinds>;

  BoundNgramLookup(bool lower, bool sublinear, bool by_kind, const Shares& shares, const BoundNames& unigrams,
                   const BoundNames& bigrams, const BoundNames& trigrams, InArray<float> weights,
                   InArray<std::int32_t> columns)
      : unigrams_(unigrams),
        bigrams_(bigrams),
        trigrams_(trigrams),
        weights_(weights),
        columns_(columns),
        lookup_({lower, sublinear, by_kind, shares}, unigrams_.names(), bigrams_.names(), trigrams_.names(),
                view(weights_), view(columns_)) {}

  // (offsets, features, values): bytes for a few short texts, which make arrays at the least cost; arrays for more.
  nb::tuple rows(const nb::list& list, std::size_t threads) {
    const std::vector<Text> texts = texts_of(list);
    std::size_t bytes = 0;
    for (const Text& text : texts) bytes += text.view().size();
    return bytes + texts.size() <= few_bytes ? few(texts) : many(texts, threads);
  }

 private:
  using Loan = ScratchPool<NgramScratch>::Loan;

  static constexpr std::size_t few_bytes = 4096;
  static constexpr std::size_t bytes_a_piece = 1U << 16;

  nb::tuple few(const std::vector<Text>& texts) {
    Loan scratch(scratches_);
    scratch->rows.clear();
    scratch->rows.offsets.push_back(0);
    for (const Text& text : texts) lookup_.add(text.view(), *scratch);
    const NgramRows& rows = scratch->rows;
    return nb::make_tuple(raw(rows.offsets), raw(rows.features), raw(rows.values));
  }

  template <class T>
  static nb::bytes raw(const GrowingArray<T>& values) {
    return nb::bytes(values.data(), values.size() * sizeof(T));
  }

  nb::tuple many(const std::vector<Text>& texts, std::size_t threads) {
    NgramRows rows;
    rows.offsets.push_back(0);
    for (std::size_t next = 0; next < texts.size();) {
      next = turn(texts, next, threads, rows);
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    return nb::make_tuple(to_numpy(std::move(rows.offsets)), to_numpy(std::move(rows.features)),
                          to_numpy(std::move(rows.values)));
  }

  // Cuts off pieces of texts, lets the threads work on them, and joins their rows in the order of the texts.
  std::size_t turn(const std::vector<Text>& texts, std::size_t next, std::size_t threads, NgramRows& rows) {
    nb::gil_scoped_release unlocked;
    std::vector<std::size_t> cuts{next};
    for (std::size_t bytes = 0; next < texts.size() && bytes < bytes_a_turn;) {
      const std::size_t end = bytes + bytes_a_piece;
      for (; next < texts.size() && bytes < end; ++next) bytes += texts[next].view().size() + 1;
      cuts.push_back(next);
    }
    std::vector<NgramRows> pieces(cuts.size() - 1);
    share_work(pieces.size(), threads, [&] {
      return [&, scratch = std::make_shared<Loan>(scratches_)](std::size_t piece) {
        (*scratch)->rows.clear();
        for (std::size_t text = cuts[piece]; text < cuts[piece + 1]; ++text) lookup_.add(texts[text].view(), **scratch);
        std::swap(pieces[piece], (*scratch)->rows);
      };
    });
    for (NgramRows& piece : pieces) join(rows, std::move(piece));
    return next;
  }

  static void join(NgramRows& rows, NgramRows&& piece) {
    const auto begin = static_cast<std::int64_t>(rows.features.size());
    std::int64_t* const offsets = rows.offsets.room(piece.offsets.size());
    for (std::size_t i = 0; i < piece.offsets.size(); ++i) offsets[i] = begin + piece.offsets[i];
    rows.offsets.take(piece.offsets.size());
    rows.features.append(piece.features.data(), piece.features.size());
    rows.values.append(piece.values.data(), piece.values.size());
  }

  BoundNames unigrams_, bigrams_, trigrams_;
  InArray<float> weights_;
  InArray<std::int32_t> columns_;
  NgramLookup lookup_;
  ScratchPool<NgramScratch> scratches_;
};

nb::list ngrams(nb::str text, bool lower, std::size_t kind) {
  require(kind < ngram_kinds, "the kinds of n-grams are 0, 1 and 2");
  const Text utf8(text);
  MarkedText marked;
  marked.read(utf8.view(), lower);
  nb::list found;
  for (std::size_t word = 0; word < marked.words(); ++word) {
    if (kind == 0) found.append(decoded(marked.unigram(word)));
    if (kind == 1 && word + 1 < marked.words()) found.append(decoded(marked.bigram(word)));
    if (kind < 2) continue;
    for_each_trigram(marked.marked(word), [&](std::string_view trigram) { found.append(decoded(trigram)); });
  }
  return found;
}

}  // namespace

void register_ngrams(nb::module_& module) {
  module.def("ngrams", &ngrams, nb::arg("text"), nb::arg("lower"), nb::arg("kind"),
             "The n-grams of a text in their order; kind 0: word unigrams, 1: word bigrams, 2: character trigrams.");
  nb::class_<BoundNgramBuilder>(module, "NgramBuilder")
      .def(nb::init<bool, const BoundNgramBuilder::Sizes&, std::size_t>(), nb::arg("lower"), nb::arg("most"),
           nb::arg("bins"))
      .def_prop_ro("texts", &BoundNgramBuilder::texts)
      .def("add", &BoundNgramBuilder::add)
      .def("choose", &BoundNgramBuilder::choose, nb::arg("kind"), nb::arg("budget"), nb::arg("least"));
  nb::class_<BoundNames>(module, "NgramNames")
      .def(nb::init<InArray<std::uint8_t>, InArray<std::int64_t>, InArray<std::uint32_t>, std::size_t>(),
           nb::arg("bytes"), nb::arg("offsets"), nb::arg("slots"), nb::arg("bins"));
  nb::class_<BoundNgramLookup>(module, "NgramLookup")
      .def(nb::init<bool, bool, bool, const BoundNgramLookup::Shares&, const BoundNames&, const BoundNames&,
                    const BoundNames&, InArray<float>, InArray<std::int32_t>>(),
           nb::arg("lower"), nb::arg("sublinear"), nb::arg("by_kind"), nb::arg("shares"), nb::arg("unigrams"),
           nb::arg("bigrams"), nb::arg("trigrams"), nb::arg("weights"), nb::arg("columns"))
      .def("rows", &BoundNgramLookup::rows, nb::arg("texts"), nb::arg("threads"));
}

}  // namespace vizsla
