// Late interaction for Python.
#include <vector>

#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "bindings/stored_rows.hpp"
#include "dense/max_sim.hpp"

namespace vizsla {

namespace {

std::vector<TurnedQuery> turned(const Matrix& tokens, std::span<const std::int64_t> offsets) {
  require(!offsets.empty() && offsets.front() == 0, "query offsets must begin with 0");
  std::vector<TurnedQuery> queries;
  queries.reserve(offsets.size() - 1);
  for (std::size_t query = 0; query + 1 < offsets.size(); ++query) {
    require(offsets[query] <= offsets[query + 1] && offsets[query + 1] <= static_cast<std::int64_t>(tokens.shape(0)),
            "query offsets must rise, and end with the tokens");
    const auto begin = static_cast<std::size_t>(offsets[query]), end = static_cast<std::size_t>(offsets[query + 1]);
    queries.emplace_back(tokens.data() + begin * tokens.shape(1), end - begin, tokens.shape(1));
  }
  return queries;
}

nb::object bound_max_sims(Matrix queries, InArray<std::int64_t> query_offsets, AnyMatrix vectors, Scale low, Scale step,
                          InArray<std::int64_t> offsets, InArray<std::int64_t> rows, InArray<std::int32_t> items,
                          std::size_t threads, bool portable) {
  const TokenStore store{stored_rows(vectors, low, step), view(offsets)};
  require(queries.shape(1) == store.tokens.dim, "queries and vectors must have as many columns");
  require(rows.size() == items.size(), "there must be a query for each item");
  require(offsets.size() > 0 && query_offsets.size() > 0 && threads > 0, "offsets must not be empty, nor threads 0");
  RawArray<float> scores(items.size());
  float* room = scores.data();
  {
    const Poll poll = python_signals();
    nb::gil_scoped_release unlocked;
    check_below(view(rows), query_offsets.size() - 1, "rows must be below the number of queries");
    check_below(view(items), offsets.size() - 1, "items must be below the number of items");
    const std::vector<TurnedQuery> asked = turned(queries, view(query_offsets));
    max_sims(asked, store, view(rows), view(items), room, portable ? MaxSimKernels::portable() : MaxSimKernels::best(),
             threads, poll);
  }
  return scores.take();
}

}  // namespace

void register_max_sim(nb::module_& module) {
  module.def(
      "max_sims", &bound_max_sims, nb::arg("queries").noconvert(), nb::arg("query_offsets").noconvert(),
      nb::arg("vectors").noconvert(), nb::arg("low").noconvert().none(), nb::arg("step").noconvert().none(),
      nb::arg("offsets").noconvert(), nb::arg("rows").noconvert(), nb::arg("items").noconvert(), nb::arg("threads"),
      nb::arg("portable") = false,
      "For each pair of a query and an item the sum over the query's tokens of the best inner product with a token of "
      "the item, as bytes of float32. `portable` leaves the CPU's own instructions unused, for tests.");
}

}  // namespace vizsla
