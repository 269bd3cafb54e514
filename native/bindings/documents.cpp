// Texts of HTML pages and near duplicates for Python.
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/exclusive_use.hpp"
#include "bindings/register.hpp"
#include "bindings/texts.hpp"
#include "text/html.hpp"
#include "text/near_duplicates.hpp"

namespace vizsla {

namespace {

nb::str html_text(nb::str page) {
  const Text utf8(page);
  std::string text;
  {
    const nb::gil_scoped_release release;
    text = HtmlText(utf8.view()).read();
  }
  return nb::borrow<nb::str>(decoded(text));
}

class BoundNearDuplicates {
 public:
  explicit BoundNearDuplicates(double similarity) : texts_(similarity) {}

  OutArray<std::uint32_t> add(const nb::list& list) {
    const ExclusiveUse use(busy_);
    std::vector<std::uint32_t> firsts;
    for (const Text& text : texts_of(list)) {
      firsts.push_back(texts_.add(text.view()));
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    return to_numpy(std::move(firsts));
  }

 private:
  NearDuplicates texts_;
  bool busy_ = false;
};

}  // namespace

void register_documents(nb::module_& module) {
  module.def("html_text", &html_text, nb::arg("page"),
             "The text of a page, headings between \\x02 and their level and \\x03, named references that are not "
             "resolved behind \\x1a.");
  nb::class_<BoundNearDuplicates>(module, "NearDuplicates")
      .def(nb::init<double>(), nb::arg("similarity"))
      .def("add", &BoundNearDuplicates::add, nb::arg("texts"),
           "For every text, the number of the first one that it resembles, counted over all calls.");
}

}  // namespace vizsla
