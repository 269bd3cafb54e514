// The words of texts in order, for Python.
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/exclusive_use.hpp"
#include "bindings/register.hpp"
#include "bindings/texts.hpp"
#include "text/word_stream.hpp"

namespace vizsla {

namespace {

class BoundWordStream {
 public:
  BoundWordStream(bool lower, int min_chars, int max_chars, bool any_language)
      : stream_({lower, min_chars, max_chars, any_language}) {}

  void add(const nb::list& list) {
    const ExclusiveUse use(busy_);
    const std::vector<Text> texts = texts_of(list, stream_.rows());
    {
      nb::gil_scoped_release unlocked;
      for (const Text& text : texts) stream_.add(text.view());
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }

  nb::tuple forms() {
    const ExclusiveUse use(busy_);
    auto [bytes, offsets] = stream_.forms();
    return nb::make_tuple(to_numpy(std::move(bytes)), to_numpy(std::move(offsets)));
  }

  nb::tuple take() {
    const ExclusiveUse use(busy_);
    auto [starts, words] = stream_.take();
    return nb::make_tuple(to_numpy(std::move(starts)), to_numpy(std::move(words)));
  }

 private:
  WordStream stream_;
  bool busy_ = false;
};

nb::tuple word_lists(InArray<std::int64_t> starts, InArray<std::int32_t> words, std::size_t forms) {
  std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>> lists;
  {
    nb::gil_scoped_release unlocked;
    lists = WordRows{view(starts), view(words)}.lists(forms);
  }
  return nb::make_tuple(to_numpy(std::move(lists.first)), to_numpy(std::move(lists.second)));
}

nb::object with_phrase(InArray<std::int64_t> starts, InArray<std::int32_t> words, InArray<std::int32_t> among,
                       InArray<std::int32_t> phrase) {
  std::vector<std::int32_t> found;
  {
    nb::gil_scoped_release unlocked;
    found = WordRows{view(starts), view(words)}.with_phrase(view(among), view(phrase));
  }
  return nb::cast(to_numpy(std::move(found)));
}

}  // namespace

void register_word_stream(nb::module_& module) {
  nb::class_<BoundWordStream>(module, "WordStream")
      .def(nb::init<bool, int, int, bool>(), nb::arg("lower"), nb::arg("min_chars"), nb::arg("max_chars"),
           nb::arg("any_language"))
      .def("add", &BoundWordStream::add)
      .def("forms", &BoundWordStream::forms)
      .def("take", &BoundWordStream::take, "Where each text begins, and the words of all texts in order, once.");
  module.def("word_lists", &word_lists, nb::arg("starts").noconvert(), nb::arg("words").noconvert(), nb::arg("forms"),
             "For each word the texts that hold it: offsets and numbers.");
  module.def("with_phrase", &with_phrase, nb::arg("starts").noconvert(), nb::arg("words").noconvert(),
             nb::arg("among").noconvert(), nb::arg("phrase").noconvert(),
             "Those of some texts that hold these words one after another.");
}

}  // namespace vizsla
