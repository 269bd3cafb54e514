// A cursor whose hits are converted to the scale and the item numbers of the sum it is part of.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "candidates/normalize.hpp"
#include "candidates/part_rows.hpp"
#include "candidates/search_cursor.hpp"
#include "common/checks.hpp"

namespace vizsla {

enum class Scaling { none, minmax, zscore, rank };

// A part's weight and scaling, and the maps between its item numbers and the sum's (empty: they are the same).
struct SumTerm {
  double weight;
  Scaling scaling;
  std::size_t depth;
  std::span<const std::int32_t> to_merged, from_merged;

  std::size_t wanted(std::size_t taken) const { return scaling == Scaling::none ? taken : std::max(taken, depth); }

  // Whether this part's list must be sorted: true for rank scaling, or if more than `taken` items were requested.
  bool by_order(std::size_t wanted, std::size_t taken) const {
    return scaling == Scaling::rank || wanted > taken || (scaling != Scaling::none && wanted > depth);
  }
};

class ScaledCursor {
 public:
  ScaledCursor(const SumTerm& term, CursorSource& source, std::size_t taken)
      : term_(term), wanted_(std::min(term.wanted(taken), source.items())), reads_along_(source.reads_along()) {
    const CursorUse use{term.scaling != Scaling::rank, term.by_order(wanted_, taken)};
    part_ = source.open(std::max<std::size_t>(wanted_, 1), use);
    if (term.scaling != Scaling::rank) return;
    for (std::size_t place = 0; place < wanted_; ++place) places_.push_back(reciprocal_place(place, term.depth));
  }

  double weight() const { return term_.weight; }
  bool by_rank() const { return term_.scaling == Scaling::rank; }
  bool renumbers() const { return !term_.to_merged.empty(); }
  bool reads_along() const { return reads_along_; }
  std::size_t wanted() const { return wanted_; }
  SearchCursor& part() { return *part_; }
  bool certain() const { return found_.certain; }

  // Searches, and converts the hits to the sum's item numbers and scale.
  void search(std::size_t row, const ScoreRequests& also) {
    part_->search(row, std::max<std::size_t>(wanted_, 1), also, found_);
    if (!found_.items.empty()) check(found_.highest), check(found_.lowest);
    number_as_merged();
    scale_ = scale();
    rescaled_.resize(found_.scores.size());
    if (by_rank()) std::copy_n(places_.begin(), rescaled_.size(), rescaled_.begin());
    else rescale_row(scale_, found_.scores, rescaled_.data());
    rescale_bounded(scale_, also.scores, also.bounds);
  }

  std::span<const std::int32_t> items() const { return found_.items; }
  std::span<const float> scores() const { return rescaled_; }

  // Prefetches items that other parts found, unless their numbers would have to be translated first.
  void expect(std::span<const std::int32_t> items) {
    if (!renumbers() && !by_rank() && part_->tells()) part_->expect(items);
  }

  void tell(const ScoreRequests& about) {
    part_->tell(about);
    rescale_bounded(scale_, about.scores, about.bounds);
  }

  void bound(std::span<const std::int32_t> items, std::span<float> bounds) {
    part_->bound(items, bounds);
    rescale_row(scale_, bounds, bounds.data());
  }

  void score(std::span<const std::int32_t> items, std::span<float> scores) {
    part_->score(items, scores);
    scored_ += items.size();
    for (const float score : scores) check(score);
    rescale_row(scale_, scores, scores.data());
  }

  // The lowest score found; infinity if nothing was found.
  float floor() const {
    if (found_.items.empty()) return std::numeric_limits<float>::infinity();
    return by_rank() ? rescaled_.back() : scale_.of(found_.lowest);
  }

  // The lowest score of the first `taken` items; the rest of the list does not exceed it.
  float lowest(std::size_t taken) const {
    if (rescaled_.size() <= taken) return floor();
    return *std::min_element(rescaled_.begin(), rescaled_.begin() + static_cast<std::ptrdiff_t>(taken));
  }

  // An upper bound for the items outside of the list.
  float ceiling() const { return found_.certain || by_rank() ? floor() : scale_.of(found_.ceiling); }

  std::int32_t own_number(std::int32_t item) const {
    return term_.from_merged.empty() ? item : translated(term_.from_merged, item, term_.to_merged.size());
  }

  std::uint64_t take_scored() { return std::exchange(scored_, 0); }

 private:
  // minmax and zscore need finite scores.
  void check(float score) const {
    require(!std::isnan(score), "scores must be numbers; got NaN");
    const bool scaled = term_.scaling == Scaling::minmax || term_.scaling == Scaling::zscore;
    require(
        !scaled || std::isfinite(score),
        "scores must be finite to be normalized; got infinity: clip them, or use normalized('rank'), which takes any");
  }

  // Maps are as long as the catalog, so entries are checked when used and not all at once per call.
  static std::int32_t translated(std::span<const std::int32_t> numbers, std::int32_t item, std::size_t most) {
    require(static_cast<std::size_t>(item) < numbers.size(), "every item must have a number in both catalogs");
    const std::int32_t number = numbers[static_cast<std::size_t>(item)];
    require(number >= 0 && static_cast<std::size_t>(number) < most, "every item must have a number in both catalogs");
    return number;
  }

  // Sorts ties by the sum's item numbers.
  void number_as_merged() {
    if (term_.to_merged.empty()) return;
    std::vector<std::int32_t>& items = found_.items;
    const std::vector<float>& scores = found_.scores;
    for (std::int32_t& item : items) item = translated(term_.to_merged, item, term_.from_merged.size());
    for (std::size_t first = 0, end = 0; first < items.size(); first = end) {
      for (end = first + 1; end < items.size() && scores[end] == scores[first];) ++end;
      if (end > first + 1) {
        std::sort(items.begin() + static_cast<std::ptrdiff_t>(first), items.begin() + static_cast<std::ptrdiff_t>(end));
      }
    }
  }

  RowScale scale() const {
    const auto ranked = std::span(found_.scores).first(std::min(term_.depth, found_.scores.size()));
    if (term_.scaling == Scaling::zscore) return zscore_scale(ranked);
    if (term_.scaling != Scaling::minmax) return {};
    if (ranked.size() < found_.scores.size() || ranked.empty()) return minmax_scale(ranked);
    const float ends[] = {found_.highest, found_.lowest};
    return minmax_scale(ends);
  }

  SumTerm term_;
  std::size_t wanted_;
  bool reads_along_;
  std::unique_ptr<SearchCursor> part_;
  std::vector<float> places_;  // by rank: what each gives
  CursorHits found_;
  RowScale scale_;
  std::vector<float> rescaled_;
  std::uint64_t scored_ = 0;
};

}  // namespace vizsla
