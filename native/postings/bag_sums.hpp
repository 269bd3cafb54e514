// The inner loops of a bag search: adding lists to sums, and finding the sums that pass.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "common/clones.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define VIZSLA_BAG_AVX2 1
#endif

namespace vizsla::bag_sums {

#ifdef VIZSLA_BAG_AVX2
inline bool has_avx2() {
  static const bool here = __builtin_cpu_supports("avx2");
  return here;
}

inline bool has_avx512() {
  static const bool here = __builtin_cpu_supports("avx512f");
  return here;
}
#else
inline bool has_avx512() { return false; }
#endif

// Adds `units` to the sums of the places below `stop`, and returns the first that is not.
inline const std::uint16_t* add_places(const std::uint16_t* at, const std::uint16_t* end, std::uint32_t stop,
                                       std::int32_t units, std::int32_t* sums) {
  // Sixteen at a time while even the last of them is below.
  while (end - at >= 16 && at[15] < stop) {
    for (int i = 0; i < 16; ++i) sums[at[i]] += units;
    at += 16;
  }
  for (; at < end && *at < stop; ++at) sums[*at] += units;
  return at;
}

// Up to four bitmaps, added in one pass over the sums.
struct Bits {
  static constexpr std::size_t most = 4;
  const std::uint16_t* words[most];
  std::int32_t units[most];
  std::size_t count = 0;

  bool full() const { return count == most; }
  void take(const std::uint16_t* bitmap, std::int32_t weight) {
    words[count] = bitmap;
    units[count++] = weight;
  }
};

inline void add_bits_plain(const Bits& bits, std::size_t first, std::size_t last, std::int32_t* sums) {
  for (std::size_t word = first; word < last; ++word) {
    for (std::size_t list = 0; list < bits.count; ++list) {
      for (std::uint32_t set = bits.words[list][word]; set != 0; set &= set - 1)
        sums[16 * word + static_cast<std::size_t>(std::countr_zero(set))] += bits.units[list];
    }
  }
}

#ifdef VIZSLA_BAG_AVX2
template <std::size_t lists>
__attribute__((target("avx2"))) inline void add_words_avx2(const Bits& bits, std::size_t first, std::size_t last,
                                                           std::int32_t* sums) {
  const __m256i low = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i high = _mm256_slli_epi32(low, 8);
  __m256i units[lists];
  for (std::size_t list = 0; list < lists; ++list) units[list] = _mm256_set1_epi32(bits.units[list]);
  for (std::size_t word = first; word < last; ++word) {
    auto* at = reinterpret_cast<__m256i*>(sums + 16 * word);
    __m256i one = _mm256_loadu_si256(at), two = _mm256_loadu_si256(at + 1);
    for (std::size_t list = 0; list < lists; ++list) {
      const __m256i set = _mm256_set1_epi32(bits.words[list][word]);
      const __m256i in_one = _mm256_cmpeq_epi32(_mm256_and_si256(set, low), low);
      const __m256i in_two = _mm256_cmpeq_epi32(_mm256_and_si256(set, high), high);
      one = _mm256_add_epi32(one, _mm256_and_si256(in_one, units[list]));
      two = _mm256_add_epi32(two, _mm256_and_si256(in_two, units[list]));
    }
    _mm256_storeu_si256(at, one);
    _mm256_storeu_si256(at + 1, two);
  }
}

// A word of a bitmap is a mask of sixteen sums: one addition a word.
template <std::size_t lists>
__attribute__((target("avx512f"))) inline void add_words_avx512(const Bits& bits, std::size_t first, std::size_t last,
                                                                std::int32_t* sums) {
  __m512i units[lists];
  for (std::size_t list = 0; list < lists; ++list) units[list] = _mm512_set1_epi32(bits.units[list]);
  for (std::size_t word = first; word < last; ++word) {
    __m512i sum = _mm512_loadu_si512(sums + 16 * word);
    for (std::size_t list = 0; list < lists; ++list)
      sum = _mm512_mask_add_epi32(sum, bits.words[list][word], sum, units[list]);
    _mm512_storeu_si512(sums + 16 * word, sum);
  }
}

using AddWords = void (*)(const Bits&, std::size_t, std::size_t, std::int32_t*);
inline constexpr AddWords by_count_avx2[] = {add_words_avx2<1>, add_words_avx2<2>, add_words_avx2<3>,
                                             add_words_avx2<4>};
inline constexpr AddWords by_count_avx512[] = {add_words_avx512<1>, add_words_avx512<2>, add_words_avx512<3>,
                                               add_words_avx512<4>};
#endif

// Adds each list's units to the sums whose bits are set, in words from `first` to `last`, and forgets the lists.
inline void add_bits(Bits& bits, std::size_t first, std::size_t last, std::int32_t* sums) {
#ifdef VIZSLA_BAG_AVX2
  const AddWords* const ways = has_avx512() ? by_count_avx512 : has_avx2() ? by_count_avx2 : nullptr;
  if (bits.count == 0) return;
  if (ways != nullptr) {
    ways[bits.count - 1](bits, first, last, sums);
    bits.count = 0;
    return;
  }
#endif
  add_bits_plain(bits, first, last, sums);
  bits.count = 0;
}

// The digits of whole numbers below 2^16, as bitmaps that lie `stride` words apart, each number in units of 2^shift.
struct Digits {
  static constexpr std::size_t most = 16;
  const std::uint16_t* words;
  std::size_t stride, count;
  int shift;
};

// A byte's bits as eight bytes.
inline constexpr auto spread_bits = [] {
  std::array<std::uint64_t, 256> table{};
  for (std::uint64_t byte = 0; byte < 256; ++byte)
    for (std::uint64_t bit = 0; bit < 8; ++bit) table[byte] |= (byte >> bit & 1) << 8 * bit;
  return table;
}();

inline void add_digits_plain(const Digits& digits, std::size_t words, std::int32_t* sums) {
  for (std::size_t word = 0; word < words; ++word) {
    std::uint64_t low[2] = {0, 0}, high[2] = {0, 0};  // eight items each
    for (std::size_t i = 0; i < digits.count; ++i) {
      const std::uint32_t bits = digits.words[i * digits.stride + word];
      std::uint64_t* const into = i < 8 ? low : high;
      into[0] |= spread_bits[bits & 255] << i % 8;
      into[1] |= spread_bits[bits >> 8] << i % 8;
    }
    for (std::size_t item = 0; item < 16; ++item) {
      const std::uint64_t at = item % 8 * 8;
      const auto number = static_cast<std::int32_t>((low[item / 8] >> at & 255) | (high[item / 8] >> at & 255) << 8);
      sums[16 * word + item] += number << digits.shift;
    }
  }
}

#ifdef VIZSLA_BAG_AVX2
// Up to eight digits of 32 items, from the number `begin` on, as bytes.
__attribute__((target("avx2"))) inline __m256i byte_of_digits(const Digits& digits, std::size_t begin,
                                                              std::size_t word) {
  const __m256i bytes = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i each = _mm256_set1_epi64x(static_cast<std::int64_t>(0x8040201008040201));
  __m256i numbers = _mm256_setzero_si256(), digit = _mm256_set1_epi8(1);
  for (std::size_t i = begin; i < std::min(digits.count, begin + 8); ++i) {
    std::int32_t bits;
    __builtin_memcpy(&bits, digits.words + i * digits.stride + word, sizeof(bits));
    const __m256i spread = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(bits), bytes), each);
    numbers = _mm256_or_si256(numbers, _mm256_and_si256(_mm256_cmpeq_epi8(spread, each), digit));
    digit = _mm256_add_epi8(digit, digit);
  }
  return numbers;
}

__attribute__((target("avx2"))) inline void add_eight(__m128i numbers, __m128i shift, std::int32_t* sums) {
  auto* const at = reinterpret_cast<__m256i*>(sums);
  const __m256i added = _mm256_sll_epi32(_mm256_cvtepu16_epi32(numbers), shift);
  _mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), added));
}

__attribute__((target("avx2"))) inline void add_digits_avx2(const Digits& digits, std::size_t words,
                                                            std::int32_t* sums) {
  const __m128i shift = _mm_cvtsi32_si128(digits.shift);
  for (std::size_t word = 0; word < words; word += 2) {
    const __m256i low = byte_of_digits(digits, 0, word), high = byte_of_digits(digits, 8, word);
    const __m256i even = _mm256_unpacklo_epi8(low, high), odd = _mm256_unpackhi_epi8(low, high);
    std::int32_t* const at = sums + 16 * word;
    add_eight(_mm256_castsi256_si128(even), shift, at);
    add_eight(_mm256_castsi256_si128(odd), shift, at + 8);
    add_eight(_mm256_extracti128_si256(even, 1), shift, at + 16);
    add_eight(_mm256_extracti128_si256(odd, 1), shift, at + 24);
  }
}
#endif

// Adds the numbers to the sums; `words` is even. Sixteen sums under a digit's mask, as AVX-512 has it, were slower than
// bytes.
inline void add_digits(const Digits& digits, std::size_t words, std::int32_t* sums) {
#ifdef VIZSLA_BAG_AVX2
  if (has_avx2()) return add_digits_avx2(digits, words, sums);
#endif
  add_digits_plain(digits, words, sums);
}

inline constexpr std::size_t group = 64;

struct Pass {
  std::int32_t more;  // what a sum may still get
  float largest;      // no norm is above
  float passing;      // what a sum times its norm must be above

  // No sum up to this passes, whatever its norm; a little lower than that, as roundings may be.
  std::int32_t too_low() const {
    const double low = double{passing} / double{largest} * (1 - 1e-6) - more - 1;
    return low > 0 ? static_cast<std::int32_t>(low < 1e9 ? low : 1e9) : -1;
  }
};

// Writes the numbers of the groups in which any sum passes, and returns how many they are. Norms are only looked at
// where the sums allow it. Floats that are not negative are ordered as their bits are, which lets the maximum be taken
// several at a time.
VIZSLA_CLONES static std::size_t passing_groups(const std::int32_t* sums, const float* norms, std::size_t groups,
                                                const Pass& pass, std::uint32_t* found) {
  const std::int32_t limit = std::bit_cast<std::int32_t>(pass.passing), more = pass.more, low = pass.too_low();
  std::size_t count = 0;
  for (std::size_t at = 0; at < groups; ++at) {
    std::int32_t largest = 0, most = 0;
    for (std::size_t i = at * group; i < (at + 1) * group; ++i) largest = sums[i] > largest ? sums[i] : largest;
    if (largest <= low) continue;
    for (std::size_t i = at * group; i < (at + 1) * group; ++i) {
      const std::int32_t bits = std::bit_cast<std::int32_t>(static_cast<float>(sums[i] + more) * norms[i]);
      most = bits > most ? bits : most;
    }
    found[count] = static_cast<std::uint32_t>(at);
    count += most > limit;
  }
  return count;
}

}  // namespace vizsla::bag_sums
