// The terms that forms stand for: a stem in each language, or the form itself.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text/any_language.hpp"
#include "text/english.hpp"
#include "text/string_table.hpp"
#include "text/vocabulary.hpp"

namespace vizsla {

// The numbers of the forms that hold neither a digit nor an underscore: the others are found by their parts.
inline std::vector<std::int32_t> without_parts(const StringTable& forms) {
  std::vector<std::int32_t> found;
  for (std::size_t form = 0; form < forms.size(); ++form) {
    bool parts = false;
    for (const char byte : forms[form]) parts |= any_language::digit(byte) || byte == '_';
    if (!parts) found.push_back(static_cast<std::int32_t>(form));
  }
  return found;
}

// Numbers terms by their first occurrence, form by form.
class Fold {
 public:
  // There is a column for each language and, if `rooted`, a last one for the roots of English words. `dropped` has such
  // a row for each form: not 0 where it stands for nothing.
  Fold(const StringTable& forms, std::span<const std::uint8_t> dropped, std::size_t languages, bool rooted)
      : forms_(forms),
        dropped_(dropped),
        languages_(languages),
        columns_(languages + (rooted ? 1 : 0)),
        table_(dropped.size(), -1) {
    if (dropped.size() != forms.size() * columns_)
      throw std::invalid_argument("`dropped` must have a row for every form");
  }

  // The form is its own term.
  void keep(std::size_t form) {
    for (std::size_t column = 0; column < languages_; ++column) put(form, column, forms_[form]);
  }

  void put_english(std::size_t form, std::size_t column) {
    word_.assign(forms_[form]);
    english::uninflect(word_);
    put(form, column, word_);
    if (columns_ > languages_) put_root(form);
  }

  // A stem that has lost all its letters is of no use: the form stays.
  void put(std::size_t form, std::size_t column, std::string_view stem) {
    const std::size_t cell = form * columns_ + column;
    if (dropped_[cell] != 0) return;
    padded_.assign(stem.empty() ? forms_[form] : stem);
    const std::size_t size = padded_.size();
    if (size == 0) throw std::invalid_argument("a term must not be empty");
    padded_.append(WordBuffer::padding, ' ');
    table_[cell] = static_cast<std::int32_t>(terms_.at(std::string_view(padded_).substr(0, size)).number());
  }

  const Vocabulary& terms() const { return terms_; }
  std::vector<std::int32_t>& table() { return table_; }

 private:
  // A root that is the stem, too, would say nothing more.
  void put_root(std::size_t form) {
    english::take_root(forms_[form], word_, root_);
    if (root_ != word_) put(form, languages_, root_);
  }

  StringTable forms_;
  std::span<const std::uint8_t> dropped_;
  std::size_t languages_, columns_;
  std::vector<std::int32_t> table_;
  Vocabulary terms_;
  std::string padded_, word_, root_;
};

}  // namespace vizsla
