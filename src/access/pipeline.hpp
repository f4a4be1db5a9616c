// From loads and stores to misses: translation to canonical addresses, private and shared caches, prefetch streams,
// dependence, quanta. One Pipeline a thread over one SharedCache a process. Knows nothing of time.
//
// The contract is virtual-time.md ("Making time"): streams train before they are allocated in the table; a miss is
// dependent when its address less a value lately loaded from a missed line lies in [0, 4096) or follows it affinely
// (scales 4, 8, 16 a call site); the longest chain of dependent misses in a window of miss registers exposes its
// latencies, shared evenly among the window's dependent misses.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "access/address_map.hpp"
#include "backend/access_sink.hpp"
#include "machine/machine.hpp"

namespace terrace::access {

struct PipelineConfig {
  std::vector<machine::Cache> caches;      // from the core outwards; the last shared one is the last level
  Bytes line{64};
  std::uint32_t miss_registers = 10;
  std::uint64_t quantum_accesses = 65536;
};

class SharedCache;  // the last level, one a process

class Pipeline {
 public:
  // `unknown` is called (rarely) for an address that the map does not know; it adds the range or gives up (false).
  using Unknown = std::function<bool(std::uint64_t address)>;
  Pipeline(const PipelineConfig& config, SharedCache& shared, const AddressMap& map, backend::AccessSink& sink,
           std::uint32_t thread, Unknown unknown);
  ~Pipeline();

  // One load or store of `size` bytes at `address` by the instruction at `site`. For loads of up to 8 bytes the
  // value is read from memory (it is about to be) to follow dependences.
  void access(std::uint64_t address, std::uint32_t size, bool store, std::uint64_t site);
  // A range (memcpy and friends, ranges of the hooks).
  void range(std::uint64_t address, std::uint64_t size, bool store, std::uint64_t site);
  // Ends the quantum here: everything so far is with the sink when it returns. At phase ends and before clocks are
  // read.
  void flush();
  [[nodiscard]] std::uint64_t accesses() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::unique_ptr<SharedCache, void (*)(SharedCache*)> make_shared_cache(const PipelineConfig& config);

}  // namespace terrace::access
