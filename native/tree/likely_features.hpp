// Which of many features a query may have: ten bits of a feature rule out nearly all that it has not.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define VIZSLA_LIKELY_FEATURES_AVX512
#endif

namespace vizsla {

class LikelyFeatures {
 public:
  static constexpr std::size_t most = 64;
  static constexpr std::size_t beyond = 16;

  void add(std::uint32_t feature) { words_[word(feature)] = static_cast<std::uint16_t>(words_[word(feature)] | bit(feature)); }
  void clear() { words_.fill(0); }

  // Writes the lower 16 bits of those that the query may have, above them the lower 16 bits of their places, and returns how
  // many; there is room for as many as are given and `beyond` more. Nothing is guessed, as the numbers of such features differ
  // from leaf to leaf.
  std::size_t keep(const std::uint8_t* halves, std::size_t count, std::uint32_t* kept) const {
#ifdef VIZSLA_LIKELY_FEATURES_AVX512
    static const bool here = __builtin_cpu_supports("avx512bw");
    if (here) return keep_avx512(halves, count, kept);
#endif
    return keep_plain(halves, count, kept);
  }

  std::size_t keep_plain(const std::uint8_t* halves, std::size_t count, std::uint32_t* kept) const {
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint16_t half;
      std::memcpy(&half, halves + i * sizeof half, sizeof half);
      kept[found] = half | static_cast<std::uint32_t>(i) << 16;
      found += (words_[word(half)] & bit(half)) != 0;
    }
    return found;
  }

  // A bit for each of up to `most` features, of which the lower 16 bits are given one after another.
  std::uint64_t among(const std::uint8_t* halves, std::size_t count) const {
#ifdef VIZSLA_LIKELY_FEATURES_AVX512
    static const bool here = __builtin_cpu_supports("avx512bw");
    if (here) return among_avx512(halves, count);
#endif
    return among_plain(halves, count);
  }

  std::uint64_t among_plain(const std::uint8_t* halves, std::size_t count) const {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint16_t half;
      std::memcpy(&half, halves + i * sizeof half, sizeof half);
      found |= std::uint64_t{(words_[word(half)] & bit(half)) != 0} << i;
    }
    return found;
  }

 private:
  static constexpr std::size_t words = 64;

  static std::size_t word(std::uint32_t feature) { return feature / 16 % words; }
  static unsigned bit(std::uint32_t feature) { return 1U << feature % 16; }

#ifdef VIZSLA_LIKELY_FEATURES_AVX512
  __attribute__((target("avx512f,avx512bw"))) std::uint64_t among_avx512(const std::uint8_t* halves, std::size_t count) const {
    std::uint64_t found = 0;
    for (std::size_t first = 0; first < count; first += 32) {
      found |= std::uint64_t{likely_avx512(given_avx512(halves, count, first), count - first)} << first;
    }
    return found;
  }

  __attribute__((target("avx512f,avx512bw"))) std::size_t keep_avx512(const std::uint8_t* halves, std::size_t count,
                                                                      std::uint32_t* kept) const {
    std::size_t found = 0;
    const __m512i sixteen = _mm512_set1_epi32(16 << 16);
    __m512i places = _mm512_slli_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), 16);
    for (std::size_t first = 0; first < count; first += 32) {
      const __m512i given = given_avx512(halves, count, first);
      const __mmask32 likely = likely_avx512(given, count - first);
      found += keep_half_avx512(_mm512_castsi512_si256(given), places, static_cast<__mmask16>(likely), kept + found);
      places = _mm512_add_epi32(places, sixteen);
      found += keep_half_avx512(_mm512_maskz_extracti64x4_epi64(0xF, given, 1), places, static_cast<__mmask16>(likely >> 16), kept + found);
      places = _mm512_add_epi32(places, sixteen);
    }
    return found;
  }

  static __mmask32 lanes_of(std::size_t count) { return count >= 32 ? ~__mmask32{0} : (__mmask32{1} << count) - 1; }

  __attribute__((target("avx512f,avx512bw"))) static __m512i given_avx512(const std::uint8_t* halves, std::size_t count, std::size_t first) {
    return _mm512_maskz_loadu_epi16(lanes_of(count - first), halves + first * sizeof(std::uint16_t));
  }

  // All words lie in two registers, from which 32 are picked at once.
  __attribute__((target("avx512f,avx512bw"))) __mmask32 likely_avx512(__m512i given, std::size_t count) const {
    const __m512i low = _mm512_loadu_si512(words_.data()), high = _mm512_loadu_si512(words_.data() + 32);
    const __m512i picked = _mm512_permutex2var_epi16(low, _mm512_srli_epi16(given, 4), high);
    const __m512i bits = _mm512_sllv_epi16(_mm512_set1_epi16(1), _mm512_and_si512(given, _mm512_set1_epi16(15)));
    return _mm512_mask_test_epi16_mask(lanes_of(count), picked, bits);
  }

  __attribute__((target("avx512f,avx512bw"))) static std::size_t keep_half_avx512(__m256i given, __m512i places, __mmask16 likely,
                                                                                  std::uint32_t* kept) {
    const __m512i wide = _mm512_or_si512(_mm512_maskz_cvtepu16_epi32(0xFFFF, given), places);
    _mm512_storeu_si512(kept, _mm512_maskz_compress_epi32(likely, wide));
    return static_cast<std::size_t>(std::popcount(static_cast<unsigned>(likely)));
  }
#endif

  std::array<std::uint16_t, words> words_{};
};

}  // namespace vizsla
