// SPDX-License-Identifier: Apache-2.0
// Holds the state of a pipeline off its fast path: translations, caches, stream prefetchers, dependence tracking,
// and the quantum that is being filled. See pipeline.hpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "observe/cache/cache.hpp"
#include "observe/cache/dependence.hpp"
#include "observe/cache/exposure.hpp"
#include "observe/cache/streams.hpp"
#include "observe/objects/spin_lock.hpp"
#include "observe/pipeline/pipeline.hpp"
#include "observe/pipeline/translation_cache.hpp"

namespace terrace::observe {

// Predicts the line that an instruction misses next, from the distance of its last two misses. The pipeline
// prefetches the simulated sets of that line into the host's caches. Affects the simulator's speed only, no
// result.
class MissStridePredictor {
 public:
  // Records that the instruction at `site` missed `line`. Returns the predicted distance to its next miss, in
  // lines; 0 where the distance is not steady.
  std::uint64_t on_miss(std::uint64_t site, std::uint64_t line) {
    Entry& entry = entries_[(site ^ site >> k_bits) % k_entries];
    const std::uint64_t stride = line - entry.line;
    const bool is_steady = stride == entry.stride;
    entry = {line, stride};
    return is_steady ? stride : 0;
  }

 private:
  static constexpr unsigned k_bits = 7;
  static constexpr std::size_t k_entries = std::size_t{1} << k_bits;
  struct Entry {
    std::uint64_t line = 0;
    std::uint64_t stride = 0;  // modulo 2^64
  };
  std::array<Entry, k_entries> entries_{};
};

// Holds the cache levels that all pipelines of a process share.
class SharedCache {
 public:
  explicit SharedCache(const PipelineConfig& config) {
    for (const auto& cache : config.caches) {
      if (cache.shared) levels.emplace_back(cache.size, cache.ways, config.line);
    }
  }
  std::vector<Cache> levels;              // from the core outwards
  SpinLock lock;                          // guards the levels
  std::atomic<std::uint64_t> unknown{0};  // line accesses at addresses that the map does not have

  // Returns whether a pipeline has to lock the levels: true once there is a second pipeline. A pipeline that
  // accesses the levels at that moment has not locked them; at worst a line is then in its set twice.
  [[nodiscard]] bool is_contended() const { return pipelines_.load(std::memory_order_relaxed) > 1; }
  void register_pipeline() { pipelines_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> pipelines_{0};  // created so far
};

struct Pipeline::State {
  // A line access.
  struct Line {
    std::uint64_t number = 0;  // canonical address / line size
    std::uint64_t host = 0;    // accessed address, in this process
    const Translation* page = nullptr;
    ExposureModel::Position at{};  // position of the access in the program
  };
  // The outcome of a line access.
  struct LineAccess {
    Level level = k_no_level;  // at which the data arrive, if values loaded from the line are followed
    std::uint32_t slot = FirstCache::k_nowhere;  // in the first cache
  };

  State(const PipelineConfig& config, SharedCache& shared_caches, const AddressMap& address_map,
        AccessSink& access_sink, std::uint32_t thread_number, ResolveUnknown resolve_unknown,
        FastTable& fast_table);

  // Returns the translation of an address, or null where the map does not have it.
  const Translation* translate(std::uint64_t address) {
    Translation& page = translations_.slot(address);
    if (TranslationCache::matches(page, address, generation_.load(std::memory_order_acquire))) return &page;
    return refill_translation(address, page);
  }
  // Performs a line access.
  LineAccess access_line(const Line& line, std::uint64_t site);
  // Enters the line at `address`, accessed at `now`, into the table of fast lines.
  void add_fast_line(std::uint64_t address, const Translation& page, const LineAccess& accessed,
                     std::uint64_t now) {
    const std::uint64_t line = std::uint64_t{1} << line_bits;
    const std::uint64_t from = ((address + page.delta) >> line_bits << line_bits) - page.delta;
    // A line that spans two ranges (such as adjacent program arguments) is not entered: the next access may be to
    // the other range.
    const bool whole = from - page.low <= page.size - line && page.size >= line;
    if (!first_) return set_only_fast_line(address, from, whole ? &page : nullptr, accessed);
    first_->used()[accessed.slot] = now;
    if (whole) first_->install(accessed.slot, address, from, page.generation);
  }
  // Returns the level at which the data of a followed line arrive. A line that is no longer followed is served by
  // the fast path from then on.
  Level followed_level(FastLine& fast);
  // Hands the quantum of `lines` line accesses to the sink and begins the next.
  void end_quantum(std::uint64_t lines, std::uint64_t instructions, bool in_stride);
  // Returns whether the buffer of misses may overflow at the next access.
  [[nodiscard]] bool nearly_full() const { return misses_.size() + k_max_misses > misses_.capacity(); }

  static constexpr std::size_t k_miss_buffer = 32768;
  static constexpr std::size_t k_max_misses = 4 * (k_max_cache_levels + 1);  // of one access

  unsigned line_bits;
  FunctionCounters* functions;
  DependenceTracker dependence;
  ExposureModel exposure;
  bool in_sink = false;
  OnQuantumEnd on_quantum_end = nullptr;

  std::uint64_t quantum_lines;
  std::uint64_t quantum_begin = 0;       // in line accesses
  std::uint64_t extra_lines_before = 0;  // in earlier quanta
  std::uint64_t unknown_lines_before = 0;
  std::uint64_t unknown_lines = 0;  // in this quantum, as all below
  std::uint64_t extra_lines = 0;    // of accesses that span several lines
  std::vector<LibraryCalls> calls;

 private:
  [[gnu::noinline]] const Translation* refill_translation(std::uint64_t address, Translation& page);
  // Enters the line for a shared first cache. `page`: null where the line must not be entered.
  void set_only_fast_line(std::uint64_t address, std::uint64_t from, const Translation* page,
                          const LineAccess& accessed);
  void find_sets(std::uint64_t line);
  // Prefetches the simulated sets of the line into the host's caches.
  void prefetch_sets(std::uint64_t line);
  Level access_outer(const Line& line, std::uint64_t site, std::uint64_t victim, std::uint64_t* victim_set);
  Level miss(const Line& line, std::uint64_t site);
  void access_tlb(std::uint64_t line, bool cached);
  void write_back_outwards(std::size_t level, std::uint64_t victim, std::uint64_t* set);
  void write_to_memory(std::uint64_t line);
  void count_by_function(std::uint64_t site, std::size_t found, bool walked);
  [[nodiscard]] std::uint64_t canonical(const Line& line) const { return line.host + line.page->delta; }

  const AddressMap& map_;
  const std::atomic<std::uint32_t>& generation_;
  ResolveUnknown resolve_unknown_;
  SharedCache& shared_;
  AccessSink& sink_;
  std::uint32_t thread_;
  FastTable& fast_;
  std::optional<FirstCache> first_;  // the first cache, where it is private
  FastLine* last_line_ = nullptr;    // where it is shared: the only entry of the table
  std::uint64_t no_use_ = 0;
  std::vector<Cache> private_;
  std::vector<Cache*> outer_;                              // all but the private first one, from the core outwards
  std::array<std::uint64_t*, k_max_cache_levels> sets_{};  // of the outer caches, for the current line
  std::size_t first_shared_ = 0;                           // index in outer_
  std::size_t outer_level_ = 0;                            // the machine's level of outer_[0]
  std::optional<Cache> tlb_;                               // its lines are pages
  unsigned line_to_page_ = 0;                              // log2 of the lines in a page
  StreamPrefetcher streams_;
  MissStridePredictor strides_;
  TranslationCache translations_;  // by host address
  TranslationCache reverse_;       // by canonical address, for write-backs to memory
  UnknownPages unknown_pages_;

  std::uint64_t first_cache_misses_ = 0;
  std::uint64_t walks_ = 0;
  std::array<std::uint64_t, k_max_cache_levels> hits_{};
  std::vector<Miss> misses_;
  std::vector<FunctionCounters::Index> miss_functions_;  // of each miss, where events are counted by function
};

}  // namespace terrace::observe
