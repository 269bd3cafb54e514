// Many bitmaps with weights become a few: the digits of every item's sum, as bitmaps of powers of two. Bits of 512
// items are added at once, as a processor's adder does it, so that a bitmap costs a few instructions where adding its
// units to each item's sum costs one for sixteen.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "postings/bag_sums.hpp"

namespace vizsla {

namespace bag_slices {

inline constexpr std::size_t line_items = 512, line_words = line_items / 16;

// Which bitmaps count in which digit, the lowest digit first.
struct Plan {
  const std::uint16_t* const* inputs;  // by digit: a bitmap for every digit that its weight has
  const std::uint32_t* ends;           // of each digit's inputs
  std::size_t digits;
  void* carries;     // room for three times `room` lines
  std::size_t room;  // more than bitmaps, by eight
};

// As many items' bits as a register holds.
template <std::size_t bytes>
struct Register {
  typedef std::uint64_t Bits __attribute__((vector_size(bytes)));
};

#define VIZSLA_INLINE inline __attribute__((always_inline))

template <class Bits>
VIZSLA_INLINE void read(const std::uint16_t* words, Bits& bits) {
  __builtin_memcpy(&bits, words, sizeof(Bits));
}

// Three bits become one, and one that is carried to the next digit.
template <class Bits>
VIZSLA_INLINE void add_two(Bits& sum, const Bits& one, const Bits& two, Bits& carry) {
  const Bits before = sum;
  carry = (before & one) | (two & (before | one));
  sum = before ^ one ^ two;
}

// What is carried is added to the next digit at once, and what that carries is for the one after it.
template <class Bits>
VIZSLA_INLINE void add_four(Bits& sum, Bits& next, const Bits& a, const Bits& b, const Bits& c, const Bits& d,
                            Bits& carry) {
  Bits one, two;
  add_two(sum, a, b, one);
  add_two(sum, c, d, two);
  add_two(next, one, two, carry);
}

inline constexpr std::size_t ahead = 4 * line_words;  // words that are asked for from memory before they are added

// Adds up a register of the bitmaps' words from `first` on, and writes the digits of the sums, `stride` words apart.
template <class Bits>
VIZSLA_INLINE void add_register(const Plan& plan, std::size_t first, std::uint16_t* digits, std::size_t stride) {
  std::size_t carried[3] = {0, 0, 0};  // to this digit, the next, and the one after it, by turns
  const std::uint16_t* const* input = plan.inputs;
  Bits next = {}, a, b, c, d;
  for (std::size_t digit = 0; digit < plan.digits; ++digit) {
    const std::size_t turn = digit % 3, later = (digit + 1) % 3, last = (digit + 2) % 3;
    Bits* const carries = static_cast<Bits*>(plan.carries);
    Bits *const here = carries + turn * plan.room, *const start = carries + last * plan.room;
    Bits sum = next, *out = start;
    next = Bits{};
    const std::uint16_t* const* const end = plan.inputs + plan.ends[digit];
    for (; end - input >= 4; input += 4) {
      for (int i = 0; i < 4; ++i) __builtin_prefetch(input[i] + first + ahead, 0, 2);
      read(input[0] + first, a), read(input[1] + first, b), read(input[2] + first, c), read(input[3] + first, d);
      add_four(sum, next, a, b, c, d, *out++);
    }
    std::size_t count = carried[turn], i = 0;
    for (; input < end; ++input) read(*input + first, here[count++]);
    for (; count - i >= 4; i += 4) add_four(sum, next, here[i], here[i + 1], here[i + 2], here[i + 3], *out++);
    for (; i < count; ++i) {
      carries[later * plan.room + carried[later]++] = sum & here[i];
      sum ^= here[i];
    }
    carried[turn] = 0;
    carried[last] = static_cast<std::size_t>(out - start);
    __builtin_memcpy(digits + digit * stride, &sum, sizeof(Bits));
  }
}

// Adds up a line, in as many steps as its bits need registers.
template <std::size_t bytes>
VIZSLA_INLINE void add_line_with(const Plan& plan, std::size_t first, std::uint16_t* digits, std::size_t stride) {
  for (std::size_t word = 0; word < line_words; word += bytes / 2)
    add_register<typename Register<bytes>::Bits>(plan, first + word, digits + word, stride);
}

#undef VIZSLA_INLINE

inline void add_line_plain(const Plan& plan, std::size_t first, std::uint16_t* digits, std::size_t stride) {
  add_line_with<16>(plan, first, digits, stride);
}

#ifdef VIZSLA_BAG_AVX2
__attribute__((target("avx2"))) inline void add_line_avx2(const Plan& plan, std::size_t first, std::uint16_t* digits,
                                                          std::size_t stride) {
  add_line_with<32>(plan, first, digits, stride);
}

__attribute__((target("avx512f"))) inline void add_line_avx512(const Plan& plan, std::size_t first,
                                                               std::uint16_t* digits, std::size_t stride) {
  add_line_with<64>(plan, first, digits, stride);
}
#endif

inline void add_line(const Plan& plan, std::size_t first, std::uint16_t* digits, std::size_t stride) {
#ifdef VIZSLA_BAG_AVX2
  if (bag_sums::has_avx512()) return add_line_avx512(plan, first, digits, stride);
  if (bag_sums::has_avx2()) return add_line_avx2(plan, first, digits, stride);
#endif
  add_line_plain(plan, first, digits, stride);
}

}  // namespace bag_slices

class BagSlices {
 public:
  static constexpr std::size_t most = 2048;  // bitmaps: sums stay far below 2^31

  // Forgets everything. Weights are counted in units of 2^shift from here on, rounded up.
  void start(int shift) {
    shift_ = shift;
    taken_.clear();
    first_ = last_ = 0;
  }

  void take(const std::uint16_t* bitmap, std::int32_t units) { taken_.push_back({bitmap, units}); }

  // Adds up whole lines of the words from `first` to `last`, and returns where they end.
  std::size_t add(std::size_t first, std::size_t last) {
    stride_ = (last - first) / bag_slices::line_words * bag_slices::line_words;
    first_ = first;
    last_ = first + stride_;
    plan();
    if (slices_.size() < stride_ * digits()) slices_.resize(stride_ * digits());
    const bag_slices::Plan plan{inputs_.data(), ends_.data(), digits(), carries_.data(), room_};
    for (std::size_t word = 0; word < stride_; word += bag_slices::line_words)
      bag_slices::add_line(plan, first + word, slices_.data() + word, stride_);
    return last_;
  }

  // Adds what was found; `sums` begins with the first word's items.
  void add_to(std::int32_t* sums) const {
    for (std::size_t i = 0; i < digits(); i += bag_sums::Digits::most) {
      const std::size_t count = std::min(digits() - i, bag_sums::Digits::most);
      bag_sums::add_digits({digit(i), stride_, count, shift_ + static_cast<int>(i)}, stride_, sums);
    }
  }

  // By how much an item's digits are above the units of the bitmaps that hold it.
  std::int32_t excess(std::uint32_t place) const {
    const std::size_t word = place / 16;
    if (word < first_ || word >= last_) return 0;
    std::int32_t above = 0;
    for (std::size_t i = 0; i < digits(); ++i)
      above += (digit(i)[word - first_] >> (place % 16) & 1) << (static_cast<int>(i) + shift_);
    for (const Taken& one : taken_) above -= (one.bitmap[word] >> (place % 16) & 1) * one.units;
    return above;
  }

 private:
  struct Taken {
    const std::uint16_t* bitmap;
    std::int32_t units;
  };
  struct alignas(64) Line {
    std::uint16_t words[bag_slices::line_words];
  };

  // The sums' bits of 2^number units, from the first word on.
  std::size_t digits() const { return ends_.size(); }
  const std::uint16_t* digit(std::size_t number) const { return slices_.data() + number * stride_; }

  std::uint32_t rounded(const Taken& one) const {
    return static_cast<std::uint32_t>((one.units + (1 << shift_) - 1) >> shift_);
  }

  // Each bitmap is an input of every digit that its weight has.
  void plan() {
    std::uint32_t total = 0;
    std::uint32_t counts[33] = {};
    for (const Taken& one : taken_) {
      total += rounded(one);
      for (std::uint32_t bits = rounded(one); bits != 0; bits &= bits - 1) ++counts[std::countr_zero(bits) + 1];
    }
    const auto digits = static_cast<std::size_t>(std::bit_width(total));
    for (std::size_t i = 0; i < digits; ++i) counts[i + 1] += counts[i];
    ends_.assign(counts + 1, counts + 1 + digits);
    inputs_.resize(counts[digits]);
    for (const Taken& one : taken_) {
      for (std::uint32_t bits = rounded(one); bits != 0; bits &= bits - 1)
        inputs_[counts[std::countr_zero(bits)]++] = one.bitmap;
    }
    room_ = taken_.size() + 8;  // a third of the bitmaps at most is carried to a digit, and a few more wait for it
    if (carries_.size() < 3 * room_) carries_.resize(3 * room_);
  }

  int shift_ = 0;
  std::size_t first_ = 0, last_ = 0, stride_ = 0, room_ = 0;
  std::vector<Taken> taken_;
  std::vector<const std::uint16_t*> inputs_;
  std::vector<std::uint32_t> ends_;
  std::vector<std::uint16_t> slices_;
  std::vector<Line> carries_;
};

}  // namespace vizsla
