// The codebook of a product quantizer, and a query's inner products with all of its centroids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "common/clones.hpp"
#include "common/instructions.hpp"
#include "pq/rotate.hpp"

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
VIZSLA_CLONES static void fill_tables(const PqBook& book, const float* rotated, float* table) {
  constexpr std::size_t lanes = 16;
  for (std::size_t part = 0; part < book.parts; ++part) {
    const float* centroids = book.centroids + part * book.width * book.count;
    for (std::size_t first = 0; first < book.count; first += lanes, table += lanes) {
      double sums[lanes] = {};
      for (std::size_t at = 0; at < book.width; ++at) {
        const auto number = static_cast<double>(rotated[part * book.width + at]);
        const float* here = centroids + at * book.count + first;
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += number * static_cast<double>(here[lane]);
      }
      for (std::size_t lane = 0; lane < lanes; ++lane) table[lane] = static_cast<float>(sums[lane]);
    }
  }
}

}  // namespace detail

// Fills tables with inner products: float64 sums in the order of the dimensions, rounded once. The same bits for every
// batch and CPU.
class PqTables {
 public:
  explicit PqTables(const PqBook& book, Instructions instructions = instructions_here())
      : book_(book),
        rotate_(rotate_kernel(instructions)),
        rotated_(book.wide()),
        query_(book.rotation ? book.dim : 0) {}

  void fill(const float* query, float* table) {
    if (book_.rotation == nullptr) {
      std::copy(query, query + book_.dim, rotated_.begin());
    } else {
      std::copy(query, query + book_.dim, query_.begin());
      rotate_(query_.data(), book_.rotation, book_.wide(), book_.dim, rotated_.data());
    }
    detail::fill_tables(book_, rotated_.data(), table);
  }

 private:
  const PqBook& book_;
  RotateKernel rotate_;
  std::vector<float> rotated_;
  std::vector<double> query_;
};

}  // namespace vizsla
