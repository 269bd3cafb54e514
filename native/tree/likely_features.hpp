// Which of many features a query may have: ten bits of a feature rule out nearly all that it has not.
#pragma once

#include <array>
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

  void add(std::uint32_t feature) { words_[word(feature)] = static_cast<std::uint16_t>(words_[word(feature)] | bit(feature)); }
  void clear() { words_.fill(0); }

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
  // All words lie in two registers, from which 32 are picked at once.
  __attribute__((target("avx512f,avx512bw"))) std::uint64_t among_avx512(const std::uint8_t* halves, std::size_t count) const {
    const __m512i low = _mm512_loadu_si512(words_.data()), high = _mm512_loadu_si512(words_.data() + 32);
    std::uint64_t found = 0;
    for (std::size_t first = 0; first < count; first += 32) {
      const auto lanes = static_cast<__mmask32>(count - first >= 32 ? ~0U : (1U << (count - first)) - 1);
      const __m512i given = _mm512_maskz_loadu_epi16(lanes, halves + first * sizeof(std::uint16_t));
      const __m512i picked = _mm512_permutex2var_epi16(low, _mm512_srli_epi16(given, 4), high);
      const __m512i bits = _mm512_sllv_epi16(_mm512_set1_epi16(1), _mm512_and_si512(given, _mm512_set1_epi16(15)));
      found |= std::uint64_t{_mm512_mask_test_epi16_mask(lanes, picked, bits)} << first;
    }
    return found;
  }
#endif

  std::array<std::uint16_t, words> words_{};
};

}  // namespace vizsla
