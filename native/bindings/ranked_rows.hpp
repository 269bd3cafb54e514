// Rows of items with scores on their way to and from Python: checked offsets, and answers that grow row by row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "bindings/arrays.hpp"
#include "common/checks.hpp"
#include "common/topk.hpp"

namespace vizsla {

inline void check_offsets(std::span<const std::int64_t> offsets, std::size_t end) {
  constexpr const char* otherwise = "offsets must rise from 0 to the number of items";
  require(!offsets.empty() && offsets.front() == 0 && static_cast<std::uint64_t>(offsets.back()) == end, otherwise);
  require(std::is_sorted(offsets.begin(), offsets.end()), otherwise);
}

template <class T>
nb::object to_bytes(const std::vector<T>& values) {
  RawArray<T> raw(values.size());
  std::copy(values.begin(), values.end(), raw.data());
  return raw.take();
}

// Rows that are filled one after another.
struct RankedRows {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> items;
  std::vector<float> scores;

  void add(std::span<const std::uint64_t> keys) {
    for (const std::uint64_t key : keys) {
      items.push_back(static_cast<std::int32_t>(item_of(key)));
      scores.push_back(signed_score_of(key));
    }
    offsets.push_back(static_cast<std::int64_t>(items.size()));
  }

  nb::tuple take() const { return nb::make_tuple(to_bytes(offsets), to_bytes(items), to_bytes(scores)); }
};

}  // namespace vizsla
