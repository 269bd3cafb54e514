// Unit tests of native/common: each compares with a plain computation by the standard library.
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string_view>
#include <vector>

#include "common/count_sorted.hpp"
#include "common/hash.hpp"
#include "common/radix_sort.hpp"
#include "common/select_k.hpp"
#include "common/topk.hpp"

namespace {

int failures = 0;

void check(bool holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  std::printf("common_test.cpp:%d: failed: %s\n", line, what);
}
#define CHECK(expression) check((expression), #expression, __LINE__)

std::mt19937_64 random_source{20240229};

std::uint64_t below(std::uint64_t bound) { return random_source() % bound; }

std::uint64_t hash_of(std::string_view text, std::uint64_t seed = 0) {
  return vizsla::xxh64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, seed);
}

// Published test vectors of XXH64.
void test_hash() {
  CHECK(hash_of("") == 0xEF46DB3751D8E999ULL);
  CHECK(hash_of("a") == 0xD24EC4F1A98C6E5BULL);
  CHECK(hash_of("abc") == 0x44BC2CF5AD770999ULL);
  CHECK(hash_of("Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1ULL);
}

// Ranking keys order by score, then by lower item number, and give both back.
void test_ranking_keys() {
  const std::array<float, 8> scores{-std::numeric_limits<float>::infinity(), -2.5F, -1e-30F, 0.0F, 1e-30F, 1.0F, 2.5F,
                                    std::numeric_limits<float>::infinity()};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    CHECK(vizsla::from_ordered_bits(vizsla::ordered_bits(scores[i])) == scores[i]);
    const std::uint64_t key = vizsla::signed_ranking_key(scores[i], 7);
    CHECK(vizsla::signed_score_of(key) == scores[i]);
    CHECK(vizsla::item_of(key) == 7);
    CHECK(vizsla::signed_ranking_key(scores[i], 6) > key);
    if (i > 0) CHECK(key > vizsla::signed_ranking_key(scores[i - 1], 0));
  }
  CHECK(vizsla::score_of(vizsla::ranking_key(0.25F, 3)) == 0.25F);
}

void test_keep_largest() {
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint64_t> keys(1 + below(400));
    const std::uint64_t kinds = round % 3 == 0 ? 4 : UINT64_MAX;  // many equal keys in every third round
    for (auto& key : keys) key = below(kinds);
    const std::size_t k = 1 + below(keys.size());
    std::vector<std::uint64_t> expected = keys, other(keys.size());
    std::sort(expected.begin(), expected.end(), std::greater<>());
    vizsla::select_k(keys, k, other.data());
    std::sort(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(k), std::greater<>());
    CHECK(std::equal(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(k), expected.begin()));
  }
}

void test_sort_down() {
  for (const std::size_t size : {0U, 1U, 2U, 127U, 128U, 129U, 1000U}) {
    std::vector<std::uint64_t> keys(size), other;
    for (std::size_t i = 0; i < size; ++i) keys[i] = random_source() / 2048 * 2048 + i;  // all different
    std::vector<std::uint64_t> expected = keys;
    std::sort(expected.begin(), expected.end(), std::greater<>());
    vizsla::sort_down(keys, other);
    CHECK(keys == expected);
  }
}

void test_radix_sort() {
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  for (const std::uint32_t bound : {1U, 2U, 255U, 256U, 257U, 70000U, UINT32_MAX}) {
    for (const std::size_t size : {0U, 1U, 16U, 17U, 500U}) {
      std::vector<Pair> values(size), spare;
      for (std::uint32_t i = 0; i < size; ++i) values[i] = {static_cast<std::uint32_t>(below(bound)), i};
      std::vector<Pair> expected = values;
      const auto by_key = [](const Pair& a, const Pair& b) { return a.first < b.first; };
      std::stable_sort(expected.begin(), expected.end(), by_key);
      vizsla::radix_sort(values, spare, bound, [](const Pair& value) { return value.first; });
      CHECK(values == expected);
    }
  }
}

void test_count_sorted() {
  for (const std::size_t size : {0U, 1U, 95U, 96U, 97U, 700U}) {
    for (const std::int32_t first : {0, -50, 1000}) {
      std::vector<std::int32_t> numbers(size);
      for (auto& number : numbers) number = first + static_cast<std::int32_t>(below(60));
      std::map<std::int32_t, std::size_t> expected, counted;
      for (const auto number : numbers) ++expected[number];
      vizsla::CountScratch scratch;
      std::int32_t last = std::numeric_limits<std::int32_t>::min();
      vizsla::count_sorted(numbers, first, 60, scratch, [&](std::int32_t number, std::size_t count) {
        CHECK(number > last);
        last = number;
        counted[number] = count;
      });
      CHECK(counted == expected);
    }
  }
}

}  // namespace

int main() {
  test_hash();
  test_ranking_keys();
  test_keep_largest();
  test_sort_down();
  test_radix_sort();
  test_count_sorted();
  if (failures == 0) std::printf("native/common: all tests passed\n");
  return failures == 0 ? 0 : 1;
}
