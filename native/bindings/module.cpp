// The native core as a Python module: each kernel's file registers itself.
#include <nanobind/nanobind.h>

#include "bindings/register.hpp"

NB_MODULE(_native, module) {
  module.doc() = "Vizsla's native core.";
  vizsla::register_candidates(module);
  vizsla::register_dense(module);
  vizsla::register_entries(module);
  vizsla::register_strings(module);
  vizsla::register_ngrams(module);
  vizsla::register_postings(module);
  vizsla::register_pq(module);
  vizsla::register_text(module);
  vizsla::register_tree_search(module);
  vizsla::register_tree_training(module);
  vizsla::register_votes(module);
}
