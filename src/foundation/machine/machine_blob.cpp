// SPDX-License-Identifier: Apache-2.0
// Serialises a machine, for the launcher to pass it to the library inside the program, and reads it there.
#include <algorithm>

#include "core/error.hpp"
#include "machine/machine.hpp"

namespace terrace::machine {
namespace {

constexpr std::uint32_t k_blob_version = 10;
constexpr std::uint32_t k_no_parent = 0xffffffff;
constexpr InitiatorId k_no_initiator = 0xffff;  // no valid index

void put(BlobWriter& out, const Node& node) {
  out.put(node.name);
  out.put(node.parent.value_or(k_no_parent));
  out.put(node.place.value_or(k_no_place));
}
void get(BlobReader& in, Node& node) {
  node.name = in.get_string();
  const auto parent = in.get<std::uint32_t>();
  if (parent != k_no_parent) node.parent = parent;
  const auto place = in.get<PlaceId>();
  if (place != k_no_place) node.place = place;
}

void put(BlobWriter& out, const Place& place) {
  out.put(place.name);
  out.put(place.kind);
  out.put(place.capacity.value);
  out.put(place.granule.value);
  out.put(place.domain);
  out.put(static_cast<std::int32_t>(place.numa_node));
}
void get(BlobReader& in, Place& place) {
  place.name = in.get_string();
  place.kind = in.get_string();
  place.capacity = {in.get<std::uint64_t>()};
  place.granule = {in.get<std::uint64_t>()};
  place.domain = in.get<DomainId>();
  place.numa_node = in.get<std::int32_t>();
}

void put(BlobWriter& out, const ArrayGeometry& geometry) {
  for (const auto count : {geometry.devices, geometry.banks, geometry.subarrays, geometry.rows, geometry.columns})
    out.put(count);
}
void get(BlobReader& in, ArrayGeometry& geometry) {
  for (auto* count : {&geometry.devices, &geometry.banks, &geometry.subarrays, &geometry.rows, &geometry.columns})
    *count = in.get<std::uint32_t>();
}

void put(BlobWriter& out, const Path& path) {
  out.put(path.initiator);
  out.put(path.place);
  out.put(path.read.value);
  out.put(path.write.value);
  out.put(path.latency.value);
  out.put(static_cast<std::int32_t>(path.distance));
  out.put(static_cast<std::uint8_t>(path.bandwidth_source));
  out.put(static_cast<std::uint8_t>(path.latency_source));
}
Source get_source(BlobReader& in) {
  const auto source = in.get<std::uint8_t>();
  if (source > static_cast<std::uint8_t>(Source::kind))
    throw Error(Code::corrupt, "the recorded machine is damaged: a path has the unknown source of figures " +
                                   std::to_string(source) + "; record again");
  return static_cast<Source>(source);
}
void get(BlobReader& in, Path& path) {
  path.initiator = in.get<InitiatorId>();
  path.place = in.get<PlaceId>();
  path.read = {in.get<double>()};
  path.write = {in.get<double>()};
  path.latency = {in.get<double>()};
  path.distance = in.get<std::int32_t>();
  path.bandwidth_source = get_source(in);
  path.latency_source = get_source(in);
}

void put(BlobWriter& out, const Cache& cache) {
  out.put(cache.name);
  out.put(cache.size.value);
  out.put(cache.ways);
  out.put(static_cast<std::uint8_t>(cache.shared));
  out.put(cache.latency.value);
  out.put(cache.overlapped.value);
}
void get(BlobReader& in, Cache& cache) {
  cache.name = in.get_string();
  cache.size = {in.get<std::uint64_t>()};
  cache.ways = in.get<std::uint32_t>();
  cache.shared = in.get<std::uint8_t>() != 0;
  cache.latency = {in.get<double>()};
  cache.overlapped = {in.get<double>()};
}

void put(BlobWriter& out, const Tlb& tlb) {
  out.put(tlb.entries);
  out.put(tlb.ways);
  out.put(tlb.page.value);
  out.put(tlb.walk.value);
}
void get(BlobReader& in, Tlb& tlb) {
  tlb.entries = in.get<std::uint32_t>();
  tlb.ways = in.get<std::uint32_t>();
  tlb.page = {in.get<std::uint64_t>()};
  tlb.walk = {in.get<double>()};
}

void put(BlobWriter& out, const CopyPath& copy) {
  out.put(copy.from);
  out.put(copy.to);
  out.put(copy.bandwidth.value);
}
void get(BlobReader& in, CopyPath& copy) {
  copy.from = in.get<PlaceId>();
  copy.to = in.get<PlaceId>();
  copy.bandwidth = {in.get<double>()};
}

void put(BlobWriter& out, const BackingFile& file) {
  out.put(file.name);
  out.put(file.beside);
  out.put(file.read.value);
  out.put(file.write.value);
  out.put(file.latency.value);
  out.put(file.requests);
}
void get(BlobReader& in, BackingFile& file) {
  file.name = in.get_string();
  file.beside = in.get<PlaceId>();
  file.read = {in.get<double>()};
  file.write = {in.get<double>()};
  file.latency = {in.get<double>()};
  file.requests = in.get<std::uint32_t>();
}

void put(BlobWriter& out, const PagePrice& price) {
  out.put(price.page.value);
  out.put(price.remap.value);
}
void get(BlobReader& in, PagePrice& price) {
  price.page = {in.get<std::uint64_t>()};
  price.remap = {in.get<double>()};
}

void put(BlobWriter& out, const CopierPrice& copier);
void get(BlobReader& in, CopierPrice& copier);

void put(BlobWriter& out, const Domain& domain) {
  out.put(domain.name);
  out.put(domain.initiator);
}
void get(BlobReader& in, Domain& domain) {  // its places are derived from Place::domain
  domain.name = in.get_string();
  domain.initiator = in.get<InitiatorId>();
}

void put(BlobWriter& out, const Initiator& initiator);
void get(BlobReader& in, Initiator& initiator);

void put(BlobWriter& out, const std::string& text) { out.put(std::string_view(text)); }
void get(BlobReader& in, std::string& text) { text = in.get_string(); }

void put(BlobWriter& out, const StatedOrdering::Rank& rank);
void get(BlobReader& in, StatedOrdering::Rank& rank);
void put(BlobWriter& out, const StatedOrdering& ordering);
void get(BlobReader& in, StatedOrdering& ordering);

template <class T>
void put_all(BlobWriter& out, const std::vector<T>& parts) {
  out.put(static_cast<std::uint32_t>(parts.size()));
  for (const auto& part : parts) put(out, part);
}
template <class T>
void get_all(BlobReader& in, std::vector<T>& parts) {
  // No reserve(): a damaged count must fail at the end of the bytes, not allocate gigabytes.
  const auto count = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i) get(in, parts.emplace_back());
}

void put(BlobWriter& out, const StatedOrdering::Rank& rank) {
  put_all(out, rank.names);
  out.put(static_cast<std::uint8_t>(rank.tie));
}
void get(BlobReader& in, StatedOrdering::Rank& rank) {
  get_all(in, rank.names);
  rank.tie = in.get<std::uint8_t>() != 0;
}

void put(BlobWriter& out, const StatedOrdering& ordering) {
  out.put(ordering.intent);
  out.put(ordering.initiator.value_or(k_no_initiator));
  put_all(out, ordering.ranks);
}
void get(BlobReader& in, StatedOrdering& ordering) {
  ordering.intent = in.get_string();
  const auto initiator = in.get<InitiatorId>();
  if (initiator != k_no_initiator) ordering.initiator = initiator;
  get_all(in, ordering.ranks);
}

void put(BlobWriter& out, const CopierPrice& copier) {
  out.put(copier.name);
  out.put(copier.piece.value);
  out.put(copier.call.value);
  put_all(out, copier.pages);
  out.put(copier.stall.value);
  out.put(static_cast<std::uint8_t>(copier.trap.has_value()));
  out.put(copier.trap.value_or(Seconds{}).value);
  out.put(copier.threads);
  out.put(copier.lines);
}
void get(BlobReader& in, CopierPrice& copier) {
  copier.name = in.get_string();
  copier.piece = {in.get<std::uint64_t>()};
  copier.call = {in.get<double>()};
  get_all(in, copier.pages);
  copier.stall = {in.get<double>()};
  const bool traps = in.get<std::uint8_t>() != 0;
  const Seconds trap{in.get<double>()};
  if (traps) copier.trap = trap;
  copier.threads = in.get<std::uint32_t>();
  copier.lines = in.get<double>();
}

void put(BlobWriter& out, const Initiator& initiator) {
  out.put(initiator.name);
  out.put(initiator.cores);
  out.put(initiator.frequency_hz);
  out.put(initiator.instruction_time.value);
  out.put(initiator.mlp);
  out.put(initiator.prefetch_mlp);
  out.put(initiator.miss_registers);
  out.put(initiator.window);
  out.put(initiator.store_buffer);
  out.put(initiator.streams);
  put_all(out, initiator.caches);
  put(out, initiator.tlb);
  for (const auto time : initiator.library) out.put(time.value);
  out.put(initiator.domain);
}
void get(BlobReader& in, Initiator& initiator) {
  initiator.name = in.get_string();
  initiator.cores = in.get<std::uint32_t>();
  initiator.frequency_hz = in.get<double>();
  initiator.instruction_time = {in.get<double>()};
  initiator.mlp = in.get<double>();
  initiator.prefetch_mlp = in.get<double>();
  initiator.miss_registers = in.get<std::uint32_t>();
  initiator.window = in.get<std::uint32_t>();
  initiator.store_buffer = in.get<std::uint32_t>();
  initiator.streams = in.get<std::uint32_t>();
  get_all(in, initiator.caches);
  get(in, initiator.tlb);
  for (auto& time : initiator.library) time = {in.get<double>()};
  initiator.domain = in.get<DomainId>();
}

}  // namespace

void Machine::to_blob(BlobWriter& out) const {
  out.put(k_blob_version);
  out.put(parts_.name);
  out.put(parts_.description);
  out.put(parts_.fingerprint);
  out.put(parts_.line.value);
  put_all(out, parts_.nodes);
  put_all(out, parts_.places);
  put_all(out, parts_.initiators);
  put_all(out, parts_.domains);
  put_all(out, parts_.paths);
  put_all(out, parts_.copies);
  put_all(out, parts_.copiers);
  put_all(out, parts_.orderings);
  for (const auto& place : parts_.places) {
    out.put(static_cast<std::uint8_t>(place.geometry.has_value()));
    if (place.geometry) put(out, *place.geometry);
  }
  put_all(out, parts_.files);
}

Machine Machine::from_blob(BlobReader& in) {
  const auto version = in.get<std::uint32_t>();
  if (version != k_blob_version) {
    throw Error(Code::corrupt, "the recorded machine has version " + std::to_string(version) +
                                   ", this Terrace reads version " + std::to_string(k_blob_version) +
                                   "; record again");
  }
  MachineParts parts;
  parts.name = in.get_string();
  parts.description = in.get_string();
  parts.fingerprint = in.get_string();
  parts.line = {in.get<std::uint64_t>()};
  get_all(in, parts.nodes);
  get_all(in, parts.places);
  get_all(in, parts.initiators);
  get_all(in, parts.domains);
  get_all(in, parts.paths);
  get_all(in, parts.copies);
  get_all(in, parts.copiers);
  get_all(in, parts.orderings);
  for (auto& place : parts.places)
    if (in.get<std::uint8_t>() != 0) get(in, place.geometry.emplace());
  get_all(in, parts.files);
  return Machine(std::move(parts));
}

}  // namespace terrace::machine
