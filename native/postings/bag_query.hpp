// A weighted query made ready for a bag index: its weights as whole numbers of one unit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/checks.hpp"

namespace vizsla {

// Whole numbers add up to the same in any order, so searching, scoring, threads, blocks and shards agree to the last
// bit without a fixed order of additions. The unit is a power of two, 2^-23 of the weights' sum: as fine as the sum's
// own float32, and every sum is exact as one.
class BagQuery {
 public:
  struct Term {
    std::int32_t token;
    std::int32_t units;
  };

  void prepare(std::span<const std::int32_t> tokens, std::span<const float> weights, std::size_t token_count) {
    require(tokens.size() == weights.size(), "there must be a weight for each query token");
    require(tokens.size() <= (std::size_t{1} << 20), "a query must have fewer than 2^20 tokens");
    double total = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      require(tokens[i] >= 0 && static_cast<std::size_t>(tokens[i]) < token_count,
              "tokens must be below the number of tokens");
      require(weights[i] >= 0 && weights[i] < 1e30F, "query weights must be from 0 to 1e30");
      total += double{weights[i]};
    }
    // A sum of 0 has no terms; one below 2^-80 is counted in the smallest unit.
    const int exponent = std::max(total > 0 ? std::ilogb(total) + 1 : 0, -80) - 23;
    unit_ = std::ldexp(1.0F, exponent);
    fill(tokens, weights, exponent);
  }

  std::span<const Term> terms() const { return terms_; }
  float unit() const { return unit_; }

 private:
  void fill(std::span<const std::int32_t> tokens, std::span<const float> weights, int exponent) {
    terms_.clear();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (weights[i] == 0) continue;
      const double units = std::nearbyint(std::ldexp(double{weights[i]}, -exponent));
      terms_.push_back({tokens[i], std::max(static_cast<std::int32_t>(units), 1)});  // small is not absent
    }
    const auto by_token = [](const Term& a, const Term& b) { return a.token < b.token; };
    if (!std::is_sorted(terms_.begin(), terms_.end(), by_token)) std::sort(terms_.begin(), terms_.end(), by_token);
    merge();
  }

  // A token that is named twice counts twice.
  void merge() {
    std::size_t out = 0;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      if (out > 0 && terms_[out - 1].token == terms_[i].token) {
        terms_[out - 1].units += terms_[i].units;
      } else {
        terms_[out++] = terms_[i];
      }
    }
    terms_.resize(out);
  }

  std::vector<Term> terms_;
  float unit_ = 1;
};

}  // namespace vizsla
