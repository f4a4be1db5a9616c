// SPDX-License-Identifier: Apache-2.0
// Simulates the memory hierarchy for one thread: turns its loads and stores into misses. The hooks of instrumented
// code call it (trace.hpp). An access is translated to its canonical address and runs through TLB, private and
// shared caches and stream prefetchers; its misses are classified by dependence, and quanta of accesses go to an
// AccessSink. Each thread has a Pipeline, each process one SharedCache. The pipeline knows no time: the simulator
// prices the misses (docs/explanation/virtual-time.md, "Making time").
//
// Rules: streams train before they are allocated in the table. A miss is dependent when its address less a value
// recently loaded from a missed line is in [0, 4096), or follows that value affinely (scales 4, 8, 16, for each
// call site). exposure.hpp computes how much of their latencies demand misses expose.
//
// Fast path: `access` alone handles most accesses, whose line is in the first cache and in its table of lines.
// `access_slow` handles the others, from lines that are not in the table to misses.
//
// The work of the program's code between its accesses is sampled. For one access in about 128, at pseudo-random
// distances that are the same in every run, the pipeline looks up how many instructions it stands for
// (site_work.hpp); the accesses since the last sample count as much. Code without accesses reports each of its
// basic blocks.
//
// With a TLB, every miss of the first cache looks its page up. A TLB miss costs a page walk, which is counted
// where the line hits in an outer cache; the measured latency of memory includes that of its walk.
//
// Caches are filled from the outermost inwards. A dirty victim goes to the next outer cache, which allocates the
// line if it does not have it; victims of the last one go to memory as write-backs. Private caches come before
// shared ones.
//
// A pipeline is used by its thread only; the caller flushes it before it destroys the thread.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "machine/machine.hpp"
#include "observe/access_sink.hpp"
#include "observe/cache/first_cache.hpp"
#include "observe/objects/address_map.hpp"
#include "observe/pipeline/function_counters.hpp"
#include "observe/pipeline/site_work.hpp"

namespace terrace::observe {

struct PipelineConfig {
  std::vector<machine::Cache> caches;  // from the core outwards; the last shared one is the last level
  Bytes line{64};                      // a power of two
  std::uint32_t miss_registers = 10;
  std::uint32_t window_accesses = 64;      // size of the reorder window
  std::uint32_t store_buffer = 56;         // entries
  std::uint32_t streams = 16;              // that the prefetchers track at a time
  std::uint64_t quantum_accesses = 65536;  // in line accesses: an access that crosses a line boundary counts twice
  SiteWorkTable* work = nullptr;           // non-owning; null: every access stands for k_instructions_per_access
  machine::Tlb tlb{};                      // of each thread; 0 entries: none is simulated
  FunctionCounters* functions = nullptr;   // non-owning; null: events are not counted by function
};

class SharedCache;  // the shared levels, one a process

class alignas(64) Pipeline {
 public:
  // Called, rarely, for an address that the map does not have: adds its range, or returns false. Accesses at
  // addresses that stay unknown are only counted.
  using ResolveUnknown = std::function<bool(std::uint64_t address)>;
  // Called at the end of a full quantum, not at a flush: the scheduler may switch to another thread here.
  using OnQuantumEnd = void (*)() noexcept;
  // `shared`, `map` and `sink` outlive the pipeline. Throws Error{invalid} when the line is not a power of two or
  // there are more than k_max_cache_levels caches.
  Pipeline(const PipelineConfig& config, SharedCache& shared, const AddressMap& map, AccessSink& sink,
           std::uint32_t thread, ResolveUnknown resolve_unknown, OnQuantumEnd on_quantum_end = nullptr);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Records a load or store of `size` bytes (a power of two, at most 16) at `address` by the hook that returns to
  // `site`. To track dependences it reads the values that loads of 4 and 8 bytes are about to load.
  void access(std::uint64_t address, std::uint32_t size, bool store, std::uint64_t site) {
    if (access_fast(address, limits_of(size), store)) [[likely]] {
      if (clock_ >= next_stop_) [[unlikely]]
        on_stop(site);
      return;
    }
    access_slow(address, size, store, site, *this);
  }
  // Records an access of a range (memcpy and similar functions, range hooks) as one access of each line.
  void range(std::uint64_t address, std::uint64_t size, bool store, std::uint64_t site);
  // Records a basic block without accesses, whose hook returns to `site`. Returns whether the hook reports a loop.
  bool block(std::uint64_t site) {
    SiteWork work(k_instructions_per_access, true);
    if (work_ && !work_->lookup(site, work)) [[unlikely]]
      work = find_work(site);
    work_parts_ += work.parts;
    if (counts_blocks_) [[unlikely]]
      count_block(site, work.parts);
    if (work_parts_ >= k_max_instructions * k_parts_per_instruction * quantum_accesses_) [[unlikely]]
      end_quantum();
    return work.marks_loop;
  }
  // Records a call of a libm function. Its accesses are not traced, but it takes core time and counts towards the
  // quantum.
  void call(machine::LibraryFunction function) {
    ++calls_[static_cast<std::size_t>(function)];
    ++called_;
    quantum_end_ -= std::min(k_accesses_per_call, quantum_end_ - clock_);
    next_stop_ = std::min(next_stop_, quantum_end_);
    if (quantum_end_ == clock_) [[unlikely]]
      end_quantum();
  }
  // Ends the quantum: delivers all accesses so far to the sink; later misses do not overlap with earlier ones.
  // Called at phase ends and before the clock is read. Has no effect when nothing was recorded. `in_stride`: see
  // Quantum.
  void flush(bool in_stride = true);
  // Called at an operation by which threads synchronise: ends the quantum unless it is very short.
  void on_contention();
  [[nodiscard]] std::uint64_t accesses() const;
  // Returns the instructions so far, for the loop tree (loops/loop_tree.hpp). They are not weighted by their cost
  // in their functions, so that a calibrated run finds the loops of an uncalibrated one.
  [[nodiscard]] std::uint64_t work() const;
  // Returns the number of line accesses at unknown addresses.
  [[nodiscard]] std::uint64_t unknown_accesses() const;

 private:
  struct State;

  [[nodiscard]] const FastLine::Limits& limits_of(std::uint32_t size) const {
    return limits_[static_cast<unsigned>(std::countr_zero(size))];
  }
  // Performs the access where the table of fast lines serves it; else returns false.
  [[gnu::always_inline]] bool access_fast(std::uint64_t address, const FastLine::Limits& limits, bool store) {
    const FastLine& fast = fast_.entry(address);
    if (!fast_.serves(fast, address, limits, store)) [[unlikely]]
      return false;
    *fast.used = ++clock_;
    if (store) ++stores_;
    return true;
  }
  // Takes the pipeline last, so that hooks leave the address in the register in which they got it.
  [[gnu::noinline]] static void access_slow(std::uint64_t address, std::uint32_t size, bool store,
                                            std::uint64_t site, Pipeline& pipeline);
  // Performs an access of a line in the first cache whose loaded values are followed. Returns false for other
  // lines.
  [[gnu::always_inline]] bool access_followed_line(std::uint64_t address, std::uint32_t size, bool store,
                                                   std::uint64_t site);
  [[gnu::always_inline]] void access_lines(std::uint64_t address, std::uint32_t size, bool store,
                                           std::uint64_t site);
  // Leaves the fast path: a sample is due, or the quantum is full.
  [[gnu::noinline]] void on_stop(std::uint64_t site);
  void sample(std::uint64_t site);
  void close_sample_interval();
  void add_copied_line(std::uint64_t site);
  // Excludes line accesses from sampling: their instructions are counted directly.
  void skip_sampling(std::uint64_t lines) { sampled_ += lines, next_sample_ += lines; }
  [[nodiscard]] std::uint32_t parts_at(std::uint64_t site);
  // Counts a block in its function's counters, and the extra parts by its function's core time.
  [[gnu::noinline]] void count_block(std::uint64_t site, std::uint32_t parts);
  [[nodiscard]] std::int64_t extra_cost_parts(std::uint64_t site, std::uint32_t parts) const;
  // Returns the weighted instructions of this quantum, in parts of an instruction (site_work.hpp).
  [[nodiscard]] std::uint64_t cost_parts() const { return work_parts_ + static_cast<std::uint64_t>(extra_parts_); }
  [[nodiscard, gnu::noinline]] SiteWork find_work(std::uint64_t site);
  [[gnu::noinline]] void end_quantum();
  void deliver_quantum(bool in_stride = true);
  void collect_calls();

  // Limit of a quantum's instructions, for each access of a full one: only code with hardly any accesses reaches
  // it.
  static constexpr std::uint64_t k_max_instructions = 16;

  // The members of the fast path come first, in two cache lines of the host.
  FastTable fast_;
  std::uint64_t clock_ = 0;                  // number of line accesses so far; the other positions count in it
  std::uint64_t stores_ = 0;                 // of them, stores
  std::uint64_t next_stop_;                  // the next sample or the quantum's end
  static constexpr std::size_t k_sizes = 5;  // of accesses: 1 to 16 bytes
  std::array<FastLine::Limits, k_sizes> limits_{};
  std::uint64_t quantum_end_;  // library calls move it closer
  std::uint64_t quantum_accesses_;
  std::uint64_t work_parts_ = 0;  // in this quantum, with the last one's fraction of an instruction
  std::uint64_t instructions_before_ = 0;
  bool counts_blocks_;  // by function, or because instructions are weighted
  FunctionCounters* functions_;
  SiteWorkTable* work_;
  std::uint32_t last_parts_ = k_parts_per_instruction * k_instructions_per_access;  // of the last sample
  std::uint64_t last_site_ = 0;
  std::int64_t last_extra_parts_ = 0;  // added to last_parts_ by its function's cost
  std::int64_t extra_parts_ = 0;       // in this quantum, with the last one's fraction
  std::uint64_t sampled_ = 0;          // accesses up to here are in work_parts_
  std::uint64_t next_sample_ = 0;
  std::uint64_t random_;
  bool ranges_are_fast_;  // the first cache is private
  std::uint64_t line_bytes_;
  unsigned line_bits_;
  std::uint64_t called_ = 0;                                         // library calls in this quantum
  std::array<std::uint32_t, machine::k_library_functions> calls_{};  // by function
  const AddressMap& map_;
  std::unique_ptr<State> state_;
};

std::unique_ptr<SharedCache, void (*)(SharedCache*)> make_shared_cache(const PipelineConfig& config);
// Returns the line accesses at unknown addresses of all pipelines over the cache, up to their last quanta.
std::uint64_t unknown_accesses(const SharedCache& shared);

}  // namespace terrace::observe
