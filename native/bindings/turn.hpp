// Objects that work without the GIL and serve one thread at a time.
#pragma once

#include <stdexcept>

namespace vizsla {

// A second thread that meets the object at work is turned away. Made and destroyed under the GIL.
class Turn {
 public:
  explicit Turn(bool& busy) : busy_(busy) {
    if (busy) throw std::invalid_argument("a builder serves one thread at a time");
    busy = true;
  }
  ~Turn() { busy_ = false; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  bool& busy_;
};

}  // namespace vizsla
