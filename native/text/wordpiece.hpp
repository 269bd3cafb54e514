// WordPiece: the ids that BERT's tokenizers give a text, and the distinct ones with their counts.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/checks.hpp"
#include "text/string_table.hpp"
#include "text/vocabulary.hpp"
#include "text/wordpiece_normalizer.hpp"
#include "text/wordpiece_trie.hpp"

namespace vizsla {

struct WordPieceSettings {
  WordPieceRule rule;
  std::string prefix = "##";
  std::int32_t unknown = 0;
  std::size_t most_chars = 100;  // a longer word is unknown
};

class WordPiece {
 public:
  // `special` tokens are found in a text as they are written, before anything is done to it.
  WordPiece(const StringTable& tokens, std::span<const std::int32_t> special, const WordPieceSettings& settings)
      : settings_(settings),
        size_(tokens.size()),
        trie_(tokens, settings.prefix, 4 * settings.most_chars),
        normalizer_(WordPieceNormalizer::get(settings.rule)),
        is_special_(tokens.size(), 0) {
    require(tokens.size() <= INT32_MAX, "a vocabulary holds fewer than 2^31 tokens");
    require(settings.unknown >= 0 && static_cast<std::size_t>(settings.unknown) < tokens.size(),
            "the unknown token must be one of the vocabulary");
    is_special_[static_cast<std::size_t>(settings.unknown)] = 1;
    for (const std::int32_t id : special) {
      require(id >= 0 && static_cast<std::size_t>(id) < tokens.size(), "special tokens must be of the vocabulary");
      require(!tokens[static_cast<std::size_t>(id)].empty(), "special tokens must not be empty");
      is_special_[static_cast<std::size_t>(id)] = 1;
      special_.push_back({std::string(tokens[static_cast<std::size_t>(id)]), id});
    }
    // Of those that begin at the same place the longest counts.
    std::sort(special_.begin(), special_.end(),
              [](const auto& a, const auto& b) { return a.text.size() > b.text.size(); });
    for (const Special& one : special_) first_.push_back(one.text.front());
  }

  std::size_t size() const { return size_; }
  bool is_special(std::int32_t id) const { return is_special_[static_cast<std::size_t>(id)] != 0; }
  std::size_t bytes() const { return trie_.bytes(); }

  // Reads texts, and remembers the pieces of words it met: most words of a text are old acquaintances.
  class Reader {
   public:
    // Calls take(ids of a word) for every word and special token, in their order.
    template <class Take>
    void read(const WordPiece& model, std::string_view text, Take&& take) {
      for (std::size_t at = 0; at < text.size();) {
        const Found found = model.next_special(text, at);
        read_plain(model, text.substr(at, found.begin - at), take);
        if (found.special != nullptr) take(std::span(&found.special->id, 1));
        at = found.special == nullptr ? text.size() : found.begin + found.special->text.size();
      }
    }

   private:
    static constexpr std::size_t most_words = std::size_t{1} << 17;

    template <class Take>
    void read_plain(const WordPiece& model, std::string_view text, Take& take) {
      const std::string_view rewritten = model.normalizer_->rewrite(text, bytes_);
      const char* at = rewritten.data();
      for (const char* const end = at + rewritten.size(); at < end;) {
        const std::size_t size = bytes_before_less<1>(at);
        if (size > 0) take(pieces(model, std::string_view(at, size)));
        at += size + 1;
      }
    }

    // A word's notes in the table are its pieces: how many, and where in the pool; or the one piece itself, so that
    // most words cost one line of memory.
    std::span<const std::int32_t> pieces(const WordPiece& model, std::string_view word) {
      if (words_->size() >= most_words) forget();
      Vocabulary::Entry& entry = words_->at(word);
      if (entry.row == UINT32_MAX) learn(model, word, entry);
      static_assert(sizeof entry.place == sizeof(std::int32_t));
      if (entry.row == 1) return {reinterpret_cast<const std::int32_t*>(&entry.place), 1};
      return {pool_.data() + entry.place, entry.row};
    }

    void learn(const WordPiece& model, std::string_view word, Vocabulary::Entry& entry) {
      const std::size_t begin = pool_.size();
      model.cut(word, pool_);
      entry.row = static_cast<std::uint32_t>(pool_.size() - begin);
      entry.place = static_cast<std::uint32_t>(begin);
      if (entry.row == 1) {
        entry.place = static_cast<std::uint32_t>(pool_.back());
        pool_.pop_back();
      }
    }

    void forget() {
      words_ = std::make_unique<Vocabulary>();
      pool_.clear();
    }

    std::vector<char> bytes_;
    std::unique_ptr<Vocabulary> words_ = std::make_unique<Vocabulary>();
    std::vector<std::int32_t> pool_;
  };

 private:
  struct Special {
    std::string text;
    std::int32_t id;
  };

  struct Found {
    std::size_t begin;
    const Special* special;
  };

  Found next_special(std::string_view text, std::size_t from) const {
    if (special_.empty()) return {text.size(), nullptr};
    for (std::size_t at = text.find_first_of(first_, from); at != text.npos; at = text.find_first_of(first_, at + 1)) {
      for (const Special& one : special_)
        if (text.substr(at).starts_with(one.text)) return {at, &one};
    }
    return {text.size(), nullptr};
  }

  void cut(std::string_view word, std::vector<std::int32_t>& pieces) const {
    if (too_long(word) || !trie_.cut(word, pieces)) pieces.push_back(settings_.unknown);
  }

  bool too_long(std::string_view word) const {
    if (word.size() <= settings_.most_chars) return false;
    const auto chars = std::count_if(word.begin(), word.end(), [](char byte) { return !utf8::continues(byte); });
    return static_cast<std::size_t>(chars) > settings_.most_chars;
  }

  WordPieceSettings settings_;
  std::size_t size_;
  WordPieceTrie trie_;
  std::shared_ptr<const WordPieceNormalizer> normalizer_;
  std::vector<std::uint8_t> is_special_;
  std::vector<Special> special_;
  std::string first_;
};

// Distinct tokens of texts with their counts, without the special ones: an emoji that the vocabulary lacks says
// nothing.
class WordPieceRows {
 public:
  explicit WordPieceRows(std::size_t tokens)
      : counts_(tokens, 0), bits_((tokens + 63) / 64, 0), full_((bits_.size() + 63) / 64, 0) {}

  void add(const WordPiece& model, WordPiece::Reader& reader, std::string_view text) {
    reader.read(model, text, [&](std::span<const std::int32_t> pieces) {
      for (const std::int32_t id : pieces) count(static_cast<std::size_t>(id));
    });
    finish(model);
  }

  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> ids;
  std::vector<float> counts;

 private:
  // Bits, and bits of the words that hold any: reading them back is sorting, without comparisons.
  void count(std::size_t id) {
    ++counts_[id];
    bits_[id / 64] |= std::uint64_t{1} << id % 64;
    full_[id / 4096] |= std::uint64_t{1} << id / 64 % 64;
  }

  void finish(const WordPiece& model) {
    for (std::size_t i = 0; i < full_.size(); ++i) {
      for (std::uint64_t words = full_[i]; words != 0; words &= words - 1) {
        const std::size_t word = 64 * i + static_cast<std::size_t>(std::countr_zero(words));
        for (std::uint64_t set = bits_[word]; set != 0; set &= set - 1)
          take(model, 64 * word + static_cast<std::size_t>(std::countr_zero(set)));
        bits_[word] = 0;
      }
      full_[i] = 0;
    }
    offsets.push_back(static_cast<std::int64_t>(ids.size()));
  }

  void take(const WordPiece& model, std::size_t id) {
    if (!model.is_special(static_cast<std::int32_t>(id))) {
      ids.push_back(static_cast<std::int32_t>(id));
      counts.push_back(static_cast<float>(counts_[id]));
    }
    counts_[id] = 0;
  }

  std::vector<std::uint32_t> counts_;
  std::vector<std::uint64_t> bits_, full_;
};

}  // namespace vizsla
