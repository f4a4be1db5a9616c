// Which of a running program's pages are used, as the kernel tells it: each way to ask is one file in
// page_watches/; the build makes the table of them (cmake/Variants.cmake). For one process, the own one; used by
// one thread at a time, which is one of Terrace's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace terrace::observe {

// Whole pages, [low, high), ascending and disjoint.
struct WatchedRange {
  std::uint64_t low = 0, high = 0;
};

// Belongs to the process that made it: after a fork the child's copy does nothing, and knows nothing.
class PageWatch {
 public:
  virtual ~PageWatch() = default;
  // A window begins: what was used before it does not count. Ranges that are not mapped any more, or not wholly,
  // are no error.
  virtual void begin(std::span<const WatchedRange> ranges) = 0;
  // The window is over: of each of the same ranges the bytes of the pages that were used in it. A range of which
  // nothing is known is k_unknown. The window goes on: it may be asked again, and then tells what was used since
  // `begin`.
  virtual void read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) = 0;

  // How many pages' marks the window's beginning ended, where that is known and is not about the ranges alone:
  // each costs the program when it uses that page again. 0: it is not.
  [[nodiscard]] virtual std::uint64_t cleared() const { return 0; }

  static constexpr std::uint64_t k_unknown = ~std::uint64_t{0};
};

class PageWatchVariant {
 public:
  virtual ~PageWatchVariant() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Why it cannot be had here, in one line that names the file or call that was refused; "" where it can. Tries it
  // on a page of its own; leaves nothing behind. Not inside a window: what it tries may end the window's marks.
  [[nodiscard]] virtual std::string unavailable_reason() const = 0;
  // What it does not see, for the user: "loads", "which threads"; "" for nothing beyond what pages cannot tell.
  [[nodiscard]] virtual std::string_view misses() const { return {}; }
  // Whether it tells apart ranges that share a mapping; where not, each gets its share of the mapping's figure,
  // and who wants to know of an object gives it a mapping of its own.
  [[nodiscard]] virtual bool tells_pages() const { return true; }
  // The better, the lower: which is taken where several can be had.
  [[nodiscard]] virtual int rank() const = 0;
  // Throws Error{failed} where it cannot be had.
  [[nodiscard]] virtual std::unique_ptr<PageWatch> make() const = 0;
};

const std::vector<const PageWatchVariant*>& page_watches();
// The best that can be had here; null where none can. Tries them.
[[nodiscard]] const PageWatchVariant* best_page_watch();

}  // namespace terrace::observe
