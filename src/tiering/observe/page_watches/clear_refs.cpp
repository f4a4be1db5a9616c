// /proc/self/clear_refs clears the "used" marks of all of the process's pages, /proc/self/smaps counts them by
// mapping (proc(5)). Needs no rights and no other kernel than any; a window costs a pass over the page tables.
#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/process_memory.hpp"
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
    if (!process_.still()) return;
    begun_ = write_small_file(k_clear, "1") == 0;
    translations_.drop();
  }
  void read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) override {
    cleared_ = 0;
    if (begun_ && process_.still())
      cleared_ = pages_in_memory(read_referenced(k_smaps, ranges, used));
    else
      std::ranges::fill(used, k_unknown);
  }
  [[nodiscard]] std::uint64_t cleared() const override { return cleared_; }

 private:
  // Of the whole process, as all of it is cleared. Huge ones that were not met count as small ones.
  static std::uint64_t pages_in_memory(const SmapsFound& found) noexcept {
    const auto memory = process_memory();
    const auto all = memory ? memory->resident.value / page_size() : 0;
    const auto of_huge = found.huge / page_size();
    return all > of_huge ? all - of_huge + found.huge / k_huge_page : all;
  }

  OwnProcess process_;
  TlbFlusher translations_;
  std::uint64_t cleared_ = 0;
  bool begun_ = false;
};

class Variant final : public PageWatchVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "clear-refs"; }
  [[nodiscard]] std::string unavailable_reason() const override {
    const auto file = syscall(SYS_openat, AT_FDCWD, k_clear, O_WRONLY | O_CLOEXEC);
    if (file < 0) return std::string(k_clear) + ": " + std::strerror(errno);
    syscall(SYS_close, file);
    ClearRefs watch;
    auto why = try_watch(watch, k_smaps);
    works_ = why.empty();
    return why;
  }
  [[nodiscard]] std::string_view misses() const override {
    return "which pages of a mapping: ranges that share one get shares of its figure";
  }
  [[nodiscard]] bool tells_pages() const override { return false; }
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] std::unique_ptr<PageWatch> make() const override {
    if (!works_)
      if (const auto why = unavailable_reason(); !why.empty()) throw Error(Code::failed, why);
    return std::make_unique<ClearRefs>();
  }

 private:
  mutable std::atomic<bool> works_{false};  // all of the program's pages are paid for when it is tried
};

}  // namespace

const PageWatchVariant& clear_refs_page_watch() {
  static const Variant variant;
  return variant;
}

}  // namespace terrace::observe
