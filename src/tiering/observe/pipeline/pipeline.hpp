// From loads and stores to misses: translation to canonical addresses, private and shared caches, prefetch
// streams, dependence, quanta. One Pipeline a thread over one SharedCache a process. Knows nothing of time.
//
// The contract is virtual-time.md ("Making time"): streams train before they are allocated in the table; a miss is
// dependent when its address less a value lately loaded from a missed line is in [0, 4096) or follows it
// affinely (scales 4, 8, 16 a call site). How much of their latencies demand misses expose: exposure.hpp.
//
// The way of an access: `access` below is all that most of them need (the line is in the first cache);
// `step_aside` handles what is left, from lines that the table of fast lines has lost to misses.
//
// How much work the program's code does between its accesses is sampled: of one access in some 128, at distances
// that follow no pattern of the program's and are the same in every run, it is asked how many instructions go with
// it (code_work.hpp), and those before count as much. Code without accesses reports each of its basic blocks.
//
// Where the machine has a TLB, every miss of the first cache looks its page up. A page that is not there costs a
// walk, counted where the line was found in an outer cache: what comes from memory has its walk in the latency.
//
// Caches are filled from the outside in, dirty victims go to the next cache outwards (which takes them in if it
// does not hold them) and from the last one to memory as write-backs. Private caches come before shared ones.
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
#include "observe/pipeline/code_work.hpp"
#include "observe/pipeline/function_use.hpp"

namespace terrace::observe {

struct PipelineConfig {
  std::vector<machine::Cache> caches;  // from the core outwards; the last shared one is the last level
  Bytes line{64};                      // a power of two
  std::uint32_t miss_registers = 10;
  std::uint32_t window_accesses = 64;      // the reorder window
  std::uint32_t store_buffer = 56;         // stores
  std::uint32_t streams = 16;              // that the prefetchers follow at a time
  std::uint64_t quantum_accesses = 65536;  // line accesses: one that crosses into the next line counts twice
  CodeWork* work = nullptr;                // null: all code is average
  machine::Tlb tlb{};                      // of each thread; without entries there is none
  FunctionUse* functions = nullptr;        // null: work is not counted by function
};

class SharedCache;  // the shared levels, one a process

class alignas(64) Pipeline {
 public:
  // `unknown` is called (rarely) for an address that the map does not know; it adds the range or gives up (false).
  // Addresses that stay unknown are counted as accesses and nothing else.
  using Unknown = std::function<bool(std::uint64_t address)>;
  // Called when a quantum was full (not at a flush): a place where another thread may get its turn.
  using Turn = void (*)() noexcept;
  // Throws Error{invalid} when the line is not a power of two or there are more than k_max_cache_levels caches.
  Pipeline(const PipelineConfig& config, SharedCache& shared, const AddressMap& map, AccessSink& sink,
           std::uint32_t thread, Unknown unknown, Turn turn = nullptr);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // One load or store of `size` bytes (a power of two, 16 at most) at `address` by the instruction at `site`. For
  // loads of 4 and 8 bytes the value is read from memory (it is about to be) to follow dependences.
  void access(std::uint64_t address, std::uint32_t size, bool store, std::uint64_t site) {
    if (is_fast(address, room_of(size), store)) [[likely]] {
      if (clock_ >= next_stop_) [[unlikely]]
        stop(site);
      return;
    }
    step_aside(address, size, store, site, *this);
  }
  // A range (memcpy and friends, ranges of the hooks): one access a line.
  void range(std::uint64_t address, std::uint64_t size, bool store, std::uint64_t site);
  // A basic block of the program without accesses; its hook returns to `site`. Whether it may tell of a loop.
  bool block(std::uint64_t site) {
    SiteWork work(k_instructions_of_an_access, true);
    if (work_ && !work_->has(site, work)) [[unlikely]]
      work = find_work(site);
    work_parts_ += work.parts;
    if (counts_apart_) [[unlikely]]
      count_apart(site, work.parts);
    if (work_parts_ >= k_max_instructions * k_parts * quantum_accesses_) [[unlikely]]
      end_quantum();
    return work.marks_loop;
  }
  // A call of a function of libm: nothing of it is seen, but it takes core time, and its thread gets on by it.
  void call(machine::LibraryFunction function) {
    ++calls_[static_cast<std::size_t>(function)];
    ++called_;
    quantum_end_ -= std::min(k_accesses_of_a_call, quantum_end_ - clock_);
    next_stop_ = std::min(next_stop_, quantum_end_);
    if (quantum_end_ == clock_) [[unlikely]]
      end_quantum();
  }
  // Ends the quantum here: everything so far is with the sink when it returns, and nothing that comes after
  // overlaps with it. At phase ends and before clocks are read. Does nothing when nothing was reported.
  // `in_stride` is the quantum's.
  void flush(bool in_stride = true);
  // An operation by which threads compete or wait for one another: the quantum ends here if it has gone on for a
  // while.
  void contend();
  [[nodiscard]] std::uint64_t accesses() const;
  // Instructions so far, with what misses take counted as more of them (loops/loop_tree.hpp). What an instruction
  // costs in its function does not count, so that a calibrated run finds the loops of an uncalibrated one.
  [[nodiscard]] std::uint64_t work() const;
  // Line accesses whose address nobody knew.
  [[nodiscard]] std::uint64_t unknown_accesses() const;

 private:
  struct State;

  [[nodiscard]] const FastLine::Room& room_of(std::uint32_t size) const {
    return rooms_[static_cast<unsigned>(std::countr_zero(size))];
  }
  // Whether the table of fast lines serves the access; then it has been made.
  [[gnu::always_inline]] bool is_fast(std::uint64_t address, const FastLine::Room& room, bool store) {
    const FastLine& fast = fast_.of(address);
    if (!fast_.serves(fast, address, room, store)) [[unlikely]]
      return false;
    *fast.used = ++clock_;
    if (store) ++stores_;
    return true;
  }
  // Takes the pipeline last, so that hooks leave the address in the register in which they got it.
  [[gnu::noinline]] static void step_aside(std::uint64_t address, std::uint32_t size, bool store,
                                           std::uint64_t site, Pipeline& pipeline);
  // An access of a line in the first cache from which loaded values are followed. Returns false for other ones.
  [[gnu::always_inline]] bool use_followed_line(std::uint64_t address, std::uint32_t size, bool store,
                                                std::uint64_t site);
  [[gnu::always_inline]] void touch_lines(std::uint64_t address, std::uint32_t size, bool store,
                                          std::uint64_t site);
  // A time to look up from the fast way: a sample is due, or the quantum full.
  [[gnu::noinline]] void stop(std::uint64_t site);
  void sample(std::uint64_t site);
  void settle_samples();
  void add_copied_line(std::uint64_t site);
  // Line accesses that are no samples' business: they are counted by themselves.
  void pass_over(std::uint64_t lines) { sampled_ += lines, next_sample_ += lines; }
  [[nodiscard]] std::uint32_t parts_at(std::uint64_t site);
  // Counts a block by function, and the difference that its function's core time makes.
  [[gnu::noinline]] void count_apart(std::uint64_t site, std::uint32_t parts);
  [[nodiscard]] std::int64_t added_by_cost(std::uint64_t site, std::uint32_t parts) const;
  // Returns the weighted instructions of this quantum, in parts of an instruction (code_work.hpp).
  [[nodiscard]] std::uint64_t cost_parts() const { return work_parts_ + static_cast<std::uint64_t>(added_); }
  [[nodiscard, gnu::noinline]] SiteWork find_work(std::uint64_t site);
  [[gnu::noinline]] void end_quantum();
  void bring_quantum(bool in_stride = true);
  void take_calls();

  // In a quantum, for each access that would fill it: more than any code but one that does without memory has.
  static constexpr std::uint64_t k_max_instructions = 16;

  // What the fast way reads comes first, in two of the host's lines.
  FastTable fast_;
  std::uint64_t clock_ = 0;                  // line accesses so far
  std::uint64_t stores_ = 0;                 // of them
  std::uint64_t next_stop_;                  // by the clock: the next sample, or the quantum's end
  static constexpr std::size_t k_sizes = 5;  // of accesses: 1 to 16 bytes
  std::array<FastLine::Room, k_sizes> rooms_{};
  std::uint64_t quantum_end_;  // calls bring it nearer
  std::uint64_t quantum_accesses_;
  std::uint64_t work_parts_ = 0;  // of instructions in this quantum, and what the last one left of one
  std::uint64_t instructions_before_ = 0;
  bool counts_apart_;  // work by function, or without what its cost adds
  FunctionUse* functions_;
  CodeWork* work_;
  std::uint32_t parts_last_ = k_parts * k_instructions_of_an_access;  // of the last sample
  std::uint64_t site_last_ = 0;
  std::int64_t added_last_ = 0;  // of parts_last_, by its function's cost
  std::int64_t added_ = 0;       // of this quantum's parts, and of what the last one left of an instruction
  std::uint64_t sampled_ = 0;    // by the clock, up to here
  std::uint64_t next_sample_ = 0;
  std::uint64_t random_;
  bool ranges_are_fast_;  // a first cache that is shared is asked each time
  std::uint64_t line_bytes_;
  unsigned line_bits_;
  std::uint64_t called_ = 0;                                         // calls in this quantum
  std::array<std::uint32_t, machine::k_library_functions> calls_{};  // by function
  const AddressMap& map_;
  std::unique_ptr<State> state_;
};

std::unique_ptr<SharedCache, void (*)(SharedCache*)> make_shared_cache(const PipelineConfig& config);
// Of all pipelines over it, up to their last quanta.
std::uint64_t unknown_accesses(const SharedCache& shared);

}  // namespace terrace::observe
