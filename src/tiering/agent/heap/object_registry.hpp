// Which ranges of this process's memory are objects. The runtime wants whole pages that belong to one object each;
// programs allocate, name, trim and unmap as they please. This is where the one becomes the other: a new object
// takes its pages from what was there before, and what is left of that goes on under its old name.
//
// Safe from several threads, and when it is entered again from below (the runtime may touch unknown memory while
// an object is added): then it does nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "observe/objects/spin_lock.hpp"
#include "profile/profile.hpp"
#include "runtime/runtime.hpp"

namespace terrace::agent {

class ObjectRegistry {
 public:
  // `grown`: called once, when objects of so many bytes have been added, without the lock; may be null.
  explicit ObjectRegistry(runtime::Runtime& runtime, void (*on_growth)() = nullptr)
      : runtime_(runtime), on_growth_(on_growth) {}
  static constexpr std::uint64_t k_growth_step = 16 << 20;

  struct Range {
    std::uint64_t low = 0, high = 0;
  };

  // [low, high) is an object. Its first and its last page are its own if it covers more of them than the object
  // that has them now (or than half, where nobody has them). False when not a single page is left for it.
  bool add(std::string_view name, observe::ObjectKind kind, std::uint64_t low, std::uint64_t high) noexcept;
  // As add(), with the pages [first, last) bound by the caller.
  bool add_pages(std::string_view name, observe::ObjectKind kind, std::uint64_t first, std::uint64_t last,
                 std::uint64_t low, std::uint64_t high) noexcept;
  // Memory that has its pages to itself: `size` bytes from a page's beginning on, and what is left of the last
  // page.
  bool add_whole(std::string_view name, observe::ObjectKind kind, std::uint64_t low, std::uint64_t size) noexcept;
  // Whatever is in [low, high) is memory no more (free, munmap).
  void remove(std::uint64_t low, std::uint64_t high) noexcept;
  // The object that begins at `low` (or whose first page does) is given up; false when there is none.
  bool forget(std::uint64_t low) noexcept;

  // The widest range of pages around the address that no object covers, within [low, high); empty (low == high)
  // when an object does.
  [[nodiscard]] Range gap(std::uint64_t address, std::uint64_t low, std::uint64_t high) noexcept;

  // Around fork.
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

 private:
  struct Object {
    std::uint64_t high = 0;                     // end of its pages; they begin at its key
    std::uint64_t true_low = 0, true_high = 0;  // the bytes that are the program's
    ObjectId id = 0;
    observe::ObjectKind kind = observe::ObjectKind::heap;
    std::string name;
  };
  using Objects = std::map<std::uint64_t, Object>;

  class LockScope;
  [[nodiscard]] bool owner_covers_more(std::uint64_t page, std::uint64_t low, std::uint64_t high) const;
  void carve(std::uint64_t low, std::uint64_t high);
  void insert(std::string name, observe::ObjectKind kind, std::uint64_t low, std::uint64_t high,
              std::uint64_t true_low, std::uint64_t true_high);
  bool add_competing(std::string_view name, observe::ObjectKind kind, std::uint64_t low,
                     std::uint64_t high) noexcept;
  bool add_exact(std::string_view name, observe::ObjectKind kind, std::uint64_t first, std::uint64_t last,
                 std::uint64_t low, std::uint64_t high) noexcept;
  void notify_growth() noexcept;
  [[nodiscard]] Objects::const_iterator covering(std::uint64_t address) const;

  runtime::Runtime& runtime_;
  observe::SpinLock lock_;
  std::atomic<const void*> holder_{nullptr};  // the thread that is inside
  void (*on_growth_)();
  std::atomic<std::uint64_t> added_{0};  // bytes, until they have grown enough
  Objects objects_;                      // by the first byte of their pages
};

}  // namespace terrace::agent
