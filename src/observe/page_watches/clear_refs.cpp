// /proc/self/clear_refs clears the "used" marks of all of the process's pages, /proc/self/smaps counts them by
// mapping (proc(5)). Needs no rights and no other kernel than any; a window costs a pass over the page tables.
#include <cstring>

#include "core/error.hpp"
#include "core/small_file.hpp"
#include "observe/page_watch.hpp"
#include "observe/pages/own_process.hpp"
#include "observe/pages/smaps.hpp"
#include "observe/pages/translations.hpp"

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
    if (begun_ && process_.still())
      read_referenced(k_smaps, ranges, used);
    else
      std::ranges::fill(used, k_unknown);
  }

 private:
  OwnProcess process_;
  Translations translations_;
  bool begun_ = false;
};

class Variant final : public PageWatchVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "clear-refs"; }
  [[nodiscard]] std::string lacks() const override {
    if (const int error = write_small_file(k_clear, "1"); error < 0)
      return std::string(k_clear) + ": " + std::strerror(-error);
    ClearRefs watch;
    return try_watch(watch, k_smaps);
  }
  [[nodiscard]] std::string_view misses() const override {
    return "which pages of a mapping: ranges that share one get shares of its figure";
  }
  [[nodiscard]] bool tells_pages() const override { return false; }
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] std::unique_ptr<PageWatch> make() const override {
    if (const auto why = lacks(); !why.empty()) throw Error(Code::failed, why);
    return std::make_unique<ClearRefs>();
  }
};

}  // namespace

const PageWatchVariant& clear_refs_page_watch() {
  static const Variant variant;
  return variant;
}

}  // namespace terrace::observe
