// SPDX-License-Identifier: Apache-2.0
// Attributes the program's time to the loaded files whose code it ran, and records whether that code is
// instrumented: shows the code that the hooks do not reach. The agent records the result
// (agent/program_coverage.hpp).
//
// Counting is lock-free and async-signal-safe, and may run concurrently with an update.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "observe/objects/spin_lock.hpp"

namespace terrace::observe {

enum class CodeKind : std::uint8_t {
  hooks,     // instrumented: its accesses are traced
  no_hooks,  // uninstrumented: its accesses are not traced
  terrace    // of the runtime
};

// The code of a loaded file.
struct LoadedCode {
  std::uint64_t low = 0, high = 0;
  std::string path;
  CodeKind kind = CodeKind::no_hooks;
};

// Nanoseconds of the program's time: in its main loops, and elsewhere.
struct TimeSplit {
  std::uint64_t in_loop = 0, elsewhere = 0;
};
struct CodeTime {
  std::string path;  // or a description in brackets
  CodeKind kind = CodeKind::no_hooks;
  TimeSplit time;
};

class CodeMap {
 public:
  // Sets the code that is loaded now. Keeps the counts of unloaded files.
  void update(const std::vector<LoadedCode>& loaded);
  // Sets whether the program is in a main loop from now on.
  void set_in_loop(bool in_loop) noexcept { in_loop_.store(in_loop, std::memory_order_relaxed); }

  // Count time spent at the address; in C library copies that were traced as ranges; in the runtime.
  void count(std::uint64_t address, std::uint64_t time_ns) noexcept;
  void count_reported(std::uint64_t time_ns) noexcept { add(reported_, time_ns); }
  void count_own(std::uint64_t time_ns) noexcept { add(own_, time_ns); }

  // Returns all counts so far, without files in which no time was spent.
  [[nodiscard]] std::vector<CodeTime> times() const;

 private:
  using Counts = std::array<std::atomic<std::uint64_t>, 2>;  // elsewhere, in a loop
  struct File {
    File(std::string where, CodeKind what) : path(std::move(where)), kind(what) {}
    std::string path;
    CodeKind kind;
    Counts time{};
  };
  struct Entry {
    std::uint64_t low, high;
    File* file;
  };
  using Table = std::vector<Entry>;  // ascending
  struct Page {                      // of code without a known file
    std::atomic<std::uint64_t> number{0};
    Counts time{};
  };
  static constexpr std::size_t k_pages = 64;
  static constexpr unsigned k_page_bits = 12;

  void add(Counts& counts, std::uint64_t time_ns) const noexcept;
  static File* find(const Table* table, std::uint64_t address) noexcept;
  void count_unknown(std::uint64_t address, std::uint64_t time_ns) noexcept;
  void resolve_unknown(const Table& table);

  mutable SpinLock lock_;  // guards updates and the data that only they change
  std::deque<File> files_;
  std::vector<std::unique_ptr<const Table>> tables_;  // all, because a reader may use an old one
  std::atomic<const Table*> current_{nullptr};
  std::atomic<bool> in_loop_{false};
  std::array<Page, k_pages> pages_{};
  Counts nowhere_{};  // on code without a file, when all pages are in use
  Counts reported_{}, own_{};
};

}  // namespace terrace::observe
