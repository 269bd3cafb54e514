// XXH64, written from the public specification of the algorithm: one hash for checksums and string tables.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

namespace vizsla {

namespace xxh64_detail {

inline constexpr std::uint64_t prime1 = 0x9E3779B185EBCA87ULL;
inline constexpr std::uint64_t prime2 = 0xC2B2AE3D27D4EB4FULL;
inline constexpr std::uint64_t prime3 = 0x165667B19E3779F9ULL;
inline constexpr std::uint64_t prime4 = 0x85EBCA77C2B2AE63ULL;
inline constexpr std::uint64_t prime5 = 0x27D4EB2F165667C5ULL;

template <class Word>
inline Word read(const std::uint8_t* at) {
  static_assert(std::endian::native == std::endian::little, "vizsla supports little-endian machines");
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

inline std::uint64_t round(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * prime2, 31) * prime1;
}

inline std::uint64_t merge(std::uint64_t hash, std::uint64_t lane) { return (hash ^ round(0, lane)) * prime1 + prime4; }

inline std::uint64_t avalanche(std::uint64_t hash) {
  hash = (hash ^ (hash >> 33)) * prime2;
  hash = (hash ^ (hash >> 29)) * prime3;
  return hash ^ (hash >> 32);
}

}  // namespace xxh64_detail

inline std::uint64_t xxh64(std::span<const std::uint8_t> bytes, std::uint64_t seed = 0) {
  using namespace xxh64_detail;
  const std::uint8_t* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t hash = seed + prime5;
  if (left >= 32) {
    std::uint64_t lanes[4] = {seed + prime1 + prime2, seed + prime2, seed, seed - prime1};
    for (; left >= 32; left -= 32, at += 32) {
      for (int i = 0; i < 4; ++i) lanes[i] = round(lanes[i], read<std::uint64_t>(at + 8 * i));
    }
    hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
    for (std::uint64_t lane : lanes) hash = merge(hash, lane);
  }
  hash += bytes.size();
  for (; left >= 8; left -= 8, at += 8)
    hash = std::rotl(hash ^ round(0, read<std::uint64_t>(at)), 27) * prime1 + prime4;
  for (; left >= 4; left -= 4, at += 4) {
    hash = std::rotl(hash ^ (read<std::uint32_t>(at) * prime1), 23) * prime2 + prime3;
  }
  for (; left > 0; --left, ++at) hash = std::rotl(hash ^ (*at * prime5), 11) * prime1;
  return avalanche(hash);
}

}  // namespace vizsla
