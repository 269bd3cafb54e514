// Working memory that is lent to one thread at a time and kept for the next: the query path allocates nothing.
//
// Callers never block on the pool: a child that was forked while another thread held it would wait forever. If it is
// taken, they allocate new working memory, or free it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace vizsla {

template <class Scratch>
class ScratchPool {
 public:
  class Loan {
   public:
    explicit Loan(ScratchPool& pool) : pool_(pool), scratch_(pool.take()) {}
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { pool_.give_back(std::move(scratch_)); }
    Scratch& operator*() { return *scratch_; }
    const Scratch& operator*() const { return *scratch_; }
    Scratch* operator->() { return scratch_.get(); }

   private:
    ScratchPool& pool_;
    std::unique_ptr<Scratch> scratch_;
  };

 private:
  std::unique_ptr<Scratch> take() {
    std::unique_ptr<Scratch> scratch = kept();
    return scratch ? std::move(scratch) : std::make_unique<Scratch>();
  }

  std::unique_ptr<Scratch> kept() {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard.owns_lock() || free_.empty()) return nullptr;
    std::unique_ptr<Scratch> scratch = std::move(free_.back());
    free_.pop_back();
    return scratch;
  }

  void give_back(std::unique_ptr<Scratch> scratch) noexcept {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard.owns_lock()) return;
    try {
      free_.push_back(std::move(scratch));
    } catch (...) {  // no room to remember it: it is freed
    }
  }

  std::mutex lock_;
  std::vector<std::unique_ptr<Scratch>> free_;
};

}  // namespace vizsla
