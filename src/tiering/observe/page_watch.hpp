// SPDX-License-Identifier: Apache-2.0
// Measures which pages of the own process are used, by the interfaces of the kernel. The agent profiles
// uninstrumented programs so (agent/page_use_monitor.hpp). Each interface is one file in page_watches/; the build
// generates the table of them (cmake/Variants.cmake). A watch is used by one thread at a time, which is one of the
// runtime's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace terrace::observe {

// A range of whole pages, [low, high). Lists of ranges are ascending and disjoint.
struct WatchedRange {
  std::uint64_t low = 0, high = 0;
};

// Belongs to the process that created it: in a child of fork its functions do nothing and report k_unknown.
class PageWatch {
 public:
  virtual ~PageWatch() = default;
  // Begins a window: earlier use does not count. Ranges that are unmapped, or mapped in part, are no error.
  virtual void begin(std::span<const WatchedRange> ranges) = 0;
  // Reads, for each of the same ranges, the bytes of the pages that were used since `begin`; k_unknown where
  // nothing is known. Does not end the window: may be called again.
  virtual void read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) = 0;

  // Returns the number of pages whose accessed bits `begin` cleared, where that affects more than the ranges: each
  // costs the program a page-table walk at the next use. 0: unknown, or the ranges only.
  [[nodiscard]] virtual std::uint64_t num_cleared() const { return 0; }

  static constexpr std::uint64_t k_unknown = ~std::uint64_t{0};
};

class PageWatchVariant {
 public:
  virtual ~PageWatchVariant() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Returns why the watch is unavailable here, in one line that names the file or call that was refused; "" where
  // it is available. Tries it on a page of its own and leaves no state. Requires: no window is open, because the
  // trial may clear its bits.
  [[nodiscard]] virtual std::string unavailable_reason() const = 0;
  // Returns what it does not observe, for the user: "loads", "which threads"; "" for nothing beyond page
  // granularity.
  [[nodiscard]] virtual std::string_view blind_spots() const { return {}; }
  // Returns whether it distinguishes ranges of one mapping. If not, each range gets its share of the mapping's
  // figure, and an object needs a mapping of its own to be measured.
  [[nodiscard]] virtual bool is_page_granular() const { return true; }
  // Returns the preference among available watches; lower is better.
  [[nodiscard]] virtual int rank() const = 0;
  // Throws Error{failed} where it is unavailable.
  [[nodiscard]] virtual std::unique_ptr<PageWatch> make() const = 0;
};

const std::vector<const PageWatchVariant*>& page_watches();
// Returns the best available watch; null where none is. Tries them.
[[nodiscard]] const PageWatchVariant* best_page_watch();

}  // namespace terrace::observe
