// SPDX-License-Identifier: Apache-2.0
// Simulates caches, TLB and prefetchers for accesses off a pipeline's fast path. See pipeline_state.hpp.
#include "observe/pipeline/pipeline_state.hpp"

#include <algorithm>
#include <bit>
#include <mutex>

#include "observe/pipeline/loop_events.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::observe {

namespace {

constexpr unsigned k_region_bits = 16;  // 64 KiB: the granularity at which a loop's iterations are compared

}  // namespace

Pipeline::State::State(const PipelineConfig& config, SharedCache& shared_caches, const AddressMap& address_map,
                       AccessSink& access_sink, std::uint32_t thread_number, ResolveUnknown resolve_unknown,
                       FastTable& fast_table)
    : line_bits(static_cast<unsigned>(std::countr_zero(config.line.value))),
      functions(config.functions),
      exposure(config.miss_registers, config.window_accesses, config.store_buffer),
      quantum_lines(std::max<std::uint64_t>(config.quantum_accesses, 1)),
      map_(address_map),
      generation_(address_map.generation()),
      resolve_unknown_(std::move(resolve_unknown)),
      shared_(shared_caches),
      sink_(access_sink),
      thread_(thread_number),
      fast_(fast_table),
      streams_(config.streams) {
  private_.reserve(config.caches.size());
  for (const auto& cache : config.caches) {
    if (cache.shared) continue;
    if (!first_) {
      first_.emplace(cache.size, cache.ways, config.line, fast_);
    } else {
      private_.emplace_back(cache.size, cache.ways, config.line);
    }
  }
  for (Cache& cache : private_) outer_.push_back(&cache);
  first_shared_ = outer_.size();
  for (Cache& cache : shared_.levels) outer_.push_back(&cache);
  outer_level_ = first_ ? 1 : 0;
  if (config.tlb.entries > 0) {
    tlb_.emplace(Bytes{config.tlb.entries}, config.tlb.ways, Bytes{1});
    line_to_page_ = static_cast<unsigned>(std::countr_zero(config.tlb.page.value)) - line_bits;
  }
  misses_.reserve(k_miss_buffer);
  calls.reserve(machine::k_library_functions);
  shared_.register_pipeline();
}

// Looks the address up in the map, and lets the caller add unknown memory. Returns null where it stays unknown.
const Translation* Pipeline::State::refill_translation(std::uint64_t address, Translation& page) {
  Location location;
  std::uint32_t generation = 0;
  if (!map_.find(address, location, generation)) {
    if (unknown_pages_.has(address, generation)) return nullptr;
    if (!resolve_unknown_ || !resolve_unknown_(address) || !map_.find(address, location, generation)) {
      unknown_pages_.add(address, generation);
      return nullptr;
    }
  }
  TranslationCache::set(page, location, generation);
  return &page;
}

Level Pipeline::State::followed_level(FastLine& fast) {
  std::uint64_t& word = first_->word(static_cast<std::uint32_t>(fast.used - first_->used()));
  const Level level = dependence.followed_level(word::line(word));
  if (level == k_no_level) {
    word &= ~word::k_followed;
    fast.key += FastLine::k_followed;
  }
  return level;
}

void Pipeline::State::find_sets(std::uint64_t line) {
  for (std::size_t i = 0; i < outer_.size(); ++i) sets_[i] = outer_[i]->prefetch(line);
}

void Pipeline::State::prefetch_sets(std::uint64_t line) {
  first_->prefetch(first_->set_of(line));
  for (Cache* const cache : outer_) static_cast<void>(cache->prefetch(line));
}

Pipeline::State::LineAccess Pipeline::State::access_line(const Line& line, std::uint64_t site) {
  const bool store = line.at.store;
  if (!first_) {
    find_sets(line.number);
    return {access_outer(line, site, 0, nullptr), FirstCache::k_nowhere};
  }
  const std::uint64_t set = first_->set_of(line.number);
  LineAccess accessed{k_no_level, first_->find(line.number, set)};
  if (accessed.slot != FirstCache::k_nowhere) {
    std::uint64_t& word = first_->word(accessed.slot);
    if (store) word |= word::k_dirty;
    if ((word & word::k_followed) != 0) {
      accessed.level = dependence.followed_level(line.number);
      if (accessed.level == k_no_level) word &= ~word::k_followed;
    }
    return accessed;
  }
  ++first_cache_misses_;
  first_->prefetch(set);
  find_sets(line.number);
  const std::uint64_t from = (line.number << line_bits) - line.page->delta;
  std::uint64_t victim = 0;
  accessed.slot = first_->insert(line.number, set, store ? word::k_dirty : 0, from, victim);
  const bool goes_out = (victim & word::k_dirty) != 0 && !outer_.empty();
  std::uint64_t* const victim_set = goes_out ? outer_.front()->prefetch(word::line(victim)) : nullptr;
  accessed.level = access_outer(line, site, victim, victim_set);
  if (accessed.level != k_no_level) first_->word(accessed.slot) |= word::k_followed;
  if (const auto stride = strides_.on_miss(site, line.number); stride != 0) prefetch_sets(line.number + stride);
  return accessed;
}

// Enters at most one line for a shared first cache: other threads may evict lines from it, so only the line that
// was used last is sure to hit.
void Pipeline::State::set_only_fast_line(std::uint64_t address, std::uint64_t from, const Translation* page,
                                         const LineAccess& accessed) {
  if (last_line_ != nullptr) last_line_->key = FastLine::k_none;
  last_line_ = nullptr;
  if (page == nullptr) return;
  last_line_ = &fast_.entry(address);
  const bool needs_lookup = accessed.level != k_no_level || outer_.empty();
  if (!needs_lookup) fast_.set(*last_line_, from, FastLine::k_clean, &no_use_, page->generation);
}

// Looks the line up in the outer caches after a miss of the first one, which evicted `victim` for it, and fills
// the caches that missed. `victim_set`: the victim's set in the next cache, if there is one and the victim is
// dirty.
Level Pipeline::State::access_outer(const Line& line, std::uint64_t site, std::uint64_t victim,
                                    std::uint64_t* victim_set) {
  const bool store = line.at.store;
  std::array<std::uint64_t, k_max_cache_levels> victims{};
  const bool contended = shared_.is_contended();
  std::unique_lock<SpinLock> lock(shared_.lock, std::defer_lock);
  std::size_t found = 0;
  for (; found < outer_.size(); ++found) {
    if (found == first_shared_ && contended) lock.lock();
    // A store makes the line dirty in the first cache only.
    const std::uint64_t flags = store && !first_ && found == 0 ? word::k_dirty : 0;
    const Cache::Outcome outcome = outer_[found]->access(line.number, flags, sets_[found]);
    if (outcome.hit) {
      ++hits_[outer_level_ + found];
      break;
    }
    victims[found] = outcome.victim;
  }
  if (!first_ && found > 0) ++first_cache_misses_;
  const auto walks_before = walks_;
  if (tlb_ && (first_ || found > 0)) access_tlb(line.number, found < outer_.size());
  Level level = k_no_level;
  if (found == outer_.size()) {
    level = miss(line, site);
  } else if (!store) {
    level = dependence.on_hit(line.number, line.host, canonical(line), site);
  }
  const auto dirty = [](std::uint64_t word) { return (word & word::k_dirty) != 0; };
  if (contended && !lock.owns_lock() && (dirty(victim) || std::any_of(victims.begin(), victims.end(), dirty))) {
    lock.lock();  // the victims may reach a shared cache
  }
  if (dirty(victim)) write_back_outwards(0, victim, victim_set);
  for (std::size_t i = 0; i < found; ++i) {
    if (dirty(victims[i])) write_back_outwards(i + 1, victims[i], nullptr);
  }
  if (functions) count_by_function(site, found, walks_ != walks_before);
  return level;
}

// Counts a miss of the first cache in its function's counters. Misses of the last level are counted at the
// quantum's end, when their exposure is known.
void Pipeline::State::count_by_function(std::uint64_t site, std::size_t found, bool walked) {
  const auto function = functions->index(site);
  if (found < outer_.size()) functions->add(function, FunctionCounters::hits + outer_level_ + found, 1);
  if (walked) functions->add(function, FunctionCounters::walks, 1);
  miss_functions_.resize(misses_.size(), function);
}

// Classifies a miss of the last level and records it. Returns the level at which its data arrive.
Level Pipeline::State::miss(const Line& line, std::uint64_t site) {
  const std::uint64_t from = (line.number << line_bits) - line.page->delta;
  // A line may begin before its chunk does: a stack is not aligned to lines.
  const bool before = static_cast<std::int64_t>(from - line.page->origin) < 0;
  const std::uint64_t in_chunk = before ? 0 : (from - line.page->origin) >> line_bits;
  Miss miss{line.page->chunk, static_cast<std::uint16_t>(in_chunk), 0, MissKind::prefetched};
  Level arrives = k_no_level;
  if (streams_.on_miss(line.number)) {
    arrives = dependence.on_hit(line.number, line.host, canonical(line), site);
  } else {
    const Level waits_for = dependence.on_miss(line.host, canonical(line), site);
    const bool waits = waits_for != k_no_level;
    miss.kind = waits ? MissKind::dependent : MissKind::independent;
    arrives = exposure.on_miss(waits ? waits_for : 0, line.at, static_cast<std::uint32_t>(misses_.size()));
    dependence.follow(line.number, arrives);
  }
  misses_.push_back(miss);
  trace_miss(((line.number << line_bits) - line.page->reuse_delta) >> k_region_bits);
  if (exposure.is_full()) exposure.distribute(misses_);
  return arrives;
}

// Looks up the TLB after a miss of the first cache. `cached`: an outer cache had the line.
void Pipeline::State::access_tlb(std::uint64_t line, bool cached) {
  const bool here = tlb_->access(line >> line_to_page_, 0).hit;
  if (!here && cached) ++walks_;
}

// Writes a dirty line back to an outer level, and that level's dirty victim further on. `set`: the line's set
// there, or null.
void Pipeline::State::write_back_outwards(std::size_t level, std::uint64_t victim, std::uint64_t* set) {
  for (; level < outer_.size(); ++level) {
    const auto line = word::line(victim);
    auto& cache = *outer_[level];
    victim = (set != nullptr ? cache.write_back(line, set) : cache.write_back(line)).victim;
    if ((victim & word::k_dirty) == 0) return;
    set = nullptr;
  }
  write_to_memory(word::line(victim));
}

// Records a write-back to memory, unless the line's memory was freed.
void Pipeline::State::write_to_memory(std::uint64_t line) {
  const std::uint64_t begin = line << line_bits;
  Translation& page = reverse_.slot(begin);
  if (!TranslationCache::matches(page, begin, generation_.load(std::memory_order_acquire))) {
    // A line may begin before its range (a stack is not aligned to lines): try its last byte, too.
    const std::uint64_t last = begin + (std::uint64_t{1} << line_bits) - 1;
    Location location;
    std::uint32_t generation = 0;
    if (!map_.find_canonical(begin, location, generation) && !map_.find_canonical(last, location, generation)) {
      return;  // freed memory
    }
    TranslationCache::set(page, location, generation);
  }
  const std::uint64_t in_chunk = (std::max(begin, page.origin) - page.origin) >> line_bits;
  misses_.push_back({page.chunk, static_cast<std::uint16_t>(in_chunk), 0, MissKind::writeback});
}

// Passes the quantum to the sink: the simulator, collectors, the recorder.
void Pipeline::State::end_quantum(std::uint64_t lines, std::uint64_t instructions, bool in_stride) {
  exposure.distribute(misses_);
  if (first_ || !outer_.empty()) hits_[0] = lines - unknown_lines - first_cache_misses_;
  Quantum quantum;
  quantum.thread = thread_;
  quantum.accesses = lines - extra_lines;
  quantum.instructions = instructions;
  quantum.hits = hits_;
  quantum.walks = walks_;
  quantum.misses = misses_;
  quantum.calls = calls;
  quantum.in_stride = in_stride;
  quantum_begin += lines;
  unknown_lines_before += unknown_lines;
  shared_.unknown.fetch_add(unknown_lines, std::memory_order_relaxed);
  extra_lines_before += extra_lines;
  in_sink = true;
  sink_.quantum(quantum);
  in_sink = false;
  for (std::size_t i = 0; i < miss_functions_.size(); ++i) functions->add(miss_functions_[i], misses_[i]);
  miss_functions_.clear();
  misses_.clear();
  calls.clear();
  hits_ = {};
  unknown_lines = extra_lines = first_cache_misses_ = walks_ = 0;
}

}  // namespace terrace::observe
