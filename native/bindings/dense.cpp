// Dense vectors for Python.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/hits.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/ranked_rows.hpp"
#include "bindings/register.hpp"
#include "bindings/stored_rows.hpp"
#include "candidates/rank.hpp"
#include "common/checks.hpp"
#include "dense/flat_search.hpp"
#include "dense/int8_search.hpp"
#include "dense/pair_dots.hpp"

namespace vizsla {

namespace {

using Whole = nb::ndarray<const std::int8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const std::uint8_t> bytes_of(const std::optional<Flags>& flags) {
  if (!flags) return {};
  return {reinterpret_cast<const std::uint8_t*>(flags->data()), flags->size()};
}

nb::object bound_pair_dots(Matrix queries, InArray<std::int64_t> rows, AnyMatrix vectors, Scale low, Scale step,
                           InArray<std::int32_t> items) {
  const StoredRows stored = stored_rows(vectors, low, step);
  require(queries.shape(1) == stored.dim, "queries and vectors must have as many columns");
  require(rows.size() == items.size(), "there must be a query for each item");
  RawArray<float> scores(items.size());
  float* room = scores.data();
  constexpr std::size_t pairs_a_turn = 1 << 16;
  const Poll poll = items.size() < pairs_a_turn ? Poll() : python_signals();
  {
    nb::gil_scoped_release unlocked;
    check_below(view(rows), queries.shape(0), "rows must be below the number of queries");
    check_below(view(items), stored.count, "items must be below the number of vectors");
    for (std::size_t first = 0; first < items.size(); first += pairs_a_turn) {
      const std::size_t count = std::min(pairs_a_turn, items.size() - first);
      pair_dots(queries.data(), stored, view(rows).subspan(first, count), view(items).subspan(first, count),
                room + first);
      if (count == pairs_a_turn) poll();
    }
  }
  return scores.take();
}

// (offsets, items, scores): what a structure proposed for each query, scored and ranked; numbers below 0 are none.
nb::tuple score_proposed(Matrix queries,
                         nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> proposed,
                         AnyMatrix vectors, Scale low, Scale step) {
  const StoredRows stored = stored_rows(vectors, low, step);
  require(queries.shape(1) == stored.dim, "queries and vectors must have as many columns");
  require(proposed.shape(0) == queries.shape(0), "there must be a row of items for each query");
  RankedRows out;
  {
    nb::gil_scoped_release unlocked;
    const std::size_t wide = proposed.shape(1);
    std::vector<std::int32_t> items;
    std::vector<std::int64_t> rows(wide, 0);
    std::vector<float> scores(wide);
    RowRanker ranker;
    for (std::size_t query = 0; query < queries.shape(0); ++query) {
      const std::span<const std::int64_t> given(proposed.data() + query * wide, wide);
      items.clear();
      for (const std::int64_t item : given) {
        require(item < static_cast<std::int64_t>(stored.count), "items must be below the number of vectors");
        if (item >= 0) items.push_back(static_cast<std::int32_t>(item));
      }
      pair_dots(queries.data() + query * stored.dim, stored, std::span(rows).first(items.size()), items, scores.data());
      ranker.clear();
      for (std::size_t i = 0; i < items.size(); ++i) ranker.push(items[i], scores[i]);
      out.add(ranker.best(items.size()));
    }
  }
  return out.take();
}

nb::tuple search_rows(Matrix queries, AnyMatrix vectors, Scale low, Scale step, double longest, std::size_t k,
                      std::optional<InArray<std::int32_t>> numbers, std::optional<Flags> flags, std::size_t threads,
                      bool portable) {
  const StoredRows stored = stored_rows(vectors, low, step);
  require(queries.shape(1) == stored.dim, "queries and vectors must have as many columns");
  require(k > 0 && threads > 0, "k and threads must be above 0");
  require(longest >= 0, "longest must not be negative");
  require(!(numbers && flags), "rows must be chosen by number or by flag, not both");
  require(!flags || flags->size() == stored.count, "there must be a flag for each vector");
  const RowSelection chosen{stored, numbers ? view(*numbers) : std::span<const std::int32_t>(), bytes_of(flags),
                            !numbers};
  k = std::min(k, std::max<std::size_t>(1, chosen.size()));
  std::vector<std::vector<Hit>> answers;
  std::size_t reads = 0;
  {
    const Poll poll = python_signals();
    nb::gil_scoped_release unlocked;
    check_below(chosen.numbers, stored.count, "numbers must be below the number of vectors");
    const auto descent = std::adjacent_find(chosen.numbers.begin(), chosen.numbers.end(), std::greater_equal<>());
    require(descent == chosen.numbers.end(), "numbers must ascend");
    FlatSearch search(chosen, longest, portable ? Kernels::portable() : Kernels::best(), k);
    answers = search.run(queries.data(), queries.shape(0), threads, poll);
    reads = search.reads();
  }
  return joined_hits(answers, reads);
}

Int8Rows int8_rows_of(const Whole& codes, const InArray<float>& scales, const InArray<float>& errors,
                      const StoredRows& stored) {
  require(!stored.bytes(), "rows of bytes need no int8 copy");
  require(codes.shape(0) == stored.count && scales.size() == stored.count && errors.size() == stored.count,
          "the int8 copy must have a row for each vector");
  require(codes.shape(1) >= stored.dim && codes.shape(1) % Int8Kernels::lanes == 0 && codes.shape(1) <= 1 << 16,
          "the int8 copy's rows must be as wide as the vectors, filled up to a multiple of 16, and at most 65536");
  return {codes.data(), codes.shape(1), view(scales), view(errors)};
}

nb::tuple search_int8_bounded(Matrix queries, AnyMatrix vectors, Whole codes, InArray<float> scales,
                              InArray<float> errors, double longest, std::size_t k,
                              std::optional<InArray<std::int32_t>> numbers, std::size_t threads, bool portable) {
  const StoredRows stored = stored_rows(vectors, {}, {});
  const Int8Rows int8 = int8_rows_of(codes, scales, errors, stored);
  require(queries.shape(1) == stored.dim, "queries and vectors must have as many columns");
  require(k > 0 && threads > 0, "k and threads must be above 0");
  require(longest >= 0, "longest must not be negative");
  const RowSelection chosen{stored, numbers ? view(*numbers) : std::span<const std::int32_t>(), {}, !numbers};
  k = std::min(k, std::max<std::size_t>(1, chosen.size()));
  std::vector<std::vector<Hit>> answers;
  std::size_t scored = 0;
  {
    const Poll poll = python_signals();
    nb::gil_scoped_release unlocked;
    check_below(chosen.numbers, stored.count, "numbers must be below the number of vectors");
    const auto descent = std::adjacent_find(chosen.numbers.begin(), chosen.numbers.end(), std::greater_equal<>());
    require(descent == chosen.numbers.end(), "numbers must ascend");
    Int8Search search(chosen, int8, longest, k, portable);
    answers = search.run(queries.data(), queries.shape(0), threads, poll);
    scored = search.scored();
  }
  return joined_hits(answers, scored);
}

}  // namespace

void register_dense(nb::module_& module) {
  module.def("pair_dots", &bound_pair_dots, nb::arg("queries").noconvert(), nb::arg("rows").noconvert(),
             nb::arg("vectors").noconvert(), nb::arg("low").noconvert().none(), nb::arg("step").noconvert().none(),
             nb::arg("items").noconvert(), "The inner product of each query row with its vector, as bytes of float32.");
  module.def("score_proposed", &score_proposed, nb::arg("queries").noconvert(), nb::arg("proposed").noconvert(),
             nb::arg("vectors").noconvert(), nb::arg("low").noconvert().none(), nb::arg("step").noconvert().none(),
             "(offsets, items, scores) as bytes: the proposed items of each query, scored and ranked.");
  module.def("search_rows", &search_rows, nb::arg("queries").noconvert(), nb::arg("vectors").noconvert(),
             nb::arg("low").noconvert().none(), nb::arg("step").noconvert().none(), nb::arg("longest"), nb::arg("k"),
             nb::arg("numbers").noconvert().none(), nb::arg("flags").noconvert().none(), nb::arg("threads"),
             nb::arg("portable") = false,
             "The best k vectors of each query, among all, those with the given numbers or those with a flag: bytes of "
             "int64 offsets, "
             "int32 items and float32 scores, and how often the vectors were read. `portable` leaves the CPU's own "
             "instructions unused, for tests.");
  module.def(
      "search_int8_bounded", &search_int8_bounded, nb::arg("queries").noconvert(), nb::arg("vectors").noconvert(),
      nb::arg("codes").noconvert(), nb::arg("scales").noconvert(), nb::arg("errors").noconvert(), nb::arg("longest"),
      nb::arg("k"), nb::arg("numbers").noconvert().none(), nb::arg("threads"), nb::arg("portable") = false,
      "What search_rows finds, by rows of a byte a number that are off by at most `errors`; the last part is how many "
      "vectors were scored in full.");
}

}  // namespace vizsla
