// A query's values by feature, for those who ask about many features of which the query has few.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "tree/chunk_margins.hpp"
#include "tree/likely_features.hpp"

namespace vizsla {

class QueryValues {
 public:
  void take(std::span<const HashedFeature> features) {
    for (const HashedFeature& feature : features_) guesses_[feature.number % places] = 0;
    likely_.clear();
    features_.assign(features.begin(), features.end());
    slots_.assign(std::bit_ceil(2 * features.size() + 1), none);
    for (std::uint32_t i = 0; i < features_.size(); ++i) {
      guesses_[features_[i].number % places] = static_cast<std::uint16_t>(i % UINT16_MAX + 1);
      slots_[place(features_[i].number, features_[i].hash)] = i;
      likely_.add(features_[i].number);
    }
  }

  // What most features that the query does not have are ruled out by, many at a time.
  const LikelyFeatures& likely() const { return likely_; }

  // 0 for nearly all features that the query does not have: this small table stays close to the processor. A feature's
  // lower 16 bits are enough to ask by.
  std::uint16_t guess(std::uint32_t feature) const { return guesses_[feature % places]; }

  // The value of a feature whose guess was above 0; 0 if the query does not have it.
  float of(std::uint32_t feature) const {
    const HashedFeature& guessed = features_[guess(feature) - std::size_t{1}];
    if (guessed.number == feature) [[likely]] return guessed.value;
    const std::uint32_t slot = slots_[place(feature, ChunkTable::hash(feature))];
    return slot == none ? 0.0F : features_[slot].value;
  }

 private:
  static constexpr std::size_t places = 4096;
  static constexpr std::uint32_t none = UINT32_MAX;

  std::size_t place(std::uint32_t feature, std::uint32_t hash) const {
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at] != none && features_[slots_[at]].number != feature) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  LikelyFeatures likely_;
  std::array<std::uint16_t, places> guesses_{};  // one more than the number of a feature that has this place
  std::vector<HashedFeature> features_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace vizsla
