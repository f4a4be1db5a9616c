// SPDX-License-Identifier: Apache-2.0
// Encodes and checks the header of a recording (--misses FILE), and compares the cache geometry in it with a
// machine's. Used by the agent, which records, and by `terrace replay`. See recording_format.hpp.
#include "sim/recording/recording_format.hpp"

#include <algorithm>
#include <bit>

#include "core/error.hpp"
#include "core/units.hpp"
#include "observe/access_sink.hpp"

namespace terrace::sim {

namespace {

std::string words(const CacheShape::Level& level) {
  return format(Bytes{level.size}) + " in " + std::to_string(level.ways) + " ways, " +
         (level.shared ? "shared" : "private");
}

std::string words(const CacheShape::Tlb& tlb) {
  if (tlb.entries == 0) return "none";
  return std::to_string(tlb.entries) + " entries in " + std::to_string(tlb.ways) + " ways for pages of " +
         format(Bytes{tlb.page});
}

void require(bool condition, const char* what) {
  if (!condition) throw Error(Code::corrupt, std::string("a recording's header has ") + what);
}

}  // namespace

CacheShape cache_shape(const machine::Machine& machine, InitiatorId initiator) {
  const auto& of = machine.initiators().at(initiator);
  CacheShape shape{machine.parts().line.value, of.miss_registers, of.window, of.store_buffer, of.streams, {}};
  for (const auto& cache : of.caches) shape.levels.push_back({cache.size.value, cache.ways, cache.shared});
  if (of.tlb.entries > 0) shape.tlb = {of.tlb.entries, of.tlb.ways, of.tlb.page.value};
  return shape;
}

std::string difference(const CacheShape& a, const CacheShape& b, std::string_view there, std::string_view here) {
  const auto differ = [&](const std::string& what, const std::string& in_a, const std::string& in_b) {
    return what + ": " + in_a + " " + std::string(there) + ", " + in_b + " " + std::string(here);
  };
  if (a.line != b.line) return differ("cache lines", format(Bytes{a.line}), format(Bytes{b.line}));
  if (a.levels.size() != b.levels.size())
    return differ("cache levels", std::to_string(a.levels.size()), std::to_string(b.levels.size()));
  for (std::size_t i = 0; i < a.levels.size(); ++i)
    if (a.levels[i] != b.levels[i])
      return differ("cache level " + std::to_string(i + 1), words(a.levels[i]), words(b.levels[i]));
  if (a.miss_registers != b.miss_registers)
    return differ("miss registers", std::to_string(a.miss_registers), std::to_string(b.miss_registers));
  if (a.window != b.window)
    return differ("accesses of the reorder window", std::to_string(a.window), std::to_string(b.window));
  if (a.store_buffer != b.store_buffer)
    return differ("stores in the store buffer", std::to_string(a.store_buffer), std::to_string(b.store_buffer));
  if (a.streams != b.streams)
    return differ("streams of the prefetchers", std::to_string(a.streams), std::to_string(b.streams));
  if (a.tlb != b.tlb) return differ("TLB", words(a.tlb), words(b.tlb));
  return {};
}

void RecordingHeader::to_blob(BlobWriter& out) const {
  out.put(identity.process);
  out.put(identity.parent);
  out.put(identity.started_unix_ns);
  out.put(identity.host);
  out.put(identity.program);
  out.put(static_cast<std::uint32_t>(identity.arguments.size()));
  for (const auto& text : identity.arguments) out.put(text);
  out.put(caches.line);
  out.put(caches.miss_registers);
  out.put(caches.window);
  out.put(caches.store_buffer);
  out.put(caches.streams);
  out.put(static_cast<std::uint32_t>(caches.levels.size()));
  for (const auto& level : caches.levels) {
    out.put(level.size);
    out.put(level.ways);
    out.put(static_cast<std::uint8_t>(level.shared));
  }
  out.put(caches.tlb.entries);
  out.put(caches.tlb.ways);
  out.put(caches.tlb.page);
  out.put(quantum_accesses);
  out.put(chunks_per_object);
  out.put(smallest_chunk);
  out.put(largest_chunk);
}

RecordingHeader RecordingHeader::from_blob(BlobReader& in) {
  RecordingHeader header;
  auto& identity = header.identity;
  identity.process = in.get<std::uint32_t>();
  identity.parent = in.get<std::uint32_t>();
  identity.started_unix_ns = in.get<std::int64_t>();
  identity.host = in.get_string();
  identity.program = in.get_string();
  for (auto n = in.get<std::uint32_t>(); n > 0; --n) identity.arguments.push_back(in.get_string());
  auto& caches = header.caches;
  caches.line = in.get<std::uint64_t>();
  caches.miss_registers = in.get<std::uint32_t>();
  caches.window = in.get<std::uint32_t>();
  caches.store_buffer = in.get<std::uint32_t>();
  caches.streams = in.get<std::uint32_t>();
  const auto levels = in.get<std::uint32_t>();
  require(levels <= observe::k_max_cache_levels, "too many cache levels");
  for (std::uint32_t i = 0; i < levels; ++i) {
    auto& level = caches.levels.emplace_back();
    level.size = in.get<std::uint64_t>();
    level.ways = in.get<std::uint32_t>();
    level.shared = in.get<std::uint8_t>() != 0;
  }
  caches.tlb.entries = in.get<std::uint32_t>();
  caches.tlb.ways = in.get<std::uint32_t>();
  caches.tlb.page = in.get<std::uint64_t>();
  header.quantum_accesses = in.get<std::uint64_t>();
  header.chunks_per_object = in.get<std::uint32_t>();
  header.smallest_chunk = in.get<std::uint64_t>();
  header.largest_chunk = in.get<std::uint64_t>();
  require(std::has_single_bit(caches.line), "a cache line that is no power of two");
  require(header.quantum_accesses > 0 && header.quantum_accesses <= k_max_quantum_accesses,
          "quanta of an impossible length");
  require(header.chunks_per_object > 0 && header.chunks_per_object <= k_max_chunks_per_object,
          "impossible numbers of chunks");
  require(header.smallest_chunk > 0 && header.smallest_chunk <= header.largest_chunk &&
              header.largest_chunk < std::uint64_t{1} << 32,
          "impossible sizes of chunks");
  return header;
}

}  // namespace terrace::sim
