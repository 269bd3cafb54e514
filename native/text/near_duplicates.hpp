// Near duplicates by MinHash: one-permutation signatures of word shingles (Li, Owen and Zhang, 2012; empty bins are
// filled by rotation, Shrivastava and Li, 2014), found by bands of equal bins.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/checks.hpp"
#include "common/hash.hpp"
#include "text/tokens.hpp"

namespace vizsla {

class NearDuplicates {
 public:
  static constexpr std::size_t BINS = 128, BANDS = 16, SHINGLE = 4;
  using Signature = std::array<std::uint16_t, BINS>;

  // `similarity` is the share of equal bins, an estimate of the Jaccard similarity of the sets of shingles.
  explicit NearDuplicates(double similarity) : least_(similarity * static_cast<double>(BINS)) {
    require(similarity > 0 && similarity <= 1, "the similarity must be above 0 and at most 1");
  }

  // Returns the number of the first text that this one resembles: its own if it resembles none before.
  std::uint32_t add(std::string_view text) {
    require(count_ < std::numeric_limits<std::uint32_t>::max(), "there are too many texts");
    const std::uint32_t own = count_++;
    const Signature signature = signature_of(text);
    std::array<std::uint64_t, BANDS> keys{};
    std::size_t best = representatives_.size();
    double most = 0;
    for (std::size_t band = 0; band < BANDS; ++band) {
      keys[band] = key_of(signature, band);
      const auto found = bands_[band].find(keys[band]);
      if (found == bands_[band].end() || found->second == best) continue;
      const double same = equal_bins(signature, signatures_[found->second]);
      if (same >= least_ && (same > most || (same == most && found->second < best))) {
        best = found->second;
        most = same;
      }
    }
    if (best < representatives_.size()) return representatives_[best];
    for (std::size_t band = 0; band < BANDS; ++band) {
      bands_[band].emplace(keys[band], static_cast<std::uint32_t>(representatives_.size()));
    }
    representatives_.push_back(own);
    signatures_.push_back(signature);
    return own;
  }

  Signature signature_of(std::string_view text) {
    constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
    std::array<std::uint64_t, BINS> least{};
    least.fill(none);
    words_.clear();
    for_each_token(text, TokenRule{true, 0, 0, true}, buffer_,
                   [&](std::string_view word) { words_.push_back(hash_of(word.data(), word.size())); });
    const std::size_t width = std::min(SHINGLE, words_.size());
    for (std::size_t first = 0; first + width <= words_.size() && width > 0; ++first) {
      const std::uint64_t hash = hash_of(words_.data() + first, width * sizeof(std::uint64_t));
      std::uint64_t& bin = least[hash % BINS];
      bin = std::min(bin, hash / BINS);
    }
    Signature signature{};
    if (width == 0) return signature;
    for (std::size_t bin = 0; bin < BINS; ++bin) {
      std::size_t steps = 0;
      while (least[(bin + steps) % BINS] == none) ++steps;
      // Bins that are filled from afar differ from those that hold the value themselves.
      signature[bin] = static_cast<std::uint16_t>((least[(bin + steps) % BINS] + steps * 0x9E3779B97F4A7C15ULL) >> 20);
    }
    return signature;
  }

 private:
  static constexpr std::size_t ROWS = BINS / BANDS;

  static std::uint64_t hash_of(const void* bytes, std::size_t count) {
    return xxh64({static_cast<const std::uint8_t*>(bytes), count});
  }
  static std::uint64_t key_of(const Signature& signature, std::size_t band) {
    return hash_of(signature.data() + band * ROWS, ROWS * sizeof(std::uint16_t));
  }
  static double equal_bins(const Signature& a, const Signature& b) {
    std::size_t same = 0;
    for (std::size_t bin = 0; bin < BINS; ++bin) same += a[bin] == b[bin] ? 1U : 0U;
    return static_cast<double>(same);
  }

  double least_;
  std::uint32_t count_ = 0;
  std::vector<std::uint32_t> representatives_;
  std::vector<Signature> signatures_;
  std::array<std::unordered_map<std::uint64_t, std::uint32_t>, BANDS> bands_;
  std::vector<std::uint64_t> words_;
  WordBuffer buffer_;
};

}  // namespace vizsla
