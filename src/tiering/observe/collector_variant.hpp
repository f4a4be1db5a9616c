// Which collector fills the profile that decisions rest on. Each is one file in collectors/; the build makes the
// table of them (cmake/Variants.cmake).
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
  // Between two samples of a core, in cycles, where the user names no interval: Unimem's 1,000.
  [[nodiscard]] virtual double sample_cycles() const { return 1000; }
  // Whether pages that the kernel watches stand in for it where a real program has no hooks (page_watch.hpp).
  [[nodiscard]] virtual bool watches_pages() const { return false; }
  [[nodiscard]] virtual std::unique_ptr<Collector> make(const CollectorParts& parts) const = 0;
};

// Of real time, where nothing is said: pages whose translation the processor still holds are met by then.
inline constexpr Seconds k_page_window{0.01};

inline constexpr std::string_view k_default_collector = "load-sampling";

const std::vector<const CollectorVariant*>& collectors();
// Throws Error{invalid} with the list of names where there is none.
const CollectorVariant& find_collector(std::string_view name);

}  // namespace terrace::observe
