// SPDX-License-Identifier: Apache-2.0
// Lists the collectors, named by `--collector`, that can fill the profile on which placement decisions rest. Each
// is one file in collectors/; the build generates the table of them (cmake/Variants.cmake).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"
#include "observe/collector.hpp"

namespace terrace::observe {

struct CollectorParts {  // all outlive the collector
  const machine::Machine& machine;
  InitiatorId initiator = 0;
  double cores = 1;
  const memory::ChunkTable& chunks;
  Seconds sample_interval;
};

class CollectorVariant {
 public:
  virtual ~CollectorVariant() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Returns the default cycles of a core between two samples: Unimem's 1,000.
  [[nodiscard]] virtual double sample_cycles() const { return 1000; }
  // Returns whether a page watch (page_watch.hpp) replaces it for a real program without hooks.
  [[nodiscard]] virtual bool watches_pages() const { return false; }
  [[nodiscard]] virtual std::unique_ptr<Collector> make(const CollectorParts& parts) const = 0;
};

// Default length of a window in real time: by then most TLB entries from before the window are evicted.
inline constexpr Seconds k_page_window{0.01};

inline constexpr std::string_view k_default_collector = "load-sampling";

const std::vector<const CollectorVariant*>& collectors();
// Throws Error{invalid} with the list of names where there is none of this name.
const CollectorVariant& find_collector(std::string_view name);

}  // namespace terrace::observe
