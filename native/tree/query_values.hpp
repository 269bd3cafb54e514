// A query's values by feature, for those who ask about many features of which the query has few.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "tree/chunk_margins.hpp"

namespace vizsla {

class QueryValues {
 public:
  void take(std::span<const HashedFeature> features) {
    maybe_.fill(0);
    slots_.assign(std::bit_ceil(2 * features.size() + 1), {none, 0.0F});
    for (const HashedFeature& feature : features) {
      maybe_[feature.number / 64 % words] |= std::uint64_t{1} << feature.number % 64;
      slots_[place(feature.number, feature.hash)] = {feature.number, feature.value};
    }
  }

  // False for nearly all features that the query does not have: these few bits stay close to the processor.
  bool may_have(std::uint32_t feature) const { return (maybe_[feature / 64 % words] >> feature % 64 & 1) != 0; }

  // The feature's value, 0 if the query does not have it.
  float of(std::uint32_t feature) const { return slots_[place(feature, ChunkTable::hash(feature))].value; }

 private:
  static constexpr std::size_t words = 512;
  static constexpr std::uint32_t none = UINT32_MAX;

  struct Slot {
    std::uint32_t feature;
    float value;
  };

  std::size_t place(std::uint32_t feature, std::uint32_t hash) const {
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].feature != feature && slots_[at].feature != none) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::array<std::uint64_t, words> maybe_{};
  std::vector<Slot> slots_;
};

}  // namespace vizsla
