// SPDX-License-Identifier: Apache-2.0
// Implements the page watch `idle-page` of the agent (page_watch.hpp): watches pages by idle page tracking
// (CONFIG_IDLE_PAGE_TRACKING): exact for every page, loads included, without effect on the rest of the process.
// Needs root, which alone may read frame numbers.
#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "observe/page_watch.hpp"
#include "observe/pages/idle_bitmap.hpp"
#include "observe/pages/own_process.hpp"
#include "observe/pages/tlb_flusher.hpp"

namespace terrace::observe {
namespace {

class IdlePages final : public PageWatch {
 public:
  void begin(std::span<const WatchedRange> ranges) override {
    if (!process_.is_current()) return;
    IdleBitmap bitmap(paths_.bitmap);
    PageFrames frames(paths_);
    begun_ = bitmap.is_open() && frames.is_open();
    if (!begun_) return;
    for (const auto& range : ranges)
      frames.for_each(range, page_, [&](std::uint64_t frame) { bitmap.set_idle(frame); });
    begun_ = bitmap.flush();
    tlb_.flush();
  }
  void read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) override {
    std::ranges::fill(used, k_unknown);
    if (!begun_ || !process_.is_current()) return;
    IdleBitmap bitmap(paths_.bitmap);
    PageFrames frames(paths_);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      std::uint64_t bytes = 0;
      const bool known = frames.for_each(ranges[i], page_, [&](std::uint64_t frame) {
        if (!bitmap.is_idle(frame)) bytes += page_;
      });
      if (known) used[i] = bytes;
    }
  }

 private:
  FramePaths paths_;
  OwnProcess process_;
  TlbFlusher tlb_;
  std::uint64_t page_ = page_size();
  bool begun_ = false;
};

class Variant final : public PageWatchVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "idle-page"; }
  [[nodiscard]] std::string unavailable_reason() const override {
    const FramePaths paths;
    const auto refused = [](const char* path) { return std::string(path) + ": " + std::strerror(errno); };
    if (!IdleBitmap(paths.bitmap).is_open()) return refused(paths.bitmap);
    if (!PageFrames(paths).is_open()) return refused(paths.flags);
    IdlePages watch;
    return try_watch(watch, paths.bitmap);
  }
  [[nodiscard]] std::string_view blind_spots() const override { return "pages of hugetlbfs, which count as used"; }
  [[nodiscard]] int rank() const override { return 1; }
  [[nodiscard]] std::unique_ptr<PageWatch> make() const override {
    if (const auto why = unavailable_reason(); !why.empty()) throw Error(Code::failed, why);
    return std::make_unique<IdlePages>();
  }
};

}  // namespace

const PageWatchVariant& idle_page_page_watch() {
  static const Variant variant;
  return variant;
}

}  // namespace terrace::observe
