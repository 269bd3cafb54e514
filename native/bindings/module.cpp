// The native core as a Python module: each kernel's file registers itself.
#include <nanobind/nanobind.h>

#include <exception>
#include <stdexcept>

#include "bindings/register.hpp"

namespace {

// What a kernel refuses is the library's InputError, which is a ValueError too: no caller has to translate it.
void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::invalid_argument& error) {
    const nanobind::object kind = nanobind::module_::import_("vizsla.errors").attr("InputError");
    PyErr_SetString(kind.ptr(), error.what());
  }
}

}  // namespace

NB_MODULE(_native, module) {
  module.doc() = "Vizsla's native core.";
  nanobind::register_exception_translator(translate);
#ifndef VIZSLA_SANITIZE
  // Objects that a program still holds when it ends are no fault of the bindings, which hold nothing that could hold
  // them.
  nanobind::set_leak_warnings(false);
#endif
  vizsla::register_bag(module);
  vizsla::register_candidates(module);
  vizsla::register_cursor_sum(module);
  vizsla::register_csv(module);
  vizsla::register_documents(module);
  vizsla::register_dense(module);
  vizsla::register_entries(module);
  vizsla::register_spelling(module);
  vizsla::register_strings(module);
  vizsla::register_live_postings(module);
  vizsla::register_max_sim(module);
  vizsla::register_column_sums(module);
  vizsla::register_ngrams(module);
  vizsla::register_postings(module);
  vizsla::register_compress_indices(module);
  vizsla::register_pq(module);
  vizsla::register_text(module);
  vizsla::register_tree_search(module);
  vizsla::register_tree_training(module);
  vizsla::register_votes(module);
  vizsla::register_word_stream(module);
  vizsla::register_wordpiece(module);
}
