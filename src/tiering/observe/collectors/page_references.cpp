// SPDX-License-Identifier: Apache-2.0
// Registers the page-references collector (`--collector page-references`): accessed bits by object in short
// windows, which need no privileges.
#include "observe/collecting/page_references_collector.hpp"
#include "observe/collector_variant.hpp"

namespace terrace::observe {
namespace {

class PageReferences final : public CollectorVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "page-references"; }
  [[nodiscard]] double sample_cycles() const override { return k_reference_window_cycles; }
  [[nodiscard]] bool watches_pages() const override { return true; }
  [[nodiscard]] std::unique_ptr<Collector> make(const CollectorParts& parts) const override {
    return std::make_unique<PageReferencesCollector>(parts.machine, parts.initiator, parts.cores, parts.chunks,
                                                     parts.sample_interval);
  }
};

}  // namespace

const CollectorVariant& page_references_collector() {
  static const PageReferences variant;
  return variant;
}

}  // namespace terrace::observe
