// SPDX-License-Identifier: Apache-2.0
// Implements the page watch `soft-dirty` of the agent (page_watch.hpp): watches stores by soft-dirty bits
// (CONFIG_MEM_SOFT_DIRTY), cleared by /proc/self/clear_refs and read in /proc/self/pagemap. The first store to
// each page in a window costs a minor fault.
#include <cstring>

#include "core/error.hpp"
#include "core/small_file.hpp"
#include "observe/page_watch.hpp"
#include "observe/pages/own_process.hpp"
#include "observe/pages/pagemap.hpp"

namespace terrace::observe {
namespace {

constexpr const char* k_clear = "/proc/self/clear_refs";
constexpr const char* k_pagemap = "/proc/self/pagemap";

class SoftDirty final : public PageWatch {
 public:
  void begin(std::span<const WatchedRange>) override {
    if (process_.is_current()) begun_ = write_small_file(k_clear, "4") == 0;
  }
  void read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) override {
    std::ranges::fill(used, k_unknown);
    if (!begun_ || !process_.is_current()) return;
    const OpenFile pagemap(k_pagemap, O_RDONLY);
    const auto page = page_size();
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      std::uint64_t bytes = 0;
      const bool known = for_each_page(pagemap, ranges[i], page, [&](std::uint64_t, std::uint64_t word) {
        if ((word & (k_page_present | k_page_swapped)) != 0 && (word & k_page_soft_dirty) != 0) bytes += page;
      });
      if (known) used[i] = bytes;
    }
  }

 private:
  OwnProcess process_;
  bool begun_ = false;
};

class Variant final : public PageWatchVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "soft-dirty"; }
  [[nodiscard]] std::string unavailable_reason() const override {
    if (const int error = write_small_file(k_clear, "4"); error < 0)
      return std::string(k_clear).append(": ").append(std::strerror(-error));
    SoftDirty watch;
    return try_watch(watch, "soft-dirty in /proc/self/pagemap (CONFIG_MEM_SOFT_DIRTY)");
  }
  [[nodiscard]] std::string_view blind_spots() const override { return "loads"; }
  [[nodiscard]] int rank() const override { return 4; }
  [[nodiscard]] std::unique_ptr<PageWatch> make() const override {
    if (const auto why = unavailable_reason(); !why.empty()) throw Error(Code::failed, why);
    return std::make_unique<SoftDirty>();
  }
};

}  // namespace

const PageWatchVariant& soft_dirty_page_watch() {
  static const Variant variant;
  return variant;
}

}  // namespace terrace::observe
