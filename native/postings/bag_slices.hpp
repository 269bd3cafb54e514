// Many bitmaps with weights become a few: the digits of every item's sum, as bitmaps of powers of two. Bits of 512 items are
// added at once, as a processor's adder does it, so that a bitmap costs a few instructions where adding its units to each
// item's sum costs one for sixteen.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/clones.hpp"

namespace vizsla {

namespace bag_slices {

inline constexpr std::size_t line_items = 512, line_words = line_items / 16;

// Bits of 512 items; the compiler takes as many registers for it as the processor needs.
using Line = std::uint64_t __attribute__((vector_size(64)));

#define VIZSLA_INLINE inline __attribute__((always_inline))

VIZSLA_INLINE void read(const std::uint16_t* words, Line& line) { __builtin_memcpy(&line, words, sizeof(Line)); }

// Three bits become one, and one that is carried to the next digit.
VIZSLA_INLINE void add_two(Line& sum, const Line& one, const Line& two, Line& carry) {
  const Line before = sum;
  carry = (before & one) | (two & (before | one));
  sum = before ^ one ^ two;
}

// What is carried is added to the next digit at once, and what that carries is for the one after it.
VIZSLA_INLINE void add_four(Line& sum, Line& next, const Line (&four)[4], Line& carry) {
  Line one, two;
  add_two(sum, four[0], four[1], one);
  add_two(sum, four[2], four[3], two);
  add_two(next, one, two, carry);
}

#undef VIZSLA_INLINE

// Which bitmaps count in which digit, the lowest digit first.
struct Plan {
  const std::uint16_t* const* inputs;  // by digit: a bitmap for every digit that its weight has
  const std::uint32_t* ends;           // of each digit's inputs
  std::size_t digits;
  Line* carries;     // room for three times `room` lines
  std::size_t room;  // more than bitmaps, by eight
};

inline constexpr std::size_t ahead = 4;  // lines that are asked for from memory before they are added

// Adds up the bitmaps' words from `first` on, a line, and writes the digits of the sums, `stride` words apart.
VIZSLA_CLONES static void add_line(const Plan& plan, std::size_t first, std::uint16_t* digits, std::size_t stride) {
  std::size_t carried[3] = {0, 0, 0};  // to this digit, the next, and the one after it, by turns
  const std::uint16_t* const* input = plan.inputs;
  Line next = {}, four[4];
  for (std::size_t digit = 0; digit < plan.digits; ++digit) {
    const std::size_t turn = digit % 3, later = (digit + 1) % 3, last = (digit + 2) % 3;
    Line* const here = plan.carries + turn * plan.room;
    Line* out = plan.carries + last * plan.room;
    Line sum = next;
    next = Line{};
    const std::uint16_t* const* const end = plan.inputs + plan.ends[digit];
    for (; end - input >= 4; input += 4) {
      for (int i = 0; i < 4; ++i) __builtin_prefetch(input[i] + first + ahead * line_words, 0, 2);
      for (int i = 0; i < 4; ++i) read(input[i] + first, four[i]);
      add_four(sum, next, four, *out++);
    }
    std::size_t count = carried[turn], i = 0;
    for (; input < end; ++input) read(*input + first, here[count++]);
    for (; count - i >= 4; i += 4) {
      for (std::size_t j = 0; j < 4; ++j) four[j] = here[i + j];
      add_four(sum, next, four, *out++);
    }
    for (; i < count; ++i) {
      plan.carries[later * plan.room + carried[later]++] = sum & here[i];
      sum ^= here[i];
    }
    carried[turn] = 0;
    carried[last] = static_cast<std::size_t>(out - (plan.carries + last * plan.room));
    __builtin_memcpy(digits + digit * stride, &sum, sizeof(Line));
  }
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
    const bag_slices::Plan plan{inputs_.data(), ends_.data(), digits(), &carries_.data()->line, room_};
    for (std::size_t word = 0; word < stride_; word += bag_slices::line_words)
      bag_slices::add_line(plan, first + word, slices_.data() + word, stride_);
    return last_;
  }

  // The sums, as bitmaps from the word that was first on, the number n with 2^n times the unit.
  std::size_t digits() const { return ends_.size(); }
  const std::uint16_t* digit(std::size_t number) const { return slices_.data() + number * stride_; }
  std::int32_t units(std::size_t number) const { return 1 << (static_cast<int>(number) + shift_); }

  // By how much an item's digits are above the units of the bitmaps that hold it.
  std::int32_t excess(std::uint32_t place) const {
    const std::size_t word = place / 16;
    if (word < first_ || word >= last_) return 0;
    std::int32_t above = 0;
    for (std::size_t i = 0; i < digits(); ++i) above += (digit(i)[word - first_] >> (place % 16) & 1) * units(i);
    for (const Taken& one : taken_) above -= (one.bitmap[word] >> (place % 16) & 1) * one.units;
    return above;
  }

 private:
  struct Taken {
    const std::uint16_t* bitmap;
    std::int32_t units;
  };
  struct alignas(64) Room {
    bag_slices::Line line;
  };

  std::uint32_t rounded(const Taken& one) const { return static_cast<std::uint32_t>((one.units + (1 << shift_) - 1) >> shift_); }

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
    for (const Taken& one : taken_)
      for (std::uint32_t bits = rounded(one); bits != 0; bits &= bits - 1) inputs_[counts[std::countr_zero(bits)]++] = one.bitmap;
    room_ = taken_.size() + 8;  // a third of the bitmaps at most is carried to a digit, and a few more wait for it
    if (carries_.size() < 3 * room_) carries_.resize(3 * room_);
  }

  int shift_ = 0;
  std::size_t first_ = 0, last_ = 0, stride_ = 0, room_ = 0;
  std::vector<Taken> taken_;
  std::vector<const std::uint16_t*> inputs_;
  std::vector<std::uint32_t> ends_;
  std::vector<std::uint16_t> slices_;
  std::vector<Room> carries_;
};

}  // namespace vizsla
