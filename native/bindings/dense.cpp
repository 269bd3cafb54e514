// Dense vectors for Python.
#include <algorithm>

#include "bindings/arrays.hpp"
#include "bindings/register.hpp"
#include "common/checks.hpp"
#include "dense/pair_dots.hpp"

namespace vizsla {

namespace {

using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
void check_below(std::span<const T> numbers, std::size_t limit, const char* otherwise) {
  for (const T number : numbers) require(number >= 0 && static_cast<std::size_t>(number) < limit, otherwise);
}

nb::object bound_pair_dots(Matrix queries, InArray<std::int64_t> rows, Matrix vectors, InArray<std::int32_t> items) {
  require(queries.shape(1) == vectors.shape(1), "queries and vectors must have as many columns");
  require(rows.size() == items.size(), "there must be a query for each item");
  RawArray<float> scores(items.size());
  float* room = scores.data();
  {
    nb::gil_scoped_release unlocked;
    check_below(view(rows), queries.shape(0), "rows must be below the number of queries");
    check_below(view(items), vectors.shape(0), "items must be below the number of vectors");
    pair_dots(queries.data(), vectors.data(), queries.shape(1), view(rows), view(items), room);
  }
  return scores.take();
}

}  // namespace

void register_dense(nb::module_& module) {
  module.def("pair_dots", &bound_pair_dots, nb::arg("queries").noconvert(), nb::arg("rows").noconvert(),
             nb::arg("vectors").noconvert(), nb::arg("items").noconvert(),
             "The inner product of each query row with its vector, as bytes of float32.");
}

}  // namespace vizsla
