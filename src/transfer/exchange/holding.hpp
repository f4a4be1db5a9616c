// A child of fork(2) that begins while pages are on their way would find them absent, and read zeros; pages that
// madvise(2) gives back meanwhile would come back with what was in them. So neither happens then.
#pragma once

namespace terrace::transfer {

// While one is there, nobody else holds exchanges up; several threads may have one each.
class Underway {
 public:
  Underway() noexcept;
  ~Underway();
  Underway(const Underway&) = delete;
  Underway& operator=(const Underway&) = delete;
};

// Around such a call, by the thread that makes it: waits until no pages are on their way. Keeps errno.
void hold_exchanges() noexcept;
void release_exchanges() noexcept;
// In the child of a fork, where the holder has another number, instead.
void release_exchanges_in_child() noexcept;

}  // namespace terrace::transfer
