#pragma once

#include <nanobind/nanobind.h>

namespace vizsla {

void register_bag(nanobind::module_& module);
void register_candidates(nanobind::module_& module);
void register_column_sums(nanobind::module_& module);
void register_csv(nanobind::module_& module);
void register_documents(nanobind::module_& module);
void register_dense(nanobind::module_& module);
void register_entries(nanobind::module_& module);
void register_cursor_sum(nanobind::module_& module);
void register_spelling(nanobind::module_& module);
void register_strings(nanobind::module_& module);
void register_live_postings(nanobind::module_& module);
void register_max_sim(nanobind::module_& module);
void register_ngrams(nanobind::module_& module);
void register_compress_indices(nanobind::module_& module);
void register_pq(nanobind::module_& module);
void register_postings(nanobind::module_& module);
void register_text(nanobind::module_& module);
void register_tree_training(nanobind::module_& module);

void register_tree_search(nanobind::module_& module);
void register_votes(nanobind::module_& module);
void register_word_stream(nanobind::module_& module);
void register_wordpiece(nanobind::module_& module);

}  // namespace vizsla
