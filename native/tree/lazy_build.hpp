// A structure that is built once the work it would have saved exceeds the cost of building it.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

namespace vizsla {

// Thread-safe: one thread builds; the others continue without the structure meanwhile.
template <class Made>
class LazyBuild {
 public:
  // Returns the structure, or null if it was not built yet. `spared` is the work that it would have saved this call; it
  // is built when the total reaches `price`.
  template <class Make>
  const Made* get(std::size_t spared, std::size_t price, const Make& make) {
    if (const Made* made = ready()) return made;
    if (spent_.fetch_add(spared, std::memory_order_relaxed) + spared < price) return nullptr;
    const std::unique_lock making(lock_, std::try_to_lock);
    if (!making.owns_lock() || kept_) return ready();
    kept_ = std::make_unique<Made>(make());
    ready_.store(kept_.get(), std::memory_order_release);
    return kept_.get();
  }

  const Made* ready() const { return ready_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::size_t> spent_{0};
  std::mutex lock_;
  std::unique_ptr<Made> kept_;
  std::atomic<const Made*> ready_{nullptr};
};

}  // namespace vizsla
