// SPDX-License-Identifier: Apache-2.0
// Registers the page watch `read-write-protect` of the agent (page_watch.hpp): watches pages by userfaultfd's
// asynchronous read-write protection: exact for every page, at the cost of a page fault for each page that is used
// in a window.
#include "core/error.hpp"
#include "observe/page_watch.hpp"
#include "observe/pages/protection_watch.hpp"

namespace terrace::observe {
namespace {

class Variant final : public PageWatchVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "read-write-protect"; }
  [[nodiscard]] std::string unavailable_reason() const override {
    return ProtectionWatch::unavailable_reason(k_access_protection);
  }
  [[nodiscard]] int rank() const override { return 2; }
  [[nodiscard]] std::unique_ptr<PageWatch> make() const override {
    return std::make_unique<ProtectionWatch>(k_access_protection);
  }
};

}  // namespace

const PageWatchVariant& read_write_protect_page_watch() {
  static const Variant variant;
  return variant;
}

}  // namespace terrace::observe
