// A child of fork(2) that begins while pages are on their way, or put aside, would find them absent, and read
// zeros; pages that madvise(2) gives back meanwhile would come back with what was in them, and those of a range
// that mremap(2) moves would stay behind. So none of these happens then.
#pragma once

#include <cstdint>

namespace terrace::transfer {

// While one is there, nobody else holds exchanges up; several threads may have one each.
class Underway {
 public:
  Underway() noexcept;
  ~Underway();
  Underway(const Underway&) = delete;
  Underway& operator=(const Underway&) = delete;
};

// Who puts pages aside for longer: they are back while exchanges are held up.
class Aside {
 public:
  Aside() = default;
  virtual ~Aside() = default;
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  // Called by the thread that holds exchanges up, before and after.
  virtual void put_back(std::uint64_t low, std::uint64_t high) noexcept = 0;  // what is in [low, high)
  virtual void put_aside() noexcept = 0;

 protected:
  // From the one to the other it is told.
  void join() noexcept;
  void leave() noexcept;

 private:
  friend void hold_exchanges(std::uint64_t low, std::uint64_t high) noexcept;
  friend void release_exchanges() noexcept;
  Aside* next_ = nullptr;
};

// Around such a call, by the thread that makes it: waits until no pages are on their way, and those of [low, high)
// that were put aside are back. Keeps errno.
void hold_exchanges(std::uint64_t low = 0, std::uint64_t high = ~std::uint64_t{0}) noexcept;
void release_exchanges() noexcept;
// In the child of a fork, where the holder has another number, instead.
void release_exchanges_in_child() noexcept;

}  // namespace terrace::transfer
