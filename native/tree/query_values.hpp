// A query's values by feature, for callers that look up many features of which the query has few.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "tree/child_margins.hpp"
#include "tree/feature_bloom.hpp"

namespace vizsla {

class QueryValues {
 public:
  // Features ascend.
  void take(std::span<const HashedFeature> features) {
    for (const HashedFeature& feature : features_) guesses_[feature.number % places] = 0;
    likely_.clear();
    features_.assign(features.begin(), features.end());
    measure();
    for (std::uint32_t i = 0; i < features_.size(); ++i) {
      const auto guess = static_cast<std::uint16_t>(i % UINT16_MAX + 1);
      std::uint16_t& place_of = guesses_[features_[i].number % places];
      magnitudes_[guess] = std::max({magnitudes_[guess], magnitudes_[place_of], units_of(features_[i].value)});
      place_of = guess;
      likely_.add(features_[i].number);
    }
  }

  // What most features that the query does not have are ruled out by, many at a time.
  const FeatureBloom& likely() const { return likely_; }

  // 0 for nearly all features that the query does not have: this small table stays close to the processor. A feature's
  // lower 16 bits are enough to ask by.
  std::uint16_t guess(std::uint32_t feature) const { return guesses_[feature % places]; }

  // No value of a feature with these lower 16 bits is further from 0 than so many units. Whole numbers: a sum over many
  // leaves tells each leaf's own, without rounding.
  std::uint32_t magnitude(std::uint32_t feature) const { return magnitudes_[guess(feature)]; }
  double unit() const { return unit_; }

  // The value of a feature whose guess was above 0; 0 if the query does not have it.
  float of(std::uint32_t feature) const {
    const HashedFeature& guessed = features_[guess(feature) - std::size_t{1}];
    if (guessed.number == feature) [[likely]]
      return guessed.value;
    const auto by_number = [](const HashedFeature& a, std::uint32_t number) { return a.number < number; };
    const auto found = std::lower_bound(features_.begin(), features_.end(), feature, by_number);
    return found == features_.end() || found->number != feature ? 0.0F : found->value;
  }

 private:
  static constexpr std::size_t places = 4096;
  static constexpr double units = 1 << 20;

  void measure() {
    float largest = 0;
    for (const HashedFeature& feature : features_) largest = std::max(largest, std::abs(feature.value));
    unit_ = double{largest} / units;
    units_a_one_ = largest > 0 ? units / double{largest} : 0;
    magnitudes_.assign(features_.size() + 1, 0);
  }

  // Cut off, and more for that and for what quotient and product were rounded by.
  std::uint32_t units_of(float value) const {
    return static_cast<std::uint32_t>(double{std::abs(value)} * units_a_one_) + 2;
  }

  FeatureBloom likely_;
  std::array<std::uint16_t, places> guesses_{};  // one more than the number of a feature that has this place
  std::vector<HashedFeature> features_;
  double unit_ = 0, units_a_one_ = 0;
  std::vector<std::uint32_t> magnitudes_;  // by guess
};

}  // namespace vizsla
