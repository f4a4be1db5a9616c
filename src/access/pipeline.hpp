// From loads and stores to misses: translation to canonical addresses, private and shared caches, prefetch streams,
// dependence, quanta. One Pipeline a thread over one SharedCache a process. Knows nothing of time.
//
// The contract is virtual-time.md ("Making time"): streams train before they are allocated in the table; a miss is
// dependent when its address less a value lately loaded from a missed line lies in [0, 4096) or follows it affinely
// (scales 4, 8, 16 a call site); the longest chain of dependent misses in a window of miss registers exposes its
// latencies, shared evenly among the window's dependent misses.
//
// The way of an access: `access` below is all that most of them need (the page is known, the line is the most
// recently used of its set); `step_aside` handles what is left, from other ways of the first cache to misses.
//
// Caches are filled from the outside in, dirty victims go to the next cache outwards (which takes them in if it
// does not hold them) and from the last one to memory as write-backs. Private caches come before shared ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "access/address_map.hpp"
#include "access/cache.hpp"
#include "backend/access_sink.hpp"
#include "machine/machine.hpp"

namespace terrace::access {

struct PipelineConfig {
  std::vector<machine::Cache> caches;      // from the core outwards; the last shared one is the last level
  Bytes line{64};                          // a power of two
  std::uint32_t miss_registers = 10;
  std::uint64_t quantum_accesses = 65536;
};

class SharedCache;  // the shared levels, one a process

class Pipeline {
 public:
  // `unknown` is called (rarely) for an address that the map does not know; it adds the range or gives up (false).
  // Addresses that stay unknown are counted as accesses and nothing else.
  using Unknown = std::function<bool(std::uint64_t address)>;
  // Throws Error{invalid} when the line is not a power of two or there are more than k_max_cache_levels caches.
  Pipeline(const PipelineConfig& config, SharedCache& shared, const AddressMap& map, backend::AccessSink& sink,
           std::uint32_t thread, Unknown unknown);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // One load or store of `size` bytes at `address` by the instruction at `site`. For loads of 4 and 8 bytes the
  // value is read from memory (it is about to be) to follow dependences.
  void access(std::uint64_t address, std::uint32_t size, bool store, std::uint64_t site) {
    const Translation& page = translations_[(address >> k_page_bits) % k_translations];
    const std::uint64_t canonical = address + page.delta;
    const std::uint64_t line = canonical >> line_bits_;
    const std::uint64_t first = first_words_[(line & first_mask_) * first_ways_];
    // A store may find a fresh line, a load a dirty one: neither has anything to do there.
    const bool hit = store ? (first & ~word::k_fresh) == (word::of(line) | word::k_dirty)
                           : (first & ~word::k_dirty) == word::of(line);
    const bool known = address - page.low < page.size && page.generation == generation_->load(std::memory_order_acquire);
    const bool whole = (canonical & line_mask_) + size <= line_mask_ + 1;
    if (hit && known && whole) [[likely]] {
      if (--remaining_ == 0) [[unlikely]] end_quantum();
      return;
    }
    step_aside(address, size, store, site);
  }
  // A range (memcpy and friends, ranges of the hooks): one access a line.
  void range(std::uint64_t address, std::uint64_t size, bool store, std::uint64_t site);
  // Ends the quantum here: everything so far is with the sink when it returns, and nothing that comes after
  // overlaps with it. At phase ends and before clocks are read. Does nothing when there was no access.
  void flush();
  [[nodiscard]] std::uint64_t accesses() const;
  // Line accesses whose address nobody knew.
  [[nodiscard]] std::uint64_t unknown_accesses() const;

 private:
  static constexpr unsigned k_page_bits = 12;
  static constexpr std::size_t k_translations = 1024;

  // What was found for a page of the host lately; holds for the whole range that it names.
  struct alignas(64) Translation {
    std::uint64_t low = 0;
    std::uint64_t size = 0;
    std::uint64_t delta = 0;
    std::uint32_t generation = 1;  // of the map; odd ones never match
    memory::ChunkId chunk = memory::k_no_chunk;
    std::uint64_t origin = 0;
  };
  struct State;

  [[gnu::noinline]] void step_aside(std::uint64_t address, std::uint32_t size, bool store, std::uint64_t site);
  const Translation* translate(std::uint64_t address);
  [[gnu::noinline]] void end_quantum();

  const std::atomic<std::uint32_t>* generation_;
  std::uint64_t* first_words_;         // of the first cache, when it is private and its sets a power of two; else
  std::uint64_t first_mask_ = 0;       // the last line alone, for which any cache is sure to hit
  std::uint64_t first_ways_ = 1;
  std::uint64_t line_mask_;
  unsigned line_bits_;
  std::uint64_t remaining_;            // accesses until the quantum ends
  std::unique_ptr<Translation[]> translations_;
  std::unique_ptr<State> state_;
};

std::unique_ptr<SharedCache, void (*)(SharedCache*)> make_shared_cache(const PipelineConfig& config);
// In the child after fork: the locks that other threads of the parent may have held are free.
void renew_locks(SharedCache& shared);

}  // namespace terrace::access
