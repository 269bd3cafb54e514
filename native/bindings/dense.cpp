// Dense vectors for Python.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "common/checks.hpp"
#include "dense/flat_search.hpp"
#include "dense/pair_dots.hpp"

namespace vizsla {

namespace {

using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Scale = std::optional<InArray<float>>;

template <class T>
void check_below(std::span<const T> numbers, std::size_t limit, const char* otherwise) {
  for (const T number : numbers) require(number >= 0 && static_cast<std::size_t>(number) < limit, otherwise);
}

StoredRows stored_rows(const AnyMatrix& rows, const Scale& low, const Scale& step) {
  StoredRows stored{};
  stored.count = rows.shape(0);
  stored.dim = rows.shape(1);
  require(stored.dim > 0, "vectors must have at least one column");
  require(stored.count <= INT32_MAX, "there must be fewer than 2^31 vectors");
  const nb::dlpack::dtype type = rows.dtype();
  if (type == nb::dtype<std::uint8_t>()) {
    require(low && step && low->size() == stored.dim && step->size() == stored.dim,
            "bytes need low and step, a number for each column");
    stored.rows = static_cast<const std::uint8_t*>(rows.data());
    stored.low = view(*low);
    stored.step = view(*step);
    return stored;
  }
  require(!low && !step, "only bytes have low and step");
  if (type == nb::dtype<float>()) {
    stored.rows = static_cast<const float*>(rows.data());
  } else {
    require(type.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float) && type.bits == 16 && type.lanes == 1,
            "vectors must be float32, float16 or uint8");
    stored.rows = static_cast<const Half*>(rows.data());
  }
  return stored;
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
      pair_dots(queries.data(), stored, view(rows).subspan(first, count), view(items).subspan(first, count), room + first);
      if (count == pairs_a_turn) poll();
    }
  }
  return scores.take();
}

nb::tuple joined(const std::vector<std::vector<Hit>>& answers, std::size_t reads) {
  RawArray<std::int64_t> offsets(answers.size() + 1);
  std::int64_t* bounds = offsets.data();
  bounds[0] = 0;
  for (const auto& hits : answers) {
    bounds[1] = bounds[0] + static_cast<std::int64_t>(hits.size());
    ++bounds;
  }
  RawArray<std::int32_t> items(static_cast<std::size_t>(*bounds));
  RawArray<float> scores(static_cast<std::size_t>(*bounds));
  std::int32_t* item = items.data();
  float* score = scores.data();
  for (const auto& hits : answers) {
    for (const Hit& hit : hits) {
      *item++ = hit.item();
      *score++ = hit.score;
    }
  }
  return nb::make_tuple(offsets.take(), items.take(), scores.take(), reads);
}

nb::tuple search_rows(Matrix queries, AnyMatrix vectors, Scale low, Scale step, double longest, std::size_t k,
                      std::optional<InArray<std::int32_t>> numbers, std::size_t threads, bool portable) {
  const StoredRows stored = stored_rows(vectors, low, step);
  require(queries.shape(1) == stored.dim, "queries and vectors must have as many columns");
  require(k > 0 && threads > 0, "k and threads must be above 0");
  require(longest >= 0, "longest must not be negative");
  const ChosenRows chosen{stored, numbers ? view(*numbers) : std::span<const std::int32_t>(), !numbers};
  k = std::min(k, std::max<std::size_t>(1, chosen.size()));
  std::vector<std::vector<Hit>> answers;
  std::size_t reads = 0;
  {
    const Poll poll = python_signals();
    nb::gil_scoped_release unlocked;
    check_below(chosen.numbers, stored.count, "numbers must be below the number of vectors");
    const auto turn = std::adjacent_find(chosen.numbers.begin(), chosen.numbers.end(), std::greater_equal<>());
    require(turn == chosen.numbers.end(), "numbers must ascend");
    FlatSearch search(chosen, longest, portable ? Kernels::portable() : Kernels::best(), k);
    answers = search.run(queries.data(), queries.shape(0), threads, poll);
    reads = search.reads();
  }
  return joined(answers, reads);
}

}  // namespace

void register_dense(nb::module_& module) {
  module.def("pair_dots", &bound_pair_dots, nb::arg("queries").noconvert(), nb::arg("rows").noconvert(),
             nb::arg("vectors").noconvert(), nb::arg("low").noconvert().none(), nb::arg("step").noconvert().none(),
             nb::arg("items").noconvert(),
             "The inner product of each query row with its vector, as bytes of float32.");
  module.def("search_rows", &search_rows, nb::arg("queries").noconvert(), nb::arg("vectors").noconvert(),
             nb::arg("low").noconvert().none(), nb::arg("step").noconvert().none(), nb::arg("longest"), nb::arg("k"),
             nb::arg("numbers").noconvert().none(), nb::arg("threads"), nb::arg("portable") = false,
             "The best k vectors of each query, among all or those with the given numbers: bytes of int64 offsets, "
             "int32 items and float32 scores, and how often the vectors were read. `portable` leaves the CPU's own instructions unused, for tests.");
}

}  // namespace vizsla
