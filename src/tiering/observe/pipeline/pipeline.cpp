// SPDX-License-Identifier: Apache-2.0
// Simulates the accesses of a thread beyond the fast path, and ends quanta (batches of its accesses); called by
// the hooks. pipeline_state.cpp has the caches. See pipeline.hpp.
#include "observe/pipeline/pipeline.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "observe/loops/loop_tree.hpp"
#include "observe/pipeline/loop_events.hpp"
#include "observe/pipeline/pipeline_state.hpp"
#include "observe/pipeline/program_state_guard.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::observe {

namespace {

// Checks the sizes and the order of the caches, as the machine file gives them.
void check(const PipelineConfig& config) {
  if (!std::has_single_bit(config.line.value)) {
    throw Error(Code::invalid, "a cache line of " + std::to_string(config.line.value) +
                                   " bytes: in the machine file, line must be a power of two");
  }
  if (config.caches.size() > k_max_cache_levels) {
    throw Error(Code::invalid, "the machine has " + std::to_string(config.caches.size()) +
                                   " cache levels and at most " + std::to_string(k_max_cache_levels) +
                                   " can be simulated; remove the others from the machine file");
  }
  if (config.tlb.entries > 0 && (!std::has_single_bit(config.tlb.page.value) || config.tlb.page < config.line)) {
    throw Error(Code::invalid,
                "a page of " + std::to_string(config.tlb.page.value) +
                    " bytes: in the machine file, tlb.page must be a power of two, and at least a line");
  }
  for (std::size_t i = 1; i < config.caches.size(); ++i) {
    if (config.caches[i - 1].shared && !config.caches[i].shared) {
      throw Error(Code::invalid, "cache " + config.caches[i].name + " is private and is behind the shared cache " +
                                     config.caches[i - 1].name +
                                     ": list private caches first in the machine file");
    }
  }
}

// Returns the number of lines of the first cache, to which the table of fast lines points.
std::uint64_t first_lines(const PipelineConfig& config) {
  if (config.caches.empty() || config.caches.front().shared) return 1;
  return config.caches.front().size.value / std::max<std::uint64_t>(config.line.value, 1);
}

// Reads the value that a load is about to load. Returns false for sizes that hold neither pointers nor indices.
bool read_value(std::uint64_t address, std::uint32_t size, std::uint64_t& value) {
  const auto* at = reinterpret_cast<const void*>(address);
  if (size == 8) {
    std::memcpy(&value, at, 8);
    return true;
  }
  if (size == 4) {  // an index may be negative
    std::int32_t narrow = 0;
    std::memcpy(&narrow, at, 4);
    value = static_cast<std::uint64_t>(static_cast<std::int64_t>(narrow));
    return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<SharedCache, void (*)(SharedCache*)> make_shared_cache(const PipelineConfig& config) {
  check(config);
  return {new SharedCache(config), [](SharedCache* shared) { delete shared; }};
}

std::uint64_t unknown_accesses(const SharedCache& shared) {
  return shared.unknown.load(std::memory_order_relaxed);
}

Pipeline::Pipeline(const PipelineConfig& config, SharedCache& shared, const AddressMap& map, AccessSink& sink,
                   std::uint32_t thread, ResolveUnknown resolve_unknown, OnQuantumEnd on_quantum_end)
    : fast_(first_lines(config), config.line), map_(map) {
  check(config);
  line_bytes_ = config.line.value;
  for (std::size_t i = 0; i < k_sizes; ++i) limits_[i] = FastLine::limits(line_bytes_, std::uint64_t{1} << i);
  line_bits_ = static_cast<unsigned>(std::countr_zero(config.line.value));
  state_ = std::make_unique<State>(config, shared, map, sink, thread, std::move(resolve_unknown), fast_);
  state_->on_quantum_end = on_quantum_end;
  ranges_are_fast_ = !config.caches.empty() && !config.caches.front().shared;
  quantum_end_ = quantum_accesses_ = state_->quantum_lines;
  work_ = config.work;
  functions_ = config.functions;
  counts_blocks_ = functions_ != nullptr || (work_ != nullptr && work_->is_weighted());
  random_ = thread;
  close_sample_interval();
  map_.watch(fast_.epoch());
}

Pipeline::~Pipeline() { map_.unwatch(fast_.epoch()); }

void Pipeline::access_slow(std::uint64_t address, std::uint32_t size, bool store, std::uint64_t site,
                           Pipeline& pipeline) {
  if (!pipeline.access_followed_line(address, size, store, site))
    pipeline.access_lines(address, size, store, site);
}

inline bool Pipeline::access_followed_line(std::uint64_t address, std::uint32_t size, bool store,
                                           std::uint64_t site) {
  FastLine& fast = fast_.entry(address);
  if (!fast_.follows(fast, address, limits_of(size), store)) return false;
  *fast.used = ++clock_;
  if (store) ++stores_;
  const Level level = store ? k_no_level : state_->followed_level(fast);
  if (clock_ >= next_stop_) on_stop(site);
  std::uint64_t value = 0;
  if (level != k_no_level && read_value(address, size, value)) state_->dependence.on_load(value, level);
  return true;
}

// Simulates an access that the table of fast lines does not serve, line by line.
inline void Pipeline::access_lines(std::uint64_t address, std::uint32_t size, bool store, std::uint64_t site) {
  // A miss of the simulated cache is probably a miss of the host: fetch the line meanwhile.
  __builtin_prefetch(reinterpret_cast<const void*>(address));
  Level level = k_no_level;
  {
    const RuntimeScope inside;
    State& state = *state_;
    if (fast_.is_stale()) [[unlikely]]
      fast_.begin_epoch(map_.generation());
    std::uint64_t at = address;
    std::uint64_t left = std::max(size, 1u);
    for (bool first = true; left > 0; first = false) {
      if (!first) {
        ++state.extra_lines;
        skip_sampling(1);
      }
      ++clock_;
      stores_ += store ? 1 : 0;
      std::uint64_t here = left;
      if (const Translation* page = state.translate(at)) {
        const std::uint64_t canonical = at + page->delta;
        here = std::min(left, line_bytes_ - (canonical & (line_bytes_ - 1)));
        const State::LineAccess accessed =
            state.access_line({canonical >> line_bits_, at, page, {clock_, stores_, store}}, site);
        state.add_fast_line(at, *page, accessed, clock_);
        if (first && here == size) level = accessed.level;
      } else {
        ++state.unknown_lines;  // count the rest as one line
      }
      at += here;
      left -= here;
    }
    if (clock_ >= next_stop_) on_stop(site);
    if (state.nearly_full()) end_quantum();
  }
  // Read outside of the runtime's scope: the program's memory may fault, and its handler may not return here.
  std::uint64_t value = 0;
  if (level != k_no_level && !store && read_value(address, size, value)) state_->dependence.on_load(value, level);
}

void Pipeline::range(std::uint64_t address, std::uint64_t size, bool store, std::uint64_t site) {
  // Most ranges are short, and in a line that was used recently.
  if (ranges_are_fast_ && size - 1 < line_bytes_ &&
      access_fast(address, FastLine::limits(line_bytes_, size), store)) {
    skip_sampling(1);
    add_copied_line(site);
    if (clock_ >= quantum_end_) end_quantum();
    return;
  }
  const RuntimeScope inside;
  State& state = *state_;
  if (fast_.is_stale()) [[unlikely]]
    fast_.begin_epoch(map_.generation());
  while (size > 0) {
    std::uint64_t here = line_bytes_ - (address & (line_bytes_ - 1));
    skip_sampling(1);
    add_copied_line(site);
    if (ranges_are_fast_ && access_fast(address, limits_.front(), store)) {
      here = line_bytes_ - fast_.offset(fast_.entry(address), address);
    } else {
      ++clock_;
      stores_ += store ? 1 : 0;
      if (const Translation* page = state.translate(address)) {
        const std::uint64_t canonical = address + page->delta;
        here = line_bytes_ - (canonical & (line_bytes_ - 1));
        const State::LineAccess accessed =
            state.access_line({canonical >> line_bits_, address, page, {clock_, stores_, store}}, site);
        state.add_fast_line(address, *page, accessed, clock_);
      } else {
        ++state.unknown_lines;
      }
    }
    here = std::min(here, size);
    address += here;
    size -= here;
    if (clock_ >= quantum_end_ || state.nearly_full()) end_quantum();
  }
}

// Counts the instructions by which a C library function copies or sets a line.
void Pipeline::add_copied_line(std::uint64_t site) {
  work_parts_ += k_parts_per_instruction * k_instructions_per_copied_line;
  if (functions_)
    functions_->add(functions_->index(site), FunctionCounters::work,
                    k_parts_per_instruction * k_instructions_per_copied_line);
}

// Returns the instructions that an access by the hook at `site` stands for, in parts of an instruction.
std::uint32_t Pipeline::parts_at(std::uint64_t site) {
  SiteWork work(k_instructions_per_access);
  if (work_ && !work_->lookup(site, work)) [[unlikely]]
    work = find_work(site);
  return work.parts;
}

void Pipeline::count_block(std::uint64_t site, std::uint32_t parts) {
  const auto added = extra_cost_parts(site, parts);
  extra_parts_ += added;
  if (functions_)
    functions_->add(functions_->index(site), FunctionCounters::work, parts + static_cast<std::uint64_t>(added));
}

std::int64_t Pipeline::extra_cost_parts(std::uint64_t site, std::uint32_t parts) const {
  if (work_ == nullptr || !work_->is_weighted()) return 0;
  return std::int64_t{work_->cost_parts(site)} - parts;
}

SiteWork Pipeline::find_work(std::uint64_t site) {
  const RuntimeScope inside;
  const ProgramStateGuard guard;
  return work_->compute(site);
}

void Pipeline::on_stop(std::uint64_t site) {
  const bool sampled = clock_ >= next_sample_;
  if (sampled) sample(site);
  if (clock_ >= quantum_end_) end_quantum();
  if (sampled && t_thread.loop_tree != nullptr) report_sample(site);
}

// Takes a sample: the instructions of this access stand for the accesses since the last sample. Distances are
// random (the highest bits of Knuth's linear congruential generator), so that all accesses are equally likely to
// be sampled, whatever the period of the program's loops.
void Pipeline::sample(std::uint64_t site) {
  last_parts_ = parts_at(site);
  last_extra_parts_ = extra_cost_parts(site, last_parts_);
  last_site_ = site;
  close_sample_interval();
}

// Counts the accesses since the last sample as that sample, and draws the distance to the next one.
void Pipeline::close_sample_interval() {
  constexpr std::uint64_t k_min_distance = 64;
  constexpr unsigned k_random_bits = 7;
  const auto parts = (clock_ - sampled_) * last_parts_;
  const auto added = static_cast<std::int64_t>(clock_ - sampled_) * last_extra_parts_;
  work_parts_ += parts;
  extra_parts_ += added;
  if (functions_ && last_site_ != 0)
    functions_->add(functions_->index(last_site_), FunctionCounters::work,
                    parts + static_cast<std::uint64_t>(added));
  sampled_ = clock_;
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  next_sample_ = clock_ + k_min_distance + (random_ >> (64 - k_random_bits));
  next_stop_ = std::min(next_sample_, quantum_end_);
}

void Pipeline::end_quantum() {
  const RuntimeScope inside;
  const ProgramStateGuard guard;
  deliver_quantum();
  if (state_->on_quantum_end) state_->on_quantum_end();
}

// Passes the accesses since the last quantum to the sink, with the work of the code between them.
void Pipeline::deliver_quantum(bool in_stride) {
  State& state = *state_;
  const std::uint64_t lines = clock_ - state.quantum_begin;
  quantum_end_ = clock_ + quantum_accesses_;
  close_sample_interval();
  const auto parts = cost_parts();
  if (lines == 0 && called_ == 0 && parts < k_parts_per_instruction) return;
  if (called_ > 0) collect_calls();
  instructions_before_ += work_parts_ / k_parts_per_instruction;
  work_parts_ %= k_parts_per_instruction;
  extra_parts_ =
      static_cast<std::int64_t>(parts % k_parts_per_instruction) - static_cast<std::int64_t>(work_parts_);
  state.end_quantum(lines, parts / k_parts_per_instruction, in_stride);
}

// Moves the counts of libm calls into the quantum.
void Pipeline::collect_calls() {
  for (std::uint32_t function = 0; function < calls_.size(); ++function)
    if (calls_[function] > 0) state_->calls.push_back({function, calls_[function]});
  calls_ = {};
  called_ = 0;
}

void Pipeline::on_contention() {
  constexpr std::uint64_t k_min_quantum = 512;  // accesses
  const auto length =
      std::max(clock_ - state_->quantum_begin, work_parts_ / k_parts_per_instruction / k_instructions_per_access) +
      called_ * k_accesses_per_call;
  if (length >= k_min_quantum) end_quantum();
}

void Pipeline::flush(bool in_stride) {
  if (state_->in_sink) return;
  const RuntimeScope inside;
  const ProgramStateGuard guard;
  deliver_quantum(in_stride);
  state_->exposure.barrier();
}

std::uint64_t Pipeline::accesses() const { return clock_ - state_->extra_lines_before - state_->extra_lines; }
std::uint64_t Pipeline::work() const {
  return instructions_before_ + (work_parts_ + (clock_ - sampled_) * last_parts_) / k_parts_per_instruction;
}
std::uint64_t Pipeline::unknown_accesses() const { return state_->unknown_lines_before + state_->unknown_lines; }

}  // namespace terrace::observe
