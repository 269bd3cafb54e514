// SplitMix64: a stream of numbers that is the same on every machine, unlike the standard library's distributions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace vizsla {

class Random {
 public:
  // A stream of its own for each pair, so that a piece of work draws the same numbers in any thread.
  Random(std::uint64_t seed, std::uint64_t stream) : state_(mix(seed ^ mix(stream + 0x632be59bd9b4e019ULL))) {}

  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15ULL); }

  // Below `bound`, which must fit 32 bits; the bias of the multiplication is far below what any use here can see.
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(((next() >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
  }

  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace vizsla
