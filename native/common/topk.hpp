// The k best of a stream of (score, item): best score first, equal scores by lower item number.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/clones.hpp"
#include "common/select_k.hpp"

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

namespace detail {

// Puts each key at the place that the number of larger ones gives: more comparisons than sorting, but none is guessed
// wrong, and several are made at once. All keys are different.
VIZSLA_CLONES static void place_by_rank(const std::uint64_t* keys, std::size_t count, std::uint64_t* sorted) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t larger = 0;
    for (std::size_t j = 0; j < count; ++j) larger += keys[j] > keys[i];
    sorted[larger] = keys[i];
  }
}

}  // namespace detail

// Sorts keys that are all different, the largest first.
inline void sort_down(std::vector<std::uint64_t>& keys, std::vector<std::uint64_t>& other) {
  constexpr std::size_t few = 128;
  if (keys.size() > few) return std::sort(keys.begin(), keys.end(), std::greater<>());
  other.resize(keys.size());
  detail::place_by_rank(keys.data(), keys.size(), other.data());
  keys.swap(other);
}

// Keys are collected in a buffer, by default of twice k, and cut to k by selection: cheaper than a heap, which sifts at
// every push.
class TopK {
 public:
  // More room means fewer cuts, and a floor that rises later.
  void start(std::size_t k, std::size_t room) {
    k_ = k;
    room_ = std::max(room, k + 1);
    floor_ = 0;
    size_ = 0;
    if (keys_.size() < room_) {
      keys_.resize(room_);
      other_.resize(room_);
    }
  }

  void start(std::size_t k) { start(k, 2 * k + slack); }

  void push(std::uint64_t key) {
    if (key <= floor_) return;
    keys_[size_++] = key;
    if (size_ == room_) cut();
  }

  // Without a guess whether; of no use once the floor has risen.
  void push_if(bool wanted, std::uint64_t key) {
    keys_[size_] = key;
    size_ += wanted;
    if (size_ == room_) cut();
  }

  // Raises the floor when enough has come to make it worth while.
  void settle() {
    if (size_ >= k_ + (floor_ == 0 ? 0 : k_ / 4)) cut();
  }

  // Raises the floor as far as what has come allows.
  void raise() {
    if (size_ >= k_) cut();
  }

  // A key that is not above this cannot enter any more; 0 while fewer than k have come.
  std::uint64_t floor() const { return floor_; }

  // A score that is not above this cannot enter any more, unless its item is lower than all pushed before.
  float threshold() const { return score_of(floor_); }

  // The best k in any order.
  std::span<const std::uint64_t> unsorted() {
    if (size_ > k_) cut();
    return std::span(keys_).first(size_);
  }

  std::span<const std::uint64_t> finish() {
    if (size_ > k_) cut();
    if (size_ > few) {
      std::sort(keys_.begin(), end(), std::greater<>());
      return std::span(keys_).first(size_);
    }
    detail::place_by_rank(keys_.data(), size_, sorted_);
    return std::span(sorted_).first(size_);
  }

 private:
  static constexpr std::size_t slack = 64;
  static constexpr std::size_t few = 128;

  std::vector<std::uint64_t>::iterator end() { return keys_.begin() + static_cast<std::ptrdiff_t>(size_); }

  void cut() {
    select_k(std::span(keys_).first(size_), k_, other_.data());
    size_ = k_;
    floor_ = *std::min_element(keys_.begin(), end());
  }

  std::size_t k_ = 1;
  std::size_t room_ = 0;
  std::uint64_t floor_ = 0;
  std::size_t size_ = 0;
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint64_t> other_;  // as large; where cuts are made
  std::uint64_t sorted_[few];
};

}  // namespace vizsla
