// A Bloom filter of a query's features with one hash: ten bits of a feature rule out nearly all that the query lacks.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "common/instructions.hpp"
#include "common/lane_sets.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define VIZSLA_FEATURE_BLOOM_X86
#endif

namespace vizsla {

class FeatureBloom {
 public:
  static constexpr std::size_t most = 64;
  static constexpr std::size_t beyond = 16;
  static constexpr std::size_t bytes_beyond = 64;  // so many behind what is given can be read

  void add(std::uint32_t feature) {
    words_[word(feature)] = static_cast<std::uint16_t>(words_[word(feature)] | bit(feature));
  }
  void clear() { words_.fill(0); }

  // Writes the lower 16 bits of those that the query may have, above them the lower 16 bits of their places, and
  // returns how many; there is room for as many as are given and `beyond` more. Nothing is guessed, as the numbers of
  // such features differ from leaf to leaf.
  std::size_t keep(const std::uint8_t* halves, std::size_t count, std::uint32_t* kept,
                   Instructions allowed = Instructions::avx512) const {
#ifdef VIZSLA_FEATURE_BLOOM_X86
    const Instructions here = instructions_here(allowed);
    if (here >= Instructions::avx512) return keep_avx512(halves, count, kept);
    if (here == Instructions::avx2) return keep_avx2(halves, count, kept);
#endif
    return keep_plain(halves, count, kept);
  }

  // A bit for each of up to `most` features, of which the lower 16 bits are given one after another.
  std::uint64_t among(const std::uint8_t* halves, std::size_t count,
                      Instructions allowed = Instructions::avx512) const {
#ifdef VIZSLA_FEATURE_BLOOM_X86
    const Instructions here = instructions_here(allowed);
    if (here >= Instructions::avx512) return among_avx512(halves, count);
    if (here == Instructions::avx2) return among_avx2(halves, count);
#endif
    return among_plain(halves, count);
  }

 private:
  static constexpr std::size_t words = 64;

  static std::size_t word(std::uint32_t feature) { return feature / 16 % words; }
  static unsigned bit(std::uint32_t feature) { return 1U << feature % 16; }

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

  std::uint64_t among_plain(const std::uint8_t* halves, std::size_t count) const {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint16_t half;
      std::memcpy(&half, halves + i * sizeof half, sizeof half);
      found |= std::uint64_t{(words_[word(half)] & bit(half)) != 0} << i;
    }
    return found;
  }

#ifdef VIZSLA_FEATURE_BLOOM_X86
  static std::uint32_t lanes_of(std::size_t count) {
    return count >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << count) - 1;
  }

  __attribute__((target("avx2"))) std::uint64_t among_avx2(const std::uint8_t* halves, std::size_t count) const {
    std::uint64_t found = 0;
    for (std::size_t first = 0; first < count; first += 32) {
      found |= std::uint64_t{likely_avx2(halves + first * sizeof(std::uint16_t), count - first)} << first;
    }
    return found;
  }

  __attribute__((target("avx2,popcnt"))) std::size_t keep_avx2(const std::uint8_t* halves, std::size_t count,
                                                               std::uint32_t* kept) const {
    std::size_t found = 0;
    __m256i places = _mm256_slli_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), 16);
    for (std::size_t first = 0; first < count; first += 32) {
      const std::uint8_t* const given = halves + first * sizeof(std::uint16_t);
      const std::uint32_t likely = likely_avx2(given, count - first);
      for (unsigned eight = 0; eight < 4; ++eight) {
        found += keep_eight_avx2(given + eight * 16, places, likely >> 8 * eight & 0xFF, kept + found);
        places = _mm256_add_epi32(places, _mm256_set1_epi32(8 << 16));
      }
    }
    return found;
  }

  // Of 32 features at once: the bytes of all words lie in eight tables of sixteen, and an index that is not in a table
  // picks 0 of it.
  __attribute__((target("avx2"))) std::uint32_t likely_avx2(const std::uint8_t* given, std::size_t count) const {
    const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(given));
    const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(given + 32));
    const __m256i byte = _mm256_set1_epi16(127), eight = _mm256_set1_epi16(7);
    const __m256i at = bytes_avx2(_mm256_and_si256(_mm256_srli_epi16(first, 3), byte),
                                  _mm256_and_si256(_mm256_srli_epi16(second, 3), byte));
    const __m256i one_of = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ULL));
    const __m256i bits =
        _mm256_shuffle_epi8(one_of, bytes_avx2(_mm256_and_si256(first, eight), _mm256_and_si256(second, eight)));
    __m256i picked = _mm256_setzero_si256();
    for (int table = 0; table < 8; ++table) {
      const __m128i held = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words_.data()) + table);
      const __m256i in_table = _mm256_adds_epu8(_mm256_xor_si256(at, _mm256_set1_epi8(static_cast<char>(table << 4))),
                                                _mm256_set1_epi8(0x70));
      picked = _mm256_or_si256(picked, _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(held), in_table));
    }
    const __m256i likely = _mm256_cmpeq_epi8(_mm256_and_si256(picked, bits), bits);
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(likely)) & lanes_of(count);
  }

  // 32 numbers below 256, as they come.
  __attribute__((target("avx2"))) static __m256i bytes_avx2(__m256i first, __m256i second) {
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(first, second), 0xD8);
  }

  __attribute__((target("avx2,popcnt"))) static std::size_t keep_eight_avx2(const std::uint8_t* given, __m256i places,
                                                                            unsigned likely, std::uint32_t* kept) {
    const __m256i halves = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(given)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(kept), lanes_first_avx2(_mm256_or_si256(halves, places), likely));
    return static_cast<std::size_t>(std::popcount(likely));
  }

  __attribute__((target("avx512f,avx512bw"))) std::uint64_t among_avx512(const std::uint8_t* halves,
                                                                         std::size_t count) const {
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
      found += keep_half_avx512(_mm512_maskz_extracti64x4_epi64(0xF, given, 1), places,
                                static_cast<__mmask16>(likely >> 16), kept + found);
      places = _mm512_add_epi32(places, sixteen);
    }
    return found;
  }

  __attribute__((target("avx512f,avx512bw"))) static __m512i given_avx512(const std::uint8_t* halves, std::size_t count,
                                                                          std::size_t first) {
    return _mm512_maskz_loadu_epi16(lanes_of(count - first), halves + first * sizeof(std::uint16_t));
  }

  // All words lie in two registers, from which 32 are picked at once.
  __attribute__((target("avx512f,avx512bw"))) __mmask32 likely_avx512(__m512i given, std::size_t count) const {
    const __m512i low = _mm512_loadu_si512(words_.data()), high = _mm512_loadu_si512(words_.data() + 32);
    const __m512i picked = _mm512_permutex2var_epi16(low, _mm512_srli_epi16(given, 4), high);
    const __m512i bits = _mm512_sllv_epi16(_mm512_set1_epi16(1), _mm512_and_si512(given, _mm512_set1_epi16(15)));
    return _mm512_mask_test_epi16_mask(lanes_of(count), picked, bits);
  }

  __attribute__((target("avx512f,avx512bw"))) static std::size_t keep_half_avx512(__m256i given, __m512i places,
                                                                                  __mmask16 likely,
                                                                                  std::uint32_t* kept) {
    const __m512i wide = _mm512_or_si512(_mm512_maskz_cvtepu16_epi32(0xFFFF, given), places);
    _mm512_storeu_si512(kept, _mm512_maskz_compress_epi32(likely, wide));
    return static_cast<std::size_t>(std::popcount(static_cast<unsigned>(likely)));
  }
#endif

  std::array<std::uint16_t, words> words_{};
};

}  // namespace vizsla
