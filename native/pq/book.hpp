// The codebook of a product quantiser, and a query's inner products with all of its centroids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "common/clones.hpp"
#include "dense/kernels.hpp"

namespace vizsla {

struct PqBook {
  const float* rotation = nullptr;   // wide × dim, or none: then zeros fill a query up
  const float* centroids = nullptr;  // parts × width × count: the numbers of a dimension side by side
  std::size_t dim = 0, parts = 0, width = 0, count = 0;

  std::size_t wide() const { return parts * width; }
  std::size_t table_size() const { return parts * count; }
};

namespace detail {

// The product of two floats is exact in float64, so that fusing, or not, changes nothing.
VIZSLA_CLONES static void add_products(const float* centroids, double number, std::size_t count, double* sums) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += number * static_cast<double>(centroids[i]);
}

}  // namespace detail

// Fills tables with inner products: float64 sums in the order of the dimensions, rounded once. The same bits for every
// batch and CPU.
class PqTables {
 public:
  explicit PqTables(const PqBook& book) : book_(book), turned_(book.wide()), sums_(book.count) {}

  void fill(const float* query, float* table) {
    turn(query);
    for (std::size_t part = 0; part < book_.parts; ++part) {
      std::fill(sums_.begin(), sums_.end(), 0.0);
      for (std::size_t at = part * book_.width; at < (part + 1) * book_.width; ++at) {
        detail::add_products(book_.centroids + at * book_.count, double{turned_[at]}, book_.count, sums_.data());
      }
      for (std::size_t i = 0; i < book_.count; ++i) table[part * book_.count + i] = static_cast<float>(sums_[i]);
    }
  }

 private:
  void turn(const float* query) {
    if (book_.rotation == nullptr) {
      std::copy(query, query + book_.dim, turned_.begin());
      return;
    }
    const Kernels& kernels = Kernels::best();
    for (std::size_t row = 0; row < turned_.size(); ++row) {
      turned_[row] = kernels.pair_dot(query, book_.rotation + row * book_.dim, book_.dim);
    }
  }

  const PqBook& book_;
  std::vector<float> turned_;
  std::vector<double> sums_;
};

}  // namespace vizsla
