// Which loaded file the program's code at an address belongs to, whether that file's code reports its accesses,
// and how the program's time falls on such files: what the hooks do not reach.
//
// Counting takes no lock and allocates nothing: it may happen anywhere, also beside an update.
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
  hooks,     // calls the hooks: its accesses are reported
  no_hooks,  // what it accesses nobody sees
  terrace    // Terrace's own
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
  std::string path;  // or what it is, in brackets
  CodeKind kind = CodeKind::no_hooks;
  TimeSplit time;
};

class CodeMap {
 public:
  // What is loaded now. Of what was loaded before the counts are kept.
  void update(const std::vector<LoadedCode>& loaded);
  // From now on the program is in a main loop, or is not.
  void set_in_loop(bool in_loop) noexcept { in_loop_.store(in_loop, std::memory_order_relaxed); }

  // So much time was spent at the address; on copies in the C library that were reported; on Terrace's own work.
  void count(std::uint64_t address, std::uint64_t time_ns) noexcept;
  void count_reported(std::uint64_t time_ns) noexcept { add(reported_, time_ns); }
  void count_own(std::uint64_t time_ns) noexcept { add(own_, time_ns); }

  // Everything counted so far, files in which no time was spent left out.
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
  struct Page {                      // of code that no file was known for
    std::atomic<std::uint64_t> number{0};
    Counts time{};
  };
  static constexpr std::size_t k_pages = 64;
  static constexpr unsigned k_page_bits = 12;

  void add(Counts& counts, std::uint64_t time_ns) const noexcept;
  static File* find(const Table* table, std::uint64_t address) noexcept;
  void count_unknown(std::uint64_t address, std::uint64_t time_ns) noexcept;
  void resolve_unknown(const Table& table);

  mutable SpinLock lock_;  // of updates, and of what only they change
  std::deque<File> files_;
  std::vector<std::unique_ptr<const Table>> tables_;  // all that ever were: someone may be reading an old one
  std::atomic<const Table*> current_{nullptr};
  std::atomic<bool> in_loop_{false};
  std::array<Page, k_pages> pages_{};
  Counts nowhere_{};  // on code of no file, where there is no page left for it
  Counts reported_{}, own_{};
};

}  // namespace terrace::observe
