// SPDX-License-Identifier: Apache-2.0
// Registers the page watch `write-protect` of the agent (page_watch.hpp): watches stores by userfaultfd's
// asynchronous write protection. The first store to each page in a window costs a fault.
#include "core/error.hpp"
#include "observe/page_watch.hpp"
#include "observe/pages/protection_watch.hpp"

namespace terrace::observe {
namespace {

class Variant final : public PageWatchVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "write-protect"; }
  [[nodiscard]] std::string unavailable_reason() const override {
    return ProtectionWatch::unavailable_reason(k_write_protection);
  }
  [[nodiscard]] std::string_view blind_spots() const override {
    return "loads; splits a huge page at its first store";
  }
  [[nodiscard]] int rank() const override { return 5; }
  [[nodiscard]] std::unique_ptr<PageWatch> make() const override {
    return std::make_unique<ProtectionWatch>(k_write_protection);
  }
};

}  // namespace

const PageWatchVariant& write_protect_page_watch() {
  static const Variant variant;
  return variant;
}

}  // namespace terrace::observe
