// Items' columns for Python: some of them, and weighted sums of all, or the best of these.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "bindings/stored_rows.hpp"
#include "common/checks.hpp"
#include "dense/column_gather.hpp"
#include "dense/column_sums.hpp"
#include "dense/item_pools.hpp"
#include "dense/pool_gather.hpp"

namespace vizsla {

namespace {

using Own = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using FreeItems = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

StoredColumns stored_columns(const AnyMatrix& numbers) {
  StoredColumns stored{{}, numbers.shape(0), numbers.shape(1)};
  require(stored.count <= INT32_MAX, "there must be fewer than 2^31 items");
  const nb::dlpack::dtype type = numbers.dtype();
  if (type == nb::dtype<float>()) {
    stored.numbers = static_cast<const float*>(numbers.data());
  } else if (type == nb::dtype<std::int8_t>()) {
    stored.numbers = static_cast<const std::int8_t*>(numbers.data());
  } else {
    require(type.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float) && type.bits == 16 && type.lanes == 1,
            "numbers must be float32, float16 or int8");
    stored.numbers = static_cast<const Half*>(numbers.data());
  }
  return stored;
}

ColumnWeights column_weights(const StoredColumns& stored, const Matrix& weights, const InArray<float>& bias,
                             const Own& own, const Matrix& own_weights) {
  const std::size_t queries = weights.shape(0), features = own_weights.shape(1);
  require(weights.shape(1) == stored.dim, "there must be a weight for each dimension");
  require(bias.size() == queries && own_weights.shape(0) == queries, "there must be a row for each query");
  require(own.shape(0) == queries && own.shape(1) == features && own.shape(2) == stored.count,
          "own features must be queries × features × items");
  return {weights.data(), own.data(), own_weights.data(), bias.data(), queries, features};
}

const ColumnSumKernels& kernels_called(const std::string& name) {
  if (name == "best") return ColumnSumKernels::best();
  if (name == "plain") return ColumnSumKernels::portable();
  require(name == "avx2" || name == "avx512", "kernels must be best, plain, avx2 or avx512");
  const ColumnSumKernels* found = name == "avx2" ? ColumnSumKernels::eight_lanes() : ColumnSumKernels::sixteen_lanes();
  require(found != nullptr, "kernels must be such as this CPU can run");
  return *found;
}

nb::object bound_column_sums(AnyMatrix numbers, Matrix weights, InArray<float> bias, Own own, Matrix own_weights,
                             std::size_t threads, const std::string& kernels) {
  const StoredColumns stored = stored_columns(numbers);
  const ColumnWeights given = column_weights(stored, weights, bias, own, own_weights);
  require(threads > 0, "threads must be above 0");
  RawArray<float> sums(given.queries * stored.count);
  float* room = sums.data();
  const ColumnSumKernels& called = kernels_called(kernels);
  {
    const Poll poll = python_signals();
    nb::gil_scoped_release unlocked;
    column_sums(stored, given, called, room, threads, poll);
  }
  return sums.take();
}

nb::tuple bound_best_columns(AnyMatrix numbers, Matrix weights, InArray<float> bias, Own own, Matrix own_weights,
                             FreeItems free, std::size_t k, std::size_t threads) {
  const StoredColumns stored = stored_columns(numbers);
  const ColumnWeights given = column_weights(stored, weights, bias, own, own_weights);
  require(free.shape(0) == given.queries && free.shape(1) == stored.count, "free must be queries × items");
  require(k > 0 && threads > 0, "k and threads must be above 0");
  k = std::min(k, std::max<std::size_t>(1, stored.count));
  std::vector<std::vector<std::uint64_t>> best;
  {
    const Poll poll = python_signals();
    nb::gil_scoped_release unlocked;
    const auto* flags = reinterpret_cast<const std::uint8_t*>(free.data());
    best = best_columns(stored, given, flags, k, ColumnSumKernels::best(), threads, poll);
  }
  std::vector<std::int64_t> offsets{0}, items;
  std::vector<float> scores;
  for (const auto& keys : best) {
    for (const std::uint64_t key : keys) {
      items.push_back(item_of(key));
      scores.push_back(signed_score_of(key));
    }
    offsets.push_back(static_cast<std::int64_t>(items.size()));
  }
  return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(items)), to_numpy(std::move(scores)));
}

void check_wanted(const StoredColumns& stored, const InArray<float>& steps, std::span<const std::int64_t> items) {
  require(steps.size() == stored.dim, "there must be a step for each dimension");
  const auto known = [&](std::int64_t item) { return item >= 0 && static_cast<std::size_t>(item) < stored.count; };
  require(std::all_of(items.begin(), items.end(), known), "items must be among those that are stored");
}

nb::object bound_gather_columns(AnyMatrix numbers, InArray<float> steps, InArray<std::int64_t> items) {
  const StoredColumns stored = stored_columns(numbers);
  check_wanted(stored, steps, view(items));
  RawArray<float> columns(items.size() * stored.dim);
  float* room = columns.data();
  {
    nb::gil_scoped_release unlocked;
    gather_columns(stored, view(items), steps.data(), room);
  }
  return columns.take();
}

nb::object bound_gather_pools(AnyMatrix numbers, InArray<float> steps, InArray<std::int64_t> items,
                              InArray<std::int64_t> offsets, std::size_t threads, bool by_item) {
  StoredColumns stored = stored_columns(numbers);
  if (by_item) std::swap(stored.dim, stored.count);
  check_wanted(stored, steps, view(items));
  const auto cuts = view(offsets);
  require(!cuts.empty() && cuts.front() == 0 && cuts.back() == static_cast<std::int64_t>(items.size()) &&
              std::is_sorted(cuts.begin(), cuts.end()),
          "offsets must rise from 0 to the number of items");
  require(items.size() <= UINT32_MAX && threads > 0, "there must be fewer than 2^32 items, and threads above 0");
  RawArray<float> columns(items.size() * stored.dim);
  float* room = columns.data();
  {
    const Poll poll = python_signals();
    nb::gil_scoped_release unlocked;
    (by_item ? gather_item_pools : gather_pools)(stored, view(items), cuts, steps.data(), room, threads, poll);
  }
  return columns.take();
}

}  // namespace

void register_column_sums(nb::module_& module) {
  module.def(
      "column_sums", &bound_column_sums, nb::arg("numbers").noconvert(), nb::arg("weights").noconvert(),
      nb::arg("bias").noconvert(), nb::arg("own").noconvert(), nb::arg("own_weights").noconvert(), nb::arg("threads"),
      nb::arg("kernels") = "best",
      "Each query's weights times every item's column of numbers, and times its own features of the items, plus its "
      "bias: bytes of float32, queries × items. `kernels` are best, plain, avx2 or avx512, for tests.");
  module.def("gather_columns", &bound_gather_columns, nb::arg("numbers").noconvert(), nb::arg("steps").noconvert(),
             nb::arg("items").noconvert(),
             "The columns of some items, each number times its row's step: bytes of float32, items × dimensions.");
  module.def(
      "gather_pools", &bound_gather_pools, nb::arg("numbers").noconvert(), nb::arg("steps").noconvert(),
      nb::arg("items").noconvert(), nb::arg("offsets").noconvert(), nb::arg("threads"), nb::arg("by_item") = false,
      "The columns of each query's own items, those of query q from offsets[q] on, each number times its row's step: "
      "bytes of float32, dimensions × items of one query after the other. With `by_item` the numbers are items × "
      "dimensions.");
  module.def(
      "best_columns", &bound_best_columns, nb::arg("numbers").noconvert(), nb::arg("weights").noconvert(),
      nb::arg("bias").noconvert(), nb::arg("own").noconvert(), nb::arg("own_weights").noconvert(),
      nb::arg("free").noconvert(), nb::arg("k"), nb::arg("threads"),
      "(offsets, items, sums): the k items of each query with the largest sums among its free ones, the best first; "
      "of equals, the lower numbers.");
}

}  // namespace vizsla
