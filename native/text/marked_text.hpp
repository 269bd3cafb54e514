// A text as its words between marks, "#artistic#iphone#6s#": there every n-gram is a run of bytes, so that none has to
// be put together. No word holds a mark, which makes the n-grams of different words differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "text/words.hpp"

namespace vizsla {

class MarkedText {
 public:
  static constexpr char mark = '#';

  void read(std::string_view text, bool lower) {
    if (text.size() > INT32_MAX) throw std::length_error("a text must be shorter than 2^31 bytes");
    // Half as many bytes again for lower case (see WordBuffer), and at most a mark for every second byte.
    const std::size_t wanted = 2 * text.size() + 2 + WordBuffer::padding;
    if (bytes_.size() < wanted) bytes_.resize(wanted);
    bytes_[0] = mark;
    marks_.assign(1, 0);
    for_each_word(text, lower, word_, [this](std::string_view word) { append(word); });
  }

  std::size_t words() const { return marks_.size() - 1; }
  std::size_t bytes() const { return marks_.back() + 1; }

  // These may be read WordBuffer::padding bytes past their end.
  std::string_view unigram(std::size_t word) const { return between(marks_[word] + 1, marks_[word + 1]); }
  std::string_view bigram(std::size_t word) const { return between(marks_[word] + 1, marks_[word + 2]); }
  std::string_view marked(std::size_t word) const { return between(marks_[word], marks_[word + 1] + 1); }

 private:
  std::string_view between(std::size_t begin, std::size_t end) const { return {bytes_.data() + begin, end - begin}; }

  void append(std::string_view word) {
    char* const at = bytes_.data() + marks_.back() + 1;
    std::memcpy(at, word.data(), word.size());
    at[word.size()] = mark;
    marks_.push_back(marks_.back() + 1 + word.size());
  }

  WordBuffer word_;
  std::vector<char> bytes_;
  std::vector<std::size_t> marks_;
};

// Calls emit for every run of three characters in a word between its marks: at least one, since no word is empty.
template <class Emit>
void for_each_trigram(std::string_view marked, Emit&& emit) {
  const auto next = [](const char* at) {
    const auto lead = static_cast<unsigned char>(*at);
    return at + (lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4);
  };
  const char* const end = marked.data() + marked.size();
  const char* begin = marked.data();
  const char* second = next(begin);
  for (const char* third = next(second); third < end;) {
    const char* const after = next(third);
    emit(std::string_view(begin, static_cast<std::size_t>(after - begin)));
    begin = second;
    second = third;
    third = after;
  }
}

}  // namespace vizsla
