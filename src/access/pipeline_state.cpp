#include "access/pipeline_state.hpp"

#include <algorithm>
#include <bit>

#include "access/thread.hpp"

namespace terrace::access {

Pipeline::State::State(const PipelineConfig& config, SharedCache& shared_caches, const AddressMap& address_map,
                       backend::AccessSink& access_sink, std::uint32_t thread_number, Unknown unknown_address)
    : map(address_map),
      unknown(std::move(unknown_address)),
      quantum_accesses(std::max<std::uint64_t>(config.quantum_accesses, 1)),
      exposure(config.miss_registers),
      shared(shared_caches),
      sink(access_sink),
      thread(thread_number),
      line_bits(static_cast<unsigned>(std::countr_zero(config.line.value))) {
  own.reserve(config.caches.size());
  for (const auto& cache : config.caches) {
    if (!cache.shared) own.emplace_back(cache.size, cache.ways, config.line);
  }
  for (Cache& cache : own) levels.push_back(&cache);
  first_shared = levels.size();
  for (Cache& cache : shared.levels) levels.push_back(&cache);
  misses.reserve(k_miss_buffer);
}

Pipeline::State::Line Pipeline::State::line_of(std::uint64_t address, const Translation& page) const {
  const std::uint64_t canonical = address + page.delta;
  const std::uint64_t begin = (canonical >> line_bits << line_bits) - page.delta;  // in the host's addresses
  // A line may begin before its chunk does: a stack is not aligned to lines.
  const bool before = static_cast<std::int64_t>(begin - page.origin) < 0;
  return {canonical >> line_bits, address, canonical, page.chunk, before ? 0 : (begin - page.origin) >> line_bits};
}

std::optional<std::uint64_t> Pipeline::State::touch(const Line& line, bool store, std::uint64_t site) {
  std::optional<std::uint64_t> level;
  if (levels.empty()) {
    level = outwards(line, store, site, 0);
  } else {
    Cache& first = *levels[0];
    if (first_shared == 0) shared.lock.lock();
    const Cache::Outcome outcome = first.access(line.number, store ? word::k_dirty : 0);
    std::uint64_t& front = *first.set(line.number);
    if (!outcome.hit) {
      ++first_misses;
      level = outwards(line, store, site, outcome.victim);
      if (level) front |= word::k_fresh;
    } else if ((front & word::k_fresh) != 0) {
      level = dependence.fresh(line.number);
      if (!level) front &= ~word::k_fresh;
    }
    if (!first_is_fast) last_word = front;
    if (first_shared == 0) shared.lock.unlock();
  }
  return level;
}

// The line is not in the first cache: looks for it further out, and brings it in.
std::optional<std::uint64_t> Pipeline::State::outwards(const Line& line, bool store, std::uint64_t site,
                                                       std::uint64_t victim) {
  std::array<std::uint64_t, backend::k_max_cache_levels> victims{};
  victims[0] = victim;
  std::size_t found = 1;
  bool locked = first_shared == 0;
  const bool lock_here = !locked && first_shared < levels.size();
  for (; found < levels.size(); ++found) {
    if (found == first_shared && !locked) {
      shared.lock.lock();
      locked = true;
    }
    const Cache::Outcome outcome = levels[found]->access(line.number, 0);
    if (outcome.hit) {
      ++hits[found];
      break;
    }
    victims[found] = outcome.victim;
  }
  std::optional<std::uint64_t> level;
  if (found >= levels.size()) {
    bool followed = false;
    const std::uint64_t arrives = demand(line, site, followed);
    if (followed) level = arrives;
  } else if (!store) {
    level = dependence.fresh(line.number);
  }
  const std::size_t filled = std::min(found, levels.size());
  for (std::size_t i = 0; i < filled; ++i) {
    if ((victims[i] & word::k_dirty) == 0) continue;
    if (i + 1 >= first_shared && i + 1 < levels.size() && !locked) {
      shared.lock.lock();
      locked = true;
    }
    write_out(i + 1, victims[i]);
  }
  if (lock_here && locked) shared.lock.unlock();
  return level;
}

// A miss of the last level: what kind it is.
std::uint64_t Pipeline::State::demand(const Line& line, std::uint64_t site, bool& followed) {
  backend::Miss miss{line.chunk, static_cast<std::uint16_t>(line.in_chunk), 0, backend::MissKind::prefetched};
  std::uint64_t arrives = 0;
  if (!streams.miss(line.number)) {
    followed = true;
    const auto waits_for = dependence.depends(line.host, line.canonical, site);
    if (waits_for) {
      miss.kind = backend::MissKind::dependent;
      arrives = exposure.dependent(*waits_for, static_cast<std::uint32_t>(misses.size()));
    } else {
      miss.kind = backend::MissKind::independent;
      arrives = exposure.independent();
    }
    dependence.missed(line.number, arrives);
  }
  misses.push_back(miss);
  if (exposure.full()) exposure.close(misses);
  return arrives;
}

// A dirty line leaves the level before `level`.
void Pipeline::State::write_out(std::size_t level, std::uint64_t victim) {
  for (; level < levels.size(); ++level) {
    victim = levels[level]->write_back(word::line(victim)).victim;
    if ((victim & word::k_dirty) == 0) return;
  }
  write_to_memory(word::line(victim));
}

void Pipeline::State::write_to_memory(std::uint64_t line) {
  const std::uint64_t canonical = line << line_bits;
  Reverse& page = reverse[(canonical >> k_page_bits) % k_reverse];
  // A line may begin before the memory that it holds (a stack is not aligned to lines): its last byte counts too.
  const std::uint64_t last = canonical + (std::uint64_t{1} << line_bits) - 1;
  const bool known = canonical - page.low < page.size && page.generation == map.generation().load(std::memory_order_acquire);
  if (!known) {
    Location location;
    std::uint32_t generation = 0;
    if (!map.find_canonical(canonical, location, generation) && !map.find_canonical(last, location, generation)) {
      return;  // freed: nobody will miss it
    }
    page = {location.low, location.high - location.low, location.origin, generation, location.chunk};
  }
  const std::uint64_t in_chunk = (std::max(canonical, page.origin) - page.origin) >> line_bits;
  misses.push_back({page.chunk, static_cast<std::uint16_t>(in_chunk), 0, backend::MissKind::writeback});
}

void Pipeline::State::finish(std::uint64_t accesses) {
  exposure.close(misses);
  const std::uint64_t lines = accesses + extra_lines - unknown_lines;
  if (!levels.empty()) hits[0] = lines - first_misses;
  backend::Quantum quantum;
  quantum.thread = thread;
  quantum.accesses = accesses;
  quantum.hits = hits;
  quantum.misses = misses;
  accesses_before += accesses;
  unknown_lines_before += unknown_lines;
  in_sink = true;
  shared.turn.lock();
  sink.quantum(quantum);
  shared.turn.unlock();
  in_sink = false;
  misses.clear();
  hits = {};
  unknown_lines = extra_lines = first_misses = 0;
}

}  // namespace terrace::access
