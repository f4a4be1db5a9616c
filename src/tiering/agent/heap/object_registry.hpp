// SPDX-License-Identifier: Apache-2.0
// Maps allocations of arbitrary bytes to objects of whole pages, and reports these to the runtime. Called by the
// interposed malloc, mmap and threads, by terrace.h and by the module registry. The runtime requires that each
// page belongs to one object; programs allocate, name, trim and unmap at any granularity. A new object takes its
// pages from the previous owner, whose remaining pages stay registered under its name.
//
// Thread-safe. Reentrant calls on the same thread (the runtime may touch unknown memory while an object is added)
// have no effect.
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
  // Calls `on_growth`, which may be null, once when objects of k_growth_step bytes have been added. No lock is
  // held during the call.
  explicit ObjectRegistry(runtime::Runtime& runtime, void (*on_growth)() = nullptr)
      : runtime_(runtime), on_growth_(on_growth) {}
  static constexpr std::uint64_t k_growth_step = 16 << 20;

  struct Range {
    std::uint64_t low = 0, high = 0;
  };

  // Registers the object [low, high). It gets its first and last page if it covers more of them than their present
  // owner, or more than half of an unowned page. Returns false if it gets no page at all.
  bool add(std::string_view name, observe::ObjectKind kind, std::uint64_t low, std::uint64_t high) noexcept;
  // Registers the object with exactly the pages [first, last).
  bool add_pages(std::string_view name, observe::ObjectKind kind, std::uint64_t first, std::uint64_t last,
                 std::uint64_t low, std::uint64_t high) noexcept;
  // Registers `size` bytes from a page boundary on, including the rest of the last page.
  bool add_whole(std::string_view name, observe::ObjectKind kind, std::uint64_t low, std::uint64_t size) noexcept;
  // Registers a block as add_whole() does, whose pages remove() has reported to be where they would be without
  // Terrace.
  bool add_reused(std::string_view name, observe::ObjectKind kind, std::uint64_t low, std::uint64_t size) noexcept;
  // Unregisters all pages of [low, high), after free or munmap. Returns whether all objects there were where they
  // would be without Terrace.
  bool remove(std::uint64_t low, std::uint64_t high) noexcept;
  // Unregisters the object that begins at `low`. Returns false if there is none.
  bool forget(std::uint64_t low) noexcept;

  // Returns the widest range of pages in [low, high) around the address that no object covers; empty (low ==
  // high) if one covers the address.
  [[nodiscard]] Range gap(std::uint64_t address, std::uint64_t low, std::uint64_t high) noexcept;

  // For fork(2).
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

 private:
  struct Object {
    std::uint64_t high = 0;                     // end of its pages; its key in the map is their start
    std::uint64_t true_low = 0, true_high = 0;  // the bytes of the program's object
    ObjectId id = 0;
    observe::ObjectKind kind = observe::ObjectKind::heap;
    std::string name;
  };
  using Objects = std::map<std::uint64_t, Object>;

  class LockScope;
  [[nodiscard]] bool owner_covers_more(std::uint64_t page, std::uint64_t low, std::uint64_t high) const;
  bool carve(std::uint64_t low, std::uint64_t high);
  void insert(std::string name, observe::ObjectKind kind, std::uint64_t low, std::uint64_t high,
              std::uint64_t true_low, std::uint64_t true_high, bool is_at_home = false);
  bool add_competing(std::string_view name, observe::ObjectKind kind, std::uint64_t low,
                     std::uint64_t high) noexcept;
  bool add_exact(std::string_view name, observe::ObjectKind kind, std::uint64_t first, std::uint64_t last,
                 std::uint64_t low, std::uint64_t high, bool is_at_home) noexcept;
  void notify_growth() noexcept;
  [[nodiscard]] Objects::const_iterator covering(std::uint64_t address) const;

  runtime::Runtime& runtime_;
  observe::SpinLock lock_;
  std::atomic<const void*> holder_{nullptr};  // identifies the thread that holds the lock
  void (*on_growth_)();
  std::atomic<std::uint64_t> added_{0};  // bytes
  Objects objects_;                      // by the address of their first page
};

}  // namespace terrace::agent
