// SPDX-License-Identifier: Apache-2.0
// Parses a machine file table by table, so that contradictions are reported with their line. Called where a
// machine is loaded (machine_file.cpp) and by tests.
#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "machine/file/gpu_table.hpp"
#include "machine/file/machine_file.hpp"
#include "machine/file/part_names.hpp"
#include "machine/file/part_tables.hpp"
#include "machine/file/toml_table.hpp"

namespace terrace::machine {
namespace {

constexpr std::int64_t k_schema = 1;
constexpr std::size_t k_max_parts = 4096;  // of one kind; some checks take quadratic time

class Parser {
 public:
  Parser(const toml::table& root, const std::string& file) : top_(root, file, ""), file_(file) {}

  MachineFile parse() {
    top_.allow_only({"schema", "name", "description", "line", "root", "group", "place", "initiator", "domain",
                     "path", "copy", "copier", "ordering", "file", "gpu", "measured"});
    if (const auto schema = top_.integer("schema", 0, 1000000); schema != k_schema) {
      top_.refuse("schema", "this file has version " + std::to_string(schema) + "; this Terrace reads version 1");
    }
    parts_.name = top_.name("name");
    if (top_.has("description")) parts_.description = top_.text("description");
    if (top_.has("line")) {
      parts_.line = top_.size("line");
      need_power_of_two(top_, "line", parts_.line);
    }
    read_domains();
    read_tree();
    read_places();
    read_initiators();
    read_paths();
    read_copies();
    read_copiers();
    for (const auto& table : entries("ordering", false))
      parts_.orderings.push_back(read_ordering(table, initiators_, parts_));
    read_files(entries("file", false), places_, parts_);
    for (const auto& table : entries("gpu", false))
      parts_.gpus.push_back(read_gpu(table, initiators_, places_, parts_));
    check_domains();
    std::optional<Measurement> measured;
    if (top_.has("measured")) {
      const auto table = top_.table("measured");
      parts_.fingerprint = table.name("fingerprint");
      measured = read_measurement(table, {initiators_, places_, copiers_});
    }
    return {build(), std::move(measured)};
  }

 private:
  static void need_power_of_two(const TomlTable& table, std::string_view key, Bytes size) {
    if ((size.value & (size.value - 1)) != 0) {
      table.refuse(key,
                   format(size) + " is not a power of two; write for example " + (key == "line" ? "64B" : "4KiB"));
    }
  }

  std::vector<TomlTable> entries(std::string_view key, bool required) {
    auto tables = top_.entries(key);
    if (required && tables.empty()) {
      top_.refuse(key, "the machine has none; add a [[" + std::string(key) + "]]");
    }
    if (tables.size() > k_max_parts) {
      top_.refuse(key, "there are " + std::to_string(tables.size()) + " of them; at most " +
                           std::to_string(k_max_parts) + " are supported");
    }
    return tables;
  }

  // Reads domains first, because places and initiators refer to them. Their initiators are resolved later.
  void read_domains() {
    domain_tables_ = entries("domain", true);
    for (const auto& table : domain_tables_) {
      table.allow_only({"name", "initiator"});
      Domain domain;
      domain.name = table.name("name");
      domains_.add(table, "name", domain.name);
      parts_.domains.push_back(domain);
    }
  }

  // Reads the inner nodes: a root, and groups below it in any order.
  void read_tree() {
    Node root{top_.has("root") ? top_.name("root") : parts_.name, std::nullopt, std::nullopt};
    nodes_.add(top_, top_.has("root") ? "root" : "name", root.name);
    parts_.nodes.push_back(root);
    const auto groups = entries("group", false);
    for (const auto& table : groups) {
      table.allow_only({"name", "parent"});
      nodes_.add(table, "name", table.name("name"));
      parts_.nodes.push_back({table.name("name"), 0, std::nullopt});
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].has("parent")) parts_.nodes[i + 1].parent = nodes_.find(groups[i], "parent");
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      std::uint32_t at = static_cast<std::uint32_t>(i) + 1;
      for (std::size_t steps = 0; parts_.nodes[at].parent; ++steps) {
        if (steps > groups.size()) {
          groups[i].refuse("parent", "the tree has a cycle through '" + parts_.nodes[i + 1].name +
                                         "'; let its ancestors end at the root, '" + parts_.nodes[0].name + "'");
        }
        at = *parts_.nodes[at].parent;
      }
    }
  }

  void read_places() {
    place_tables_ = entries("place", true);
    for (const auto& table : place_tables_) {
      table.allow_only({"name", "kind", "capacity", "granule", "domain", "parent", "numa_node", "geometry"});
      Place place;
      place.name = table.name("name");
      place.kind = table.name("kind");
      place.capacity = table.size("capacity");
      if (table.has("granule")) place.granule = table.size("granule");
      need_power_of_two(table, "granule", place.granule);
      place.domain = domains_.find(table, "domain");
      if (table.has("numa_node")) place.numa_node = static_cast<int>(table.integer("numa_node", 0, 1 << 20));
      if (table.has("geometry")) read_geometry(table, place);
      places_.add(table, "name", place.name);
      // Find the parent before adding the place, so that only groups can be parents.
      const std::uint32_t parent = table.has("parent") ? nodes_.find(table, "parent") : 0;
      parts_.nodes.push_back({place.name, parent, static_cast<PlaceId>(parts_.places.size())});
      parts_.places.push_back(place);
    }
    for (std::size_t i = 0; i < place_tables_.size(); ++i)
      nodes_.add(place_tables_[i], "name", parts_.places[i].name);
  }

  static void read_geometry(const TomlTable& place_table, Place& place) {
    const auto table = place_table.table("geometry");
    table.allow_only({"devices", "banks", "subarrays", "rows", "columns"});
    const auto count = [&](std::string_view key) {
      return static_cast<std::uint32_t>(table.integer(key, 1, std::int64_t{1} << 31));
    };
    auto& geometry = place.geometry.emplace();
    if (table.has("devices")) geometry.devices = count("devices");
    geometry.banks = count("banks");
    geometry.subarrays = count("subarrays");
    geometry.rows = count("rows");
    geometry.columns = count("columns");
    if (const auto problem = find_problem(geometry)) table.refuse(problem->key, problem->text);
    if (const auto size = geometry.capacity(); size != place.capacity)
      place_table.refuse("capacity", format_exact(place.capacity) + " is not what " + describe(geometry) +
                                         " hold; write \"" + format_exact(size) + "\"");
  }

  void read_initiators() {
    const auto tables = entries("initiator", true);
    for (const auto& table : tables) {
      table.allow_only({"name", "cores", "frequency", "instruction_time", "mlp", "prefetch_mlp", "miss_registers",
                        "window", "store_buffer", "streams", "domain", "library", "cache", "tlb"});
      Initiator initiator;
      initiator.name = table.name("name");
      initiators_.add(table, "name", initiator.name);
      initiator.cores = static_cast<std::uint32_t>(table.integer("cores", 1, 1 << 24));
      if (table.has("frequency")) initiator.frequency_hz = table.frequency("frequency");
      initiator.instruction_time = table.time("instruction_time");
      initiator.mlp = table.number("mlp", 1);
      initiator.prefetch_mlp = table.number("prefetch_mlp", 1);
      if (table.has("miss_registers")) {
        initiator.miss_registers = static_cast<std::uint32_t>(table.integer("miss_registers", 1, 1 << 20));
      } else {
        initiator.miss_registers = static_cast<std::uint32_t>(std::min(initiator.mlp, 1048576.0));
      }
      for (const auto& [key, value, max_value] : {std::tuple{"window", &initiator.window, k_max_window},
                                                  {"store_buffer", &initiator.store_buffer, k_max_store_buffer},
                                                  {"streams", &initiator.streams, k_max_streams}})
        if (table.has(key)) *value = static_cast<std::uint32_t>(table.integer(key, 1, max_value));
      if (table.has("library")) read_library(table.table("library"), initiator.library);
      read_caches(table, initiator);
      if (table.has("tlb")) read_tlb(table.table("tlb"), initiator.tlb);
      parts_.initiators.push_back(initiator);
    }
    for (std::size_t i = 0; i < domain_tables_.size(); ++i) {
      parts_.domains[i].initiator = initiators_.find(domain_tables_[i], "initiator");
    }
    for (std::size_t i = 0; i < tables.size(); ++i) parts_.initiators[i].domain = domain_of(tables[i], i);
  }

  // Assigns each initiator to the domain that names it; if several share a domain, to the one that the initiator
  // names.
  DomainId domain_of(const TomlTable& table, std::size_t initiator) const {
    std::optional<DomainId> named_by;
    for (std::size_t d = 0; d < parts_.domains.size(); ++d) {
      if (parts_.domains[d].initiator != initiator) continue;
      if (named_by) {
        domain_tables_[d].refuse("initiator", "'" + parts_.initiators[initiator].name +
                                                  "' already serves domain '" + parts_.domains[*named_by].name +
                                                  "'; give each its own");
      }
      named_by = static_cast<DomainId>(d);
    }
    if (!table.has("domain")) {
      if (!named_by) table.refuse("domain", "no domain names this initiator; say to which it belongs");
      return *named_by;
    }
    const auto named = domains_.find(table, "domain");
    if (named_by && named != *named_by) {
      table.refuse("domain",
                   "domain '" + parts_.domains[*named_by].name + "' names this initiator; say the same here");
    }
    return named;
  }

  static void read_library(const TomlTable& table, LibraryTimes& times) {
    std::vector<std::string> names;
    names.reserve(k_library.size());
    for (const auto& function : k_library) names.emplace_back(function.name);
    table.allow_only(names);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (table.has(names[i])) times[i] = table.time(names[i]);
  }

  void read_caches(const TomlTable& initiator_table, Initiator& initiator) {
    NameIndex names("cache of this initiator");
    for (const auto& table : initiator_table.entries("cache")) {
      table.allow_only({"name", "size", "ways", "shared", "latency", "overlapped"});
      Cache cache;
      cache.name = table.name("name");
      names.add(table, "name", cache.name);
      cache.size = table.size("size");
      cache.ways = static_cast<std::uint32_t>(table.integer("ways", 1, 1 << 20));
      if (table.has("shared")) cache.shared = table.flag("shared");
      cache.latency = table.time("latency");
      if (table.has("overlapped")) cache.overlapped = table.time("overlapped");
      if (cache.size < cache.ways * parts_.line) {
        table.refuse("size", format(cache.size) + " is less than one line of " + format(parts_.line) +
                                 " for each of " + std::to_string(cache.ways) +
                                 " ways; write a larger size or fewer ways");
      }
      if (!initiator.caches.empty() && initiator.caches.back().shared && !cache.shared) {
        table.refuse("shared", "a private cache is outside the shared cache '" + initiator.caches.back().name +
                                   "'; list caches from the core outwards");
      }
      initiator.caches.push_back(cache);
    }
  }

  void read_tlb(const TomlTable& table, Tlb& tlb) const {
    table.allow_only({"entries", "ways", "page", "walk"});
    tlb.entries = static_cast<std::uint32_t>(table.integer("entries", 1, k_max_tlb_entries));
    tlb.ways = static_cast<std::uint32_t>(table.integer("ways", 1, k_max_tlb_ways));
    if (tlb.entries % tlb.ways != 0)
      table.refuse("entries", std::to_string(tlb.entries) + " is no multiple of the " + std::to_string(tlb.ways) +
                                  " ways; write one");
    if (table.has("page")) tlb.page = table.size("page");
    need_power_of_two(table, "page", tlb.page);
    if (const auto min_page = std::max(k_min_tlb_page, parts_.line); tlb.page < min_page)
      table.refuse("page", format(tlb.page) + " is less than the smallest possible page; write at least \"" +
                               format(min_page) + "\"");
    tlb.walk = table.time("walk");
  }

  void read_paths() {
    for (const auto& table : entries("path", false)) {
      table.allow_only(
          {"initiator", "place", "read", "write", "latency", "distance", "bandwidth_source", "latency_source"});
      Path path;
      path.initiator = initiators_.find(table, "initiator");
      path.place = places_.find(table, "place");
      path.read = table.bandwidth("read");
      path.write = table.bandwidth("write");
      path.latency = table.time("latency");
      if (table.has("distance")) path.distance = static_cast<int>(table.integer("distance", 1, k_max_distance));
      path.bandwidth_source = read_source(table, "bandwidth_source");
      path.latency_source = read_source(table, "latency_source");
      if (!path_keys_.emplace(std::pair(path.initiator, path.place), true).second) {
        table.refuse("place", "a second path leads from '" + parts_.initiators[path.initiator].name + "' to '" +
                                  parts_.places[path.place].name + "'; keep one");
      }
      parts_.paths.push_back(path);
    }
  }

  void read_copies() {
    std::map<std::pair<PlaceId, PlaceId>, bool> seen;
    for (const auto& table : entries("copy", false)) {
      table.allow_only({"from", "to", "bandwidth"});
      CopyPath copy;
      copy.from = places_.find(table, "from");
      copy.to = places_.find(table, "to");
      copy.bandwidth = table.bandwidth("bandwidth");
      if (!seen.emplace(std::pair(copy.from, copy.to), true).second) {
        table.refuse("to", "a second copy path leads from '" + parts_.places[copy.from].name + "' to '" +
                               parts_.places[copy.to].name + "'; keep one");
      }
      parts_.copies.push_back(copy);
    }
  }

  void read_copiers() {
    for (const auto& table : entries("copier", false)) {
      parts_.copiers.push_back(read_copier(table));
      copiers_.add(table, "name", parts_.copiers.back().name);
    }
  }

  void check_domains() const {
    for (std::size_t p = 0; p < parts_.places.size(); ++p) {
      const auto& place = parts_.places[p];
      const auto& domain = parts_.domains[place.domain];
      if (!path_keys_.contains({domain.initiator, static_cast<PlaceId>(p)})) {
        const auto& initiator = parts_.initiators[domain.initiator].name;
        auto text = "no path leads from '" + initiator + "' to '" + place.name;
        text += "'; add a [[path]] with initiator = \"" + initiator;
        text += "\", place = \"" + place.name + "\", read, write and latency";
        place_tables_[p].refuse("domain", text);
      }
    }
    for (std::size_t d = 0; d < parts_.domains.size(); ++d) {
      const auto in_domain = [&](const Place& place) { return place.domain == d; };
      if (std::none_of(parts_.places.begin(), parts_.places.end(), in_domain)) {
        domain_tables_[d].refuse("name", "no place belongs to domain '" + parts_.domains[d].name +
                                             "'; give one domain = \"" + parts_.domains[d].name + "\"");
      }
    }
  }

  Machine build() {
    try {
      return Machine(std::move(parts_));
    } catch (const Error& error) {
      throw Error(Code::invalid, file_ + ":1: " + error.what());
    }
  }

  TomlTable top_;
  std::string file_;
  MachineParts parts_;
  NameIndex nodes_{"node of the tree"};
  NameIndex places_{"place"};
  NameIndex initiators_{"initiator"};
  NameIndex domains_{"domain"};
  NameIndex copiers_{"copier"};
  std::vector<TomlTable> domain_tables_;
  std::vector<TomlTable> place_tables_;
  std::map<std::pair<InitiatorId, PlaceId>, bool> path_keys_;
};

}  // namespace

MachineFile parse_machine_file(std::string_view text, const std::string& file_name) {
  const auto parsed = [&] {
    try {
      return toml::parse(text, file_name);
    } catch (const toml::parse_error& error) {
      throw_parse_error(error, file_name);
    }
  }();
  return Parser(parsed, file_name).parse();
}

}  // namespace terrace::machine
