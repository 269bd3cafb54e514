// Weighted sums of items' columns for Python: all of them, or the best.
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "bindings/stored_rows.hpp"
#include "common/checks.hpp"
#include "dense/column_sums.hpp"

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

ColumnWeights column_weights(const StoredColumns& stored, const Matrix& weights, const InArray<float>& bias, const Own& own,
                             const Matrix& own_weights) {
  const std::size_t queries = weights.shape(0), features = own_weights.shape(1);
  require(weights.shape(1) == stored.dim, "there must be a weight for each dimension");
  require(bias.size() == queries && own_weights.shape(0) == queries, "there must be a row for each query");
  require(own.shape(0) == queries && own.shape(1) == features && own.shape(2) == stored.count,
          "own features must be queries × features × items");
  return {weights.data(), own.data(), own_weights.data(), bias.data(), queries, features};
}

nb::object bound_column_sums(AnyMatrix numbers, Matrix weights, InArray<float> bias, Own own, Matrix own_weights,
                             std::size_t threads, bool portable) {
  const StoredColumns stored = stored_columns(numbers);
  const ColumnWeights given = column_weights(stored, weights, bias, own, own_weights);
  require(threads > 0, "threads must be above 0");
  RawArray<float> sums(given.queries * stored.count);
  float* room = sums.data();
  {
    const Poll poll = python_signals();
    nb::gil_scoped_release unlocked;
    column_sums(stored, given, portable ? ColumnSumKernels::portable() : ColumnSumKernels::best(), room, threads, poll);
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

}  // namespace

void register_column_sums(nb::module_& module) {
  module.def("column_sums", &bound_column_sums, nb::arg("numbers").noconvert(), nb::arg("weights").noconvert(),
             nb::arg("bias").noconvert(), nb::arg("own").noconvert(), nb::arg("own_weights").noconvert(),
             nb::arg("threads"), nb::arg("portable") = false,
             "Each query's weights times every item's column of numbers, and times its own features of the items, plus its "
             "bias: bytes of float32, queries × items. `portable` leaves the CPU's own instructions unused, for tests.");
  module.def("best_columns", &bound_best_columns, nb::arg("numbers").noconvert(), nb::arg("weights").noconvert(),
             nb::arg("bias").noconvert(), nb::arg("own").noconvert(), nb::arg("own_weights").noconvert(),
             nb::arg("free").noconvert(), nb::arg("k"), nb::arg("threads"),
             "(offsets, items, sums): the k items of each query with the largest sums among its free ones, the best first; "
             "of equals, the lower numbers.");
}

}  // namespace vizsla
