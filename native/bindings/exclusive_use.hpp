// Objects that work without the GIL and serve one thread at a time.
#pragma once

#include <stdexcept>

namespace vizsla {

// Raises if another thread is using the object. Made and destroyed under the GIL.
class ExclusiveUse {
 public:
  explicit ExclusiveUse(bool& busy) : busy_(busy) {
    if (busy) throw std::invalid_argument("a builder serves one thread at a time");
    busy = true;
  }
  ~ExclusiveUse() { busy_ = false; }
  ExclusiveUse(const ExclusiveUse&) = delete;
  ExclusiveUse& operator=(const ExclusiveUse&) = delete;

 private:
  bool& busy_;
};

}  // namespace vizsla
