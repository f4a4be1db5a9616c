// SPDX-License-Identifier: Apache-2.0
// Implements the rules of a machine's parts, each with a message that names the part and its value. The
// constructor of Machine calls it.
#include "machine/machine_checks.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.hpp"
#include "machine/ordering.hpp"

namespace terrace::machine {
namespace {

[[noreturn]] void refuse(const MachineParts& parts, const std::string& text) {
  throw Error(Code::invalid, "machine '" + parts.name + "': " + text);
}

std::string quoted(const std::string& text) { return "'" + text + "'"; }

template <class Parts>
void check_names(const MachineParts& machine, const Parts& parts, const char* what) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].name.empty()) refuse(machine, std::string(what) + " " + std::to_string(i) + " has no name");
    for (std::size_t j = 0; j < i; ++j) {
      if (parts[i].name == parts[j].name) {
        refuse(machine,
               "two " + std::string(what) + "s are called " + quoted(parts[i].name) + "; names must be unique");
      }
    }
  }
}

bool is_positive(double value) { return std::isfinite(value) && value > 0; }

// Makes the tree of a machine that states none: a root with every place as its child.
void grow_flat_tree(MachineParts& parts) {
  const auto root = parts.name.empty() ? std::string("machine") : parts.name;
  parts.nodes.push_back({root, std::nullopt, std::nullopt});
  for (std::size_t i = 0; i < parts.places.size(); ++i) {
    // A place may have the machine's name; the root node then needs another one.
    const auto& name = parts.places[i].name;
    parts.nodes.push_back({name == root ? name + ".place" : name, 0, static_cast<PlaceId>(i)});
  }
}

void check_tree(const MachineParts& parts) {
  const auto& nodes = parts.nodes;
  std::size_t roots = 0;
  std::vector<int> node_of_place(parts.places.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& node = nodes[i];
    if (!node.parent) {
      if (++roots > 1) refuse(parts, "the tree has a second root, " + quoted(node.name) + "; give it a parent");
    } else if (*node.parent >= nodes.size()) {
      refuse(parts, "node " + quoted(node.name) + " has a parent that does not exist");
    } else if (nodes[*node.parent].place) {
      refuse(parts, "node " + quoted(node.name) + " is below the place " + quoted(nodes[*node.parent].name) +
                        "; a place is a leaf");
    }
    if (node.place) {
      if (*node.place >= parts.places.size()) {
        refuse(parts, "node " + quoted(node.name) + " holds a place that does not exist");
      }
      auto& holder = node_of_place[*node.place];
      if (holder >= 0) {
        refuse(parts, "place " + quoted(parts.places[*node.place].name) + " is in the tree twice");
      }
      holder = static_cast<int>(i);
    }
    // A path to the root with more steps than the tree has nodes is a cycle.
    auto at = static_cast<std::uint32_t>(i);
    for (std::size_t steps = 0; at < nodes.size() && nodes[at].parent; ++steps) {
      if (steps > nodes.size()) refuse(parts, "the tree has a cycle through " + quoted(node.name));
      at = *nodes[at].parent;
    }
  }
  if (roots == 0) refuse(parts, "the tree has no root; one node must have no parent");
  for (std::size_t i = 0; i < node_of_place.size(); ++i) {
    if (node_of_place[i] < 0) refuse(parts, "place " + quoted(parts.places[i].name) + " is not in the tree");
  }
}

void check_place(const MachineParts& parts, const Place& place) {
  const auto of = "place " + quoted(place.name) + ": ";
  if (place.kind.empty()) refuse(parts, of + "it has no kind; write for example 'ddr'");
  if (place.capacity.value == 0) refuse(parts, of + "its capacity is 0; it must be above 0");
  const auto granule = place.granule.value;
  if (granule == 0 || (granule & (granule - 1)) != 0) {
    refuse(parts, of + "its granule of " + std::to_string(granule) + " bytes is not a power of two");
  }
  if (place.domain >= parts.domains.size()) refuse(parts, of + "its domain does not exist");
  if (!place.geometry) return;
  if (const auto problem = find_problem(*place.geometry))
    refuse(parts, of + "its geometry: " + problem->key + ": " + problem->text);
  if (const auto size = place.geometry->capacity(); size != place.capacity)
    refuse(parts, of + "its capacity is " + format_exact(place.capacity) + ", but " + describe(*place.geometry) +
                      " hold " + format_exact(size));
}

void check_tlb(const MachineParts& parts, const Tlb& tlb, const std::string& of) {
  if (tlb.entries == 0) return;
  if (tlb.ways == 0 || tlb.ways > k_max_tlb_ways)
    refuse(parts, of + "its TLB has " + std::to_string(tlb.ways) + " ways; it must have 1 to " +
                      std::to_string(k_max_tlb_ways));
  if (tlb.entries > k_max_tlb_entries || tlb.entries % tlb.ways != 0)
    refuse(parts, of + "its TLB has " + std::to_string(tlb.entries) + " entries; they must be a multiple of its " +
                      std::to_string(tlb.ways) + " ways, and at most " + std::to_string(k_max_tlb_entries));
  const auto page = tlb.page.value;
  if (page < k_min_tlb_page.value || (page & (page - 1)) != 0 || tlb.page < parts.line)
    refuse(parts, of + "its TLB has pages of " + format(tlb.page) + "; they must be a power of two from " +
                      format(k_min_tlb_page) + " on, and no smaller than a line");
  if (!is_positive(tlb.walk.value)) refuse(parts, of + "what a page walk of its TLB costs is not above 0");
}

void check_initiator(const MachineParts& parts, const Initiator& initiator) {
  const auto of = "initiator " + quoted(initiator.name) + ": ";
  if (initiator.cores == 0) refuse(parts, of + "it has 0 cores; it must have at least 1");
  if (!std::isfinite(initiator.frequency_hz) || initiator.frequency_hz < 0) {
    refuse(parts, of + "its frequency is not a number of at least 0");
  }
  if (!std::isfinite(initiator.instruction_time.value) || initiator.instruction_time.value < 0) {
    refuse(parts, of + "its instruction time is not a time");
  }
  for (std::size_t i = 0; i < k_library_functions; ++i) {
    const auto time = initiator.library[i].value;
    if (!std::isfinite(time) || time < 0)
      refuse(parts, of + "what a call of " + std::string(k_library[i].name) + " takes is not a time");
  }
  if (!std::isfinite(initiator.mlp) || initiator.mlp < 1) {
    refuse(parts, of + "its miss parallelism is below 1; one miss at a time is the least");
  }
  if (!std::isfinite(initiator.prefetch_mlp) || initiator.prefetch_mlp < 1) {
    refuse(parts, of + "its prefetch parallelism is below 1; one line at a time is the least");
  }
  const auto check_count = [&](const char* what, std::uint32_t value, std::uint32_t max_value) {
    if (value == 0 || value > max_value)
      refuse(parts, of + what + std::to_string(value) + "; it must be 1 to " + std::to_string(max_value));
  };
  check_count("its window of accesses is ", initiator.window, k_max_window);
  check_count("its store buffer is ", initiator.store_buffer, k_max_store_buffer);
  check_count("its number of streams is ", initiator.streams, k_max_streams);
  if (initiator.miss_registers == 0) refuse(parts, of + "it has 0 miss registers; it must have at least 1");
  if (initiator.domain >= parts.domains.size()) refuse(parts, of + "its domain does not exist");
  check_tlb(parts, initiator.tlb, of);
  bool shared = false;
  for (const auto& cache : initiator.caches) {
    const auto in_cache = of + "cache " + quoted(cache.name) + ": ";
    if (cache.ways == 0) refuse(parts, in_cache + "it has 0 ways; it must have at least 1");
    if (cache.size < cache.ways * parts.line) {
      refuse(parts, in_cache + "its size " + format(cache.size) + " is less than one line for each way");
    }
    if (!std::isfinite(cache.overlapped.value) || cache.overlapped.value < 0) {
      refuse(parts, in_cache + "what an overlapped hit costs is not a time");
    }
    if (!std::isfinite(cache.latency.value) || cache.latency.value < 0) {
      refuse(parts, in_cache + "its latency is not a time");
    }
    if (shared && !cache.shared) refuse(parts, in_cache + "it is private but is outside a shared cache");
    shared = cache.shared;
  }
}

const Path* find_path(const MachineParts& parts, InitiatorId initiator, PlaceId place) {
  for (const auto& path : parts.paths) {
    if (path.initiator == initiator && path.place == place) return &path;
  }
  return nullptr;
}

void check_paths(const MachineParts& parts) {
  for (const auto& path : parts.paths) {
    if (path.initiator >= parts.initiators.size()) refuse(parts, "a path begins at no initiator");
    if (path.place >= parts.places.size()) refuse(parts, "a path ends at no place");
    const auto of =
        "path " + parts.initiators[path.initiator].name + " -> " + parts.places[path.place].name + ": ";
    if (find_path(parts, path.initiator, path.place) != &path) refuse(parts, of + "it is given twice");
    if (!is_positive(path.read.value)) refuse(parts, of + "its read bandwidth is not above 0");
    if (!is_positive(path.write.value)) refuse(parts, of + "its write bandwidth is not above 0");
    if (!is_positive(path.latency.value)) refuse(parts, of + "its latency is not above 0");
    if (path.distance < 0 || path.distance > k_max_distance)
      refuse(parts, of + "its distance is " + std::to_string(path.distance) + "; it must be 0 (not known) to " +
                        std::to_string(k_max_distance));
  }
  for (std::size_t i = 0; i < parts.copies.size(); ++i) {
    const auto& copy = parts.copies[i];
    if (copy.from >= parts.places.size() || copy.to >= parts.places.size()) {
      refuse(parts, "a copy path names a place that does not exist");
    }
    const auto of = "copy " + parts.places[copy.from].name + " -> " + parts.places[copy.to].name + ": ";
    if (!is_positive(copy.bandwidth.value)) refuse(parts, of + "its bandwidth is not above 0");
    for (std::size_t j = 0; j < i; ++j) {
      if (parts.copies[j].from == copy.from && parts.copies[j].to == copy.to)
        refuse(parts, of + "it is given twice");
    }
  }
}

void check_copier(const MachineParts& parts, const CopierPrice& copier) {
  const auto of = "copier " + quoted(copier.name) + ": ";
  const auto check_time = [&](Seconds time, const char* what) {
    if (!std::isfinite(time.value) || time.value < 0) refuse(parts, of + what + " is not a time");
  };
  check_time(copier.call, "what a call takes");
  check_time(copier.stall, "how long it stalls a thread");
  if (copier.trap) check_time(*copier.trap, "what a trap costs");
  for (std::size_t i = 0; i < copier.pages.size(); ++i) {
    check_time(copier.pages[i].remap, "what remapping a page takes");
    if (copier.pages[i].page.value == 0 || (i > 0 && copier.pages[i - 1].page >= copier.pages[i].page))
      refuse(parts, of + "its pages do not ascend from a size above 0");
  }
  if (!std::isfinite(copier.lines) || copier.lines < 0) refuse(parts, of + "its lines in flight are no number");
  if (copier.threads > k_max_mover_threads)
    refuse(parts, of + "it has more than " + std::to_string(k_max_mover_threads) + " threads");
}

void check_file(const MachineParts& parts, const BackingFile& file) {
  const auto of = "file " + quoted(file.name) + ": ";
  if (file.beside >= parts.places.size()) refuse(parts, of + "the memory that it backs does not exist");
  for (const auto& place : parts.places)
    if (place.name == file.name) refuse(parts, of + "a place is called so");
  if (!is_positive(file.read.value) || !is_positive(file.write.value))
    refuse(parts, of + "a bandwidth is not above 0");
  if (!is_positive(file.latency.value)) refuse(parts, of + "its latency is not above 0");
  if (file.requests == 0 || file.requests > k_max_requests)
    refuse(parts, of + "it takes " + std::to_string(file.requests) + " requests at once, not 1 to " +
                      std::to_string(k_max_requests));
  for (const auto& other : parts.files)
    if (&other != &file && other.beside == file.beside)
      refuse(parts,
             of + "place " + quoted(parts.places[file.beside].name) + " has another backing file; keep one");
}

void check_ordering(const MachineParts& parts, const StatedOrdering& ordering) {
  const auto of = "ordering " + quoted(ordering.intent) + ": ";
  if (ordering.intent.empty()) refuse(parts, "an ordering has no intent");
  if (ordering.initiator && *ordering.initiator >= parts.initiators.size())
    refuse(parts, of + "its initiator does not exist");
  if (const auto problem = find_problem(ordering, parts.places)) refuse(parts, of + *problem);
  for (const auto& other : parts.orderings)
    if (&other != &ordering && other.intent == ordering.intent && other.initiator == ordering.initiator)
      refuse(parts, of + "it is stated twice for the same initiator");
}

void check_domain(MachineParts& parts, DomainId id) {
  auto& domain = parts.domains[id];
  const auto of = "domain " + quoted(domain.name) + ": ";
  if (domain.initiator >= parts.initiators.size()) refuse(parts, of + "its initiator does not exist");
  const auto& initiator = parts.initiators[domain.initiator];
  if (initiator.domain != id) {
    refuse(parts, of + "its initiator " + quoted(initiator.name) + " says that it belongs to another domain");
  }
  std::vector<PlaceId> members;
  for (std::size_t i = 0; i < parts.places.size(); ++i) {
    if (parts.places[i].domain == id) members.push_back(static_cast<PlaceId>(i));
  }
  if (members.empty()) refuse(parts, of + "it has no place");
  for (const auto place : domain.places) {
    if (std::count(members.begin(), members.end(), place) != 1 ||
        std::count(domain.places.begin(), domain.places.end(), place) != 1) {
      refuse(parts, of + "its list of places contradicts the places' own domains");
    }
  }
  if (!domain.places.empty() && domain.places.size() != members.size()) {
    refuse(parts, of + "its list of places omits a place whose domain it is");
  }
  for (const auto place : members) {
    if (find_path(parts, domain.initiator, place) == nullptr) {
      refuse(parts, of + "there is no path " + initiator.name + " -> " + parts.places[place].name);
    }
  }
  std::stable_sort(members.begin(), members.end(), [&](PlaceId a, PlaceId b) {
    const auto& to_a = *find_path(parts, domain.initiator, a);
    const auto& to_b = *find_path(parts, domain.initiator, b);
    if (to_a.latency != to_b.latency) return to_a.latency < to_b.latency;
    return to_a.read > to_b.read;
  });
  domain.places = std::move(members);
}

}  // namespace

void complete_and_check(MachineParts& parts) {
  if (parts.name.empty()) refuse(parts, "it has no name");
  if (parts.line.value == 0 || (parts.line.value & (parts.line.value - 1)) != 0) {
    refuse(parts, "its cache line of " + std::to_string(parts.line.value) + " bytes is not a power of two");
  }
  if (parts.places.empty()) refuse(parts, "it has no place");
  if (parts.initiators.empty()) refuse(parts, "it has no initiator");
  if (parts.domains.empty()) refuse(parts, "it has no domain");
  if (std::max({parts.places.size(), parts.initiators.size(), parts.domains.size()}) >= k_no_place) {
    refuse(parts, "it has more parts than " + std::to_string(k_no_place - 1));
  }
  check_names(parts, parts.places, "place");
  check_names(parts, parts.initiators, "initiator");
  check_names(parts, parts.domains, "domain");
  check_names(parts, parts.copiers, "copier");
  check_names(parts, parts.files, "file");
  if (parts.nodes.empty()) grow_flat_tree(parts);
  check_names(parts, parts.nodes, "node");
  check_tree(parts);
  for (const auto& place : parts.places) check_place(parts, place);
  for (const auto& initiator : parts.initiators) check_initiator(parts, initiator);
  check_paths(parts);
  for (const auto& copier : parts.copiers) check_copier(parts, copier);
  for (const auto& ordering : parts.orderings) check_ordering(parts, ordering);
  for (const auto& file : parts.files) check_file(parts, file);
  for (std::size_t i = 0; i < parts.domains.size(); ++i) check_domain(parts, static_cast<DomainId>(i));
}

}  // namespace terrace::machine
