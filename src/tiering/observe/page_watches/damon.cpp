// SPDX-License-Identifier: Apache-2.0
// Registers the page watch `damon` of the agent (page_watch.hpp): watches pages by DAMON, the kernel's data access
// monitor, on virtual address ranges (CONFIG_DAMON_VADDR). Needs root. Cheap and coarse: one sampled page stands
// for its region, and the kernel adapts the regions.
#include "core/error.hpp"
#include "observe/page_watch.hpp"
#include "observe/pages/damon_monitor.hpp"

namespace terrace::observe {
namespace {

class Variant final : public PageWatchVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "damon"; }
  [[nodiscard]] std::string unavailable_reason() const override { return DamonMonitor::unavailable_reason(); }
  [[nodiscard]] std::string_view blind_spots() const override {
    return "single pages: one is sampled for each region; use before the last 0.1 s of a window";
  }
  [[nodiscard]] int rank() const override { return 3; }
  [[nodiscard]] std::unique_ptr<PageWatch> make() const override {
    if (const auto why = unavailable_reason(); !why.empty()) throw Error(Code::failed, why);
    return std::make_unique<DamonMonitor>();
  }
};

}  // namespace

const PageWatchVariant& damon_page_watch() {
  static const Variant variant;
  return variant;
}

}  // namespace terrace::observe
