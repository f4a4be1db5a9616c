// A child of fork(2) that begins while pages are on their way, or put aside, would find them absent, and read
// zeros; pages that madvise(2) gives back meanwhile would come back with what was in them, and those of a range
// that mremap(2) moves would stay behind. So none of these happens then.
#pragma once

#include <cstdint>

namespace terrace::transfer {

// While one is there, nobody else holds exchanges up; several threads may have one each.
class ExchangeScope {
 public:
  ExchangeScope() noexcept;
  ~ExchangeScope();
  ExchangeScope(const ExchangeScope&) = delete;
  ExchangeScope& operator=(const ExchangeScope&) = delete;
};

// Who puts pages aside for longer: they are back while exchanges are held up.
class DetachedPages {
 public:
  DetachedPages() = default;
  virtual ~DetachedPages() = default;
  DetachedPages(const DetachedPages&) = delete;
  DetachedPages& operator=(const DetachedPages&) = delete;
  // Called by the thread that holds exchanges up, before and after.
  virtual void reattach_range(std::uint64_t low, std::uint64_t high) noexcept = 0;  // what is in [low, high)
  virtual void detach_again() noexcept = 0;

 protected:
  // From the one to the other it is told.
  void register_self() noexcept;
  void unregister_self() noexcept;

 private:
  friend void suspend_exchanges(std::uint64_t low, std::uint64_t high) noexcept;
  friend void resume_exchanges() noexcept;
  DetachedPages* next_ = nullptr;
};

// Around such a call, by the thread that makes it: waits until no pages are on their way, and those of [low, high)
// that were put aside are back. Keeps errno.
void suspend_exchanges(std::uint64_t low = 0, std::uint64_t high = ~std::uint64_t{0}) noexcept;
void resume_exchanges() noexcept;
// In the child of a fork, where the holder has another number, instead.
void reset_exchanges_in_child() noexcept;

}  // namespace terrace::transfer
