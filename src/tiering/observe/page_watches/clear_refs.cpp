// SPDX-License-Identifier: Apache-2.0
// Implements the page watch `clear-refs` of the agent (page_watch.hpp): watches pages by /proc/self/clear_refs,
// which clears the accessed bits of all of the process's pages, and /proc/self/smaps, which counts them by mapping
// (proc(5)). Needs no privileges and works on every kernel; a window costs a pass over the page tables.
#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/address_space.hpp"
#include "core/error.hpp"
#include "core/rounding.hpp"
#include "core/small_file.hpp"
#include "observe/page_watch.hpp"
#include "observe/pages/own_process.hpp"
#include "observe/pages/smaps.hpp"
#include "observe/pages/tlb_flusher.hpp"

namespace terrace::observe {
namespace {

constexpr const char* k_clear = "/proc/self/clear_refs";
constexpr const char* k_smaps = "/proc/self/smaps";

class ClearRefs final : public PageWatch {
 public:
  void begin(std::span<const WatchedRange>) override {
    if (!process_.is_current()) return;
    begun_ = write_small_file(k_clear, "1") == 0;
    tlb_.flush();
  }
  void read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) override {
    num_cleared_ = 0;
    if (begun_ && process_.is_current())
      num_cleared_ = pages_in_memory(read_referenced(k_smaps, ranges, used));
    else
      std::ranges::fill(used, k_unknown);
  }
  [[nodiscard]] std::uint64_t num_cleared() const override { return num_cleared_; }

 private:
  // Returns the resident pages of the whole process, as all are cleared. Huge pages outside of the summary count
  // as small ones.
  static std::uint64_t pages_in_memory(const SmapsSummary& found) noexcept {
    const auto memory = process_memory();
    const auto all = memory ? memory->resident.value / page_size() : 0;
    const auto of_huge = found.huge / page_size();
    return all > of_huge ? all - of_huge + found.huge / k_huge_page : all;
  }

  OwnProcess process_;
  TlbFlusher tlb_;
  std::uint64_t num_cleared_ = 0;
  bool begun_ = false;
};

class Variant final : public PageWatchVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "clear-refs"; }
  [[nodiscard]] std::string unavailable_reason() const override {
    const auto file = syscall(SYS_openat, AT_FDCWD, k_clear, O_WRONLY | O_CLOEXEC);
    if (file < 0) return std::string(k_clear).append(": ").append(std::strerror(errno));
    syscall(SYS_close, file);
    ClearRefs watch;
    auto why = try_watch(watch, k_smaps);
    works_ = why.empty();
    return why;
  }
  [[nodiscard]] std::string_view blind_spots() const override {
    return "single pages: ranges of one mapping share its figure";
  }
  [[nodiscard]] bool is_page_granular() const override { return false; }
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] std::unique_ptr<PageWatch> make() const override {
    if (!works_)
      if (const auto why = unavailable_reason(); !why.empty()) throw Error(Code::failed, why);
    return std::make_unique<ClearRefs>();
  }

 private:
  mutable std::atomic<bool> works_{false};  // cached, because the trial clears all of the program's pages
};

}  // namespace

const PageWatchVariant& clear_refs_page_watch() {
  static const Variant variant;
  return variant;
}

}  // namespace terrace::observe
