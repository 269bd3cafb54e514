// The k best of a stream of (score, item): best score first, equal scores by lower item number.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace vizsla {

// A positive float's bits rise with its value, so that one integer comparison orders score and item together.
inline std::uint64_t ranking_key(float score, std::uint32_t item) {
  return (std::uint64_t{std::bit_cast<std::uint32_t>(score)} << 32) | (UINT32_MAX - item);
}

// The same for any score: bits turned so that integers order as floats do, below zero too.
inline std::uint32_t ordered_bits(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score);
  return bits & 0x80000000U ? ~bits : bits | 0x80000000U;
}

inline float from_ordered_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits & 0x80000000U ? bits & 0x7FFFFFFFU : ~bits);
}

inline std::uint64_t signed_ranking_key(float score, std::uint32_t item) {
  return std::uint64_t{ordered_bits(score)} << 32 | (UINT32_MAX - item);
}

inline float signed_score_of(std::uint64_t key) { return from_ordered_bits(static_cast<std::uint32_t>(key >> 32)); }

inline float score_of(std::uint64_t key) { return std::bit_cast<float>(static_cast<std::uint32_t>(key >> 32)); }

inline std::uint32_t item_of(std::uint64_t key) { return UINT32_MAX - static_cast<std::uint32_t>(key); }

// Keys are collected in a buffer of twice k and cut to k by selection: cheaper than a heap, which sifts at every push.
class TopK {
 public:
  void start(std::size_t k) {
    k_ = k;
    floor_ = 0;
    keys_.clear();
    keys_.reserve(2 * k + slack);
  }

  void push(std::uint64_t key) {
    if (key <= floor_) return;
    keys_.push_back(key);
    if (keys_.size() == 2 * k_ + slack) cut();
  }

  // Raises the floor when enough has come to make it worth while.
  void settle() {
    if (keys_.size() >= k_ + (floor_ == 0 ? 0 : k_ / 4)) cut();
  }

  // A key that is not above this cannot enter any more.
  std::uint64_t floor() const { return floor_; }

  // A score that is not above this cannot enter any more, unless its item is lower than all pushed before.
  float threshold() const { return score_of(floor_); }

  std::span<const std::uint64_t> finish() {
    if (keys_.size() > k_) cut();
    std::sort(keys_.begin(), keys_.end(), std::greater<>());
    return keys_;
  }

 private:
  static constexpr std::size_t slack = 64;

  void cut() {
    std::nth_element(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(k_ - 1), keys_.end(), std::greater<>());
    keys_.resize(k_);
    floor_ = keys_.back();
  }

  std::size_t k_ = 1;
  std::uint64_t floor_ = 0;
  std::vector<std::uint64_t> keys_;
};

}  // namespace vizsla
