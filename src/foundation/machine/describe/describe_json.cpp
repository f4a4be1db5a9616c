// SPDX-License-Identifier: Apache-2.0
// Formats a machine as JSON, for `terrace machine --json`: names instead of indices; plain numbers in bytes, bytes
// per second, seconds, hertz.
#include <nlohmann/json.hpp>

#include "machine/describe/describe.hpp"

namespace terrace::machine {
namespace {

using Json = nlohmann::ordered_json;

Json tree_json(const MachineParts& parts) {
  auto nodes = Json::array();
  for (const auto& node : parts.nodes) {
    Json entry{{"name", node.name}};
    entry["parent"] = node.parent ? Json(parts.nodes[*node.parent].name) : Json(nullptr);
    entry["place"] = node.place ? Json(parts.places[*node.place].name) : Json(nullptr);
    nodes.push_back(std::move(entry));
  }
  return nodes;
}

Json geometry_json(const std::optional<ArrayGeometry>& geometry) {
  if (!geometry) return nullptr;
  return {{"devices", geometry->devices},
          {"banks", geometry->banks},
          {"subarrays", geometry->subarrays},
          {"rows", geometry->rows},
          {"columns", geometry->columns}};
}

Json places_json(const MachineParts& parts) {
  auto places = Json::array();
  for (const auto& place : parts.places) {
    Json entry{{"name", place.name},
               {"kind", place.kind},
               {"capacity", place.capacity.value},
               {"granule", place.granule.value},
               {"domain", parts.domains[place.domain].name}};
    entry["numa_node"] = place.numa_node >= 0 ? Json(place.numa_node) : Json(nullptr);
    entry["geometry"] = geometry_json(place.geometry);
    places.push_back(std::move(entry));
  }
  return places;
}

Json library_json(const Initiator& initiator) {
  auto library = Json::object();
  const auto times = library_times(initiator);
  for (std::size_t i = 0; i < times.size(); ++i) library[std::string(k_library[i].name)] = times[i].value;
  return library;
}

Json tlb_json(const Tlb& tlb) {
  if (tlb.entries == 0) return nullptr;
  return {{"entries", tlb.entries}, {"ways", tlb.ways}, {"page", tlb.page.value}, {"walk", tlb.walk.value}};
}

Json initiators_json(const MachineParts& parts) {
  auto initiators = Json::array();
  for (const auto& initiator : parts.initiators) {
    auto caches = Json::array();
    for (const auto& cache : initiator.caches) {
      caches.push_back({{"name", cache.name},
                        {"size", cache.size.value},
                        {"ways", cache.ways},
                        {"shared", cache.shared},
                        {"latency", cache.latency.value},
                        {"overlapped", cache.overlapped.value}});
    }
    initiators.push_back({{"name", initiator.name},
                          {"domain", parts.domains[initiator.domain].name},
                          {"cores", initiator.cores},
                          {"frequency", initiator.frequency_hz},
                          {"instruction_time", initiator.instruction_time.value},
                          {"mlp", initiator.mlp},
                          {"prefetch_mlp", initiator.prefetch_mlp},
                          {"miss_registers", initiator.miss_registers},
                          {"window", initiator.window},
                          {"store_buffer", initiator.store_buffer},
                          {"streams", initiator.streams},
                          {"library", library_json(initiator)},
                          {"tlb", tlb_json(initiator.tlb)},
                          {"caches", std::move(caches)}});
  }
  return initiators;
}

Json domains_json(const Machine& machine) {
  auto domains = Json::array();
  for (std::size_t i = 0; i < machine.domains().size(); ++i) {
    const auto& domain = machine.domains()[i];
    auto nearest = Json::array();
    for (const auto place : domain.places) nearest.push_back(machine.place(place).name);
    auto fastest = Json::array();
    for (const auto place : machine.fastest_first(static_cast<DomainId>(i)))
      fastest.push_back(machine.place(place).name);
    domains.push_back({{"name", domain.name},
                       {"initiator", machine.initiators()[domain.initiator].name},
                       {"nearest_first", std::move(nearest)},
                       {"fastest_first", std::move(fastest)},
                       {"home", machine.place(machine.home(static_cast<DomainId>(i))).name}});
  }
  return domains;
}

Json paths_json(const MachineParts& parts) {
  auto paths = Json::array();
  for (const auto& path : parts.paths) {
    paths.push_back({{"initiator", parts.initiators[path.initiator].name},
                     {"place", parts.places[path.place].name},
                     {"read", path.read.value},
                     {"write", path.write.value},
                     {"latency", path.latency.value}});
  }
  return paths;
}

Json copies_json(const Machine& machine) {
  auto copies = Json::array();
  for (const auto& copy : machine.parts().copies) {
    copies.push_back({{"from", machine.place(copy.from).name},
                      {"to", machine.place(copy.to).name},
                      {"bandwidth", copy.bandwidth.value}});
  }
  return copies;
}

Json copiers_json(const MachineParts& parts) {
  auto copiers = Json::array();
  for (const auto& copier : parts.copiers) {
    auto pages = Json::array();
    for (const auto& [page, remap] : copier.pages) pages.push_back({{"page", page.value}, {"remap", remap.value}});
    copiers.push_back({{"name", copier.name},
                       {"piece", copier.piece.value},
                       {"call", copier.call.value},
                       {"pages", std::move(pages)},
                       {"stall", copier.stall.value},
                       {"trap", copier.trap ? Json(copier.trap->value) : Json(nullptr)},
                       {"threads", copier.threads},
                       {"lines", copier.lines}});
  }
  return copiers;
}

Json files_json(const MachineParts& parts) {
  auto files = Json::array();
  for (const auto& file : parts.files)
    files.push_back({{"name", file.name},
                     {"beside", parts.places[file.beside].name},
                     {"read", file.read.value},
                     {"write", file.write.value},
                     {"latency", file.latency.value},
                     {"requests", file.requests}});
  return files;
}

Json measurement_json(const MachineParts& parts, const Measurement& measured) {
  Json entry{{"fingerprint", parts.fingerprint},
             {"date", measured.date},
             {"processor", measured.processor},
             {"repetitions", measured.repetitions},
             {"notes", measured.notes}};
  auto times = Json::array();
  for (const auto& row : measured.times)
    times.push_back({{"initiator", parts.initiators[row.initiator].name},
                     {"figure", row.figure},
                     {"best", row.seconds.best},
                     {"median", row.seconds.median},
                     {"spread", row.seconds.spread}});
  entry["times"] = std::move(times);
  auto bandwidths = Json::array();
  for (const auto& row : measured.bandwidths) {
    bandwidths.push_back({{"initiator", parts.initiators[row.initiator].name},
                          {"place", parts.places[row.place].name},
                          {"threads", row.threads},
                          {"kernel", row.kernel},
                          {"best", row.bytes_per_second.best},
                          {"median", row.bytes_per_second.median},
                          {"spread", row.bytes_per_second.spread}});
  }
  auto latencies = Json::array();
  for (const auto& row : measured.latencies) {
    latencies.push_back({{"initiator", parts.initiators[row.initiator].name},
                         {"place", parts.places[row.place].name},
                         {"pages", row.pages},
                         {"load", row.load},
                         {"best", row.seconds.best},
                         {"median", row.seconds.median},
                         {"spread", row.seconds.spread}});
  }
  entry["bandwidths"] = std::move(bandwidths);
  entry["latencies"] = std::move(latencies);
  auto copiers = Json::array();
  for (const auto& row : measured.copiers) {
    copiers.push_back({{"copier", row.copier},
                       {"what", row.what},
                       {"pages", row.pages},
                       {"size", row.size.value},
                       {"best", row.seconds.best},
                       {"median", row.seconds.median},
                       {"spread", row.seconds.spread}});
  }
  entry["copiers"] = std::move(copiers);
  return entry;
}

}  // namespace

std::string describe_json(const Machine& machine, const Measurement* measured) {
  const auto& parts = machine.parts();
  Json json{{"schema", 1},
            {"name", parts.name},
            {"description", parts.description},
            {"line", parts.line.value},
            {"tree", tree_json(parts)},
            {"places", places_json(parts)},
            {"initiators", initiators_json(parts)},
            {"domains", domains_json(machine)},
            {"paths", paths_json(parts)},
            {"copies", copies_json(machine)},
            {"copiers", copiers_json(parts)},
            {"files", files_json(parts)}};
  json["measured"] = measured != nullptr ? measurement_json(parts, *measured) : Json(nullptr);
  // A description may contain any bytes; invalid UTF-8 becomes the replacement character.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace terrace::machine
