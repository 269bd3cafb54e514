// What texts say for each of some columns (languages): the weights of their forms, added up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace vizsla {

// The weights that forms have, in rows that are filled up with zeros, so that they are added several at a time.
class Evidence {
 public:
  // `weights` has rows of `columns`; each form may have one of them (`row_of_form`, -1 for none).
  Evidence(std::span<const std::int32_t> row_of_form, std::span<const std::int32_t> weights, std::size_t columns)
      : row_of_form_(row_of_form), columns_(columns), width_((columns + lanes - 1) / lanes * lanes) {
    const std::size_t rows = columns == 0 ? 0 : weights.size() / columns;
    for (const std::int32_t row : row_of_form) {
      if (row >= 0 && static_cast<std::size_t>(row) >= rows)
        throw std::invalid_argument("row_of_form must hold rows of the weights");
    }
    weights_.assign(rows * width_, 0);
    sums_.resize(width_);
    for (std::size_t i = 0; i < rows * columns; ++i)
      weights_[i / columns * width_ + i % columns] = static_cast<float>(weights[i]);
  }

  // What a text's forms say, each as often as it is counted. Sums are exact up to 2^24, and more than enough beyond.
  void sum(std::span<const std::int32_t> forms, const float* counts, std::span<std::int32_t> sums) {
    find_speakers(forms, counts);
    std::fill(sums_.begin(), sums_.end(), 0.0F);
    for (const Speaker& speaker : speakers_)
      add(weights_.data() + static_cast<std::size_t>(speaker.row) * width_, speaker.count);
    constexpr float most = 1U << 30;
    for (std::size_t column = 0; column < columns_; ++column) {
      sums[column] = static_cast<std::int32_t>(std::clamp(sums_[column], -most, most));
    }
  }

 private:
  static constexpr std::size_t lanes = 8;

  struct Speaker {
    std::int32_t row;
    float count;
  };

  // Without a branch for each form, which would be guessed wrong as often as texts use function words.
  void find_speakers(std::span<const std::int32_t> forms, const float* counts) {
    speakers_.resize(forms.size());
    std::size_t found = 0;
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const std::int32_t row = row_of_form_[static_cast<std::size_t>(forms[i])];
      speakers_[found] = {row, counts[i]};
      found += row >= 0;
    }
    speakers_.resize(found);
  }

  void add(const float* weights, float count) {
    for (std::size_t column = 0; column < width_; column += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) sums_[column + lane] += count * weights[column + lane];
    }
  }

  std::span<const std::int32_t> row_of_form_;
  std::size_t columns_, width_;
  std::vector<float> weights_, sums_;
  std::vector<Speaker> speakers_;
};

// The column with the largest of a row's numbers (the first of equals), that number, and the next.
struct Strongest {
  std::vector<std::int32_t> column, first, second;
};

inline Strongest strongest(std::span<const std::int32_t> sums, std::size_t columns) {
  if (columns == 0 || sums.size() % columns != 0) throw std::invalid_argument("every row must have all columns");
  Strongest found;
  for (std::size_t row = 0; row < sums.size() / columns; ++row) {
    const auto* const said = sums.data() + row * columns;
    std::int32_t best = 0, first = said[0], second = INT32_MIN;
    for (std::size_t column = 1; column < columns; ++column) {
      second = std::max(second, std::min(first, said[column]));
      best = said[column] > first ? static_cast<std::int32_t>(column) : best;
      first = std::max(first, said[column]);
    }
    found.column.push_back(best);
    found.first.push_back(first);
    found.second.push_back(second);
  }
  return found;
}

}  // namespace vizsla
