// SPDX-License-Identifier: Apache-2.0
// Builds a machine from hwloc's topology, for `terrace machine` and for runs without a machine file. Nodes become
// places. The sets of cores with local memory become initiators, each with its domain. Every initiator gets a path
// to every place.
#include "machine/discover/discovery.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "core/userfault_file.hpp"
#include "machine/discover/hwloc_topology.hpp"
#include "machine/discover/path_figures.hpp"
#include "machine/place_kind.hpp"

namespace terrace::machine {
namespace {

// Defaults of an unmeasured core, used by virtual time until `terrace machine measure`.
constexpr Seconds k_instruction_time{0.0625e-9};
constexpr double k_mlp = 10;
constexpr double k_prefetch_mlp = 20;
constexpr Seconds k_cache_latency[] = {{1.2e-9}, {4e-9}, {15e-9}, {40e-9}};

// Returns default costs of migration between nodes: by page exchange if the system allows it to this process, else
// by move_pages(2). Sources: as in machines/ddr5-cxl.toml.
CopierPrice default_copier(const std::vector<Initiator>& initiators) {
  CopierPrice price;
  price.piece = Bytes{k_huge_page};
  price.stall = Seconds{20e-6};
  const int file = open_userfault(k_userfault_move);
  if (file < 0) {
    price.name = "numa_move_pages";
    price.call = Seconds{12e-6};
    price.pages = {{Bytes{4096}, Seconds{0.87e-6}}, {Bytes{65536}, Seconds{3.9e-6}}, {Bytes{k_huge_page}, {}}};
    price.threads = 1;
    return price;
  }
  ::close(file);
  price.name = "numa_swap";
  price.call = Seconds{25e-6};
  price.pages = {{Bytes{4096}, Seconds{0.2e-6}}, {Bytes{k_huge_page}, {}}};
  price.trap = Seconds{4e-6};
  double fewest = initiators.front().cores;
  for (const auto& one : initiators) fewest = std::min(fewest, static_cast<double>(one.cores));
  price.threads = static_cast<std::uint32_t>(std::clamp(fewest / 2, 1.0, 4.0));
  return price;
}

// Returns "model name" or "cpu MHz" of the first processor in /proc/cpuinfo, or "".
std::string cpuinfo(const char* key) {
  std::FILE* file = std::fopen("/proc/cpuinfo", "r");
  if (file == nullptr) return "";
  char line[512];
  std::string value;
  while (value.empty() && std::fgets(line, sizeof line, file) != nullptr) {
    const char* colon = std::strchr(line, ':');
    if (std::strncmp(line, key, std::strlen(key)) == 0 && colon != nullptr) value = colon + 1;
  }
  std::fclose(file);
  const auto first = value.find_first_not_of(" \t");
  const auto last = value.find_last_not_of(" \t\n");
  return first == std::string::npos ? "" : value.substr(first, last - first + 1);
}

class Discovery {
 public:
  explicit Discovery(HwlocTopology topology) : topology_(std::move(topology)) {}

  Discovered run() {
    nodes_ = topology_.objects(HWLOC_OBJ_NUMANODE);
    std::erase_if(nodes_, [](hwloc_obj_t node) { return node->attr->numanode.local_memory == 0; });
    name_processor();
    find_initiators();
    for (std::size_t i = 0; i < sets_.size(); ++i) add_initiator(i);
    parts_.nodes.push_back({"board", std::nullopt, std::nullopt});
    add_packages();
    add_places();
    add_paths();
    if (parts_.places.size() > 1) parts_.copiers.push_back(default_copier(parts_.initiators));
    parts_.name = "this-machine";
    describe();
    return {Machine(std::move(parts_)), std::move(processors_), std::move(last_level_),
            std::move(processor_name_)};
  }

 private:
  // Finds the smallest non-empty sets of cores that are local to some memory. A node that is local to several of
  // them (CXL memory on the board) does not define a set.
  void find_initiators() {
    std::vector<hwloc_cpuset_t> candidates;
    for (const auto node : nodes_) {
      if (node->cpuset == nullptr || hwloc_bitmap_iszero(node->cpuset) != 0) continue;
      const bool known = std::any_of(candidates.begin(), candidates.end(), [&](hwloc_cpuset_t set) {
        return hwloc_bitmap_isequal(set, node->cpuset) != 0;
      });
      if (!known) candidates.push_back(node->cpuset);
    }
    for (const auto set : candidates) {
      const bool wider = std::any_of(candidates.begin(), candidates.end(), [&](hwloc_cpuset_t other) {
        return other != set && hwloc_bitmap_isincluded(other, set) != 0;
      });
      if (!wider) sets_.push_back(set);
    }
    if (sets_.empty()) sets_.push_back(hwloc_get_root_obj(topology_.get())->cpuset);
  }

  void add_initiator(std::size_t index) {
    const auto set = sets_[index];
    Initiator initiator;
    initiator.name = "cores" + std::to_string(index);
    initiator.domain = static_cast<DomainId>(index);
    initiator.instruction_time = k_instruction_time;
    initiator.mlp = k_mlp;
    initiator.prefetch_mlp = k_prefetch_mlp;
    initiator.frequency_hz = topology_.frequency(set);
    if (initiator.frequency_hz == 0 && topology_.is_this_system()) {
      initiator.frequency_hz = 1e6 * std::strtod(cpuinfo("cpu MHz").c_str(), nullptr);
    }
    auto cores = topology_.objects_within(HWLOC_OBJ_CORE, set);
    if (cores.empty()) cores = topology_.objects_within(HWLOC_OBJ_PU, set);
    initiator.cores = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(cores.size()));
    add_processors(cores, set);
    last_level_.push_back({0});
    if (!cores.empty()) add_caches(initiator, cores.front(), set);
    parts_.initiators.push_back(initiator);
    parts_.domains.push_back({"domain" + std::to_string(index), static_cast<InitiatorId>(index), {}});
  }

  // Lists one hardware thread of each core first, then the others.
  void add_processors(const std::vector<hwloc_obj_t>& cores, hwloc_const_cpuset_t set) {
    std::vector<int> first;
    first.reserve(cores.size());
    for (const auto core : cores) first.push_back(hwloc_bitmap_first(core->cpuset));
    std::vector<int> all = first;
    for (const auto unit : topology_.objects_within(HWLOC_OBJ_PU, set)) {
      const int number = static_cast<int>(unit->os_index);
      if (std::find(first.begin(), first.end(), number) == first.end()) all.push_back(number);
    }
    processors_.push_back(std::move(all));
  }

  void add_caches(Initiator& initiator, hwloc_obj_t core, hwloc_const_cpuset_t set) {
    for (auto object = core; object != nullptr; object = object->parent) {
      if (hwloc_obj_type_is_dcache(object->type) == 0) continue;
      const auto& cache = object->attr->cache;
      Cache made;
      made.name = std::to_string(cache.depth).insert(0, 1, 'l');
      made.size = {cache.size};
      if (cache.linesize != 0) parts_.line = {cache.linesize};
      // hwloc reports -1 for a fully associative cache and 0 for unknown associativity.
      made.ways = cache.associativity > 0 ? static_cast<std::uint32_t>(cache.associativity) : 8;
      made.shared = topology_.objects_within(HWLOC_OBJ_CORE, object->cpuset).size() > 1;
      made.latency = k_cache_latency[std::min<unsigned>(cache.depth == 0 ? 0 : cache.depth - 1, 3)];
      if (made.size < made.ways * parts_.line) continue;  // virtual machines report caches of size 0
      last_level_.back() = {0};
      for (const auto sister : topology_.objects_within(object->type, set)) {
        last_level_.back() += Bytes{sister->attr->cache.size};
      }
      last_level_.back() = std::max(last_level_.back(), made.size);  // the cache may extend beyond the set
      initiator.caches.push_back(made);
    }
  }

  void add_packages() {
    const auto packages = topology_.objects(HWLOC_OBJ_PACKAGE);
    if (packages.size() < 2) return;
    for (const auto package : packages) {
      package_nodes_.emplace_back(package, static_cast<std::uint32_t>(parts_.nodes.size()));
      parts_.nodes.push_back({"package" + std::to_string(package->logical_index), 0, std::nullopt});
    }
  }

  // Returns the initiator nearest to a node: the one it shares cores with; among several the one with the least
  // latency, the highest bandwidth or the shortest distance.
  DomainId domain_of(hwloc_obj_t node) const {
    const auto cost = [&](std::size_t i) {
      const bool near = node->cpuset != nullptr && hwloc_bitmap_intersects(node->cpuset, sets_[i]) != 0;
      const auto latency = topology_.attribute(HWLOC_MEMATTR_ID_LATENCY, node, sets_[i]);
      const auto bandwidth = topology_.attribute(HWLOC_MEMATTR_ID_BANDWIDTH, node, sets_[i]);
      // Linux exposes the figures of the nearest initiators only.
      constexpr double k_not_stated = std::numeric_limits<double>::infinity();
      return std::tuple(near ? 0 : 1, latency.value_or(k_not_stated), -bandwidth.value_or(0),
                        distance_from(i, node));
    };
    std::size_t best = 0;
    for (std::size_t i = 1; i < sets_.size(); ++i) {
      if (cost(i) < cost(best)) best = i;
    }
    return static_cast<DomainId>(best);
  }

  // Returns the node with cores of its own in an initiator's set, or null.
  hwloc_obj_t main_node(std::size_t initiator) const {
    for (const auto node : nodes_) {
      if (node->cpuset != nullptr && hwloc_bitmap_isequal(node->cpuset, sets_[initiator]) != 0 &&
          owns_cores(node)) {
        return node;
      }
    }
    return nullptr;
  }

  // Returns whether the cores belong to this node. hwloc assigns a node without cores those of the nearest node.
  // Of several nodes with the same cores, the first by the system's number owns them, because firmware lists it
  // first (KNL, Xeon Max, HMAT).
  bool owns_cores(hwloc_obj_t node) const {
    if (node->cpuset == nullptr || hwloc_bitmap_iszero(node->cpuset) != 0) return false;
    return std::none_of(nodes_.begin(), nodes_.end(), [&](hwloc_obj_t other) {
      return other->os_index < node->os_index && other->cpuset != nullptr &&
             hwloc_bitmap_isequal(other->cpuset, node->cpuset) != 0;
    });
  }

  std::optional<double> stated_distance(std::size_t initiator, hwloc_obj_t node) const {
    const auto home = main_node(initiator);
    return home == nullptr ? std::nullopt : topology_.distance(home, node);
  }

  double distance_from(std::size_t initiator, hwloc_obj_t node) const {
    const auto home = main_node(initiator);
    return home == nullptr ? 10 : topology_.distance(home, node).value_or(home == node ? 10 : 20);
  }

  // Determines the node's kind (hbm, ddr, cxl) from names, and from figures relative to the domain's main node.
  KindVerdict kind(hwloc_obj_t node, DomainId domain) const {
    NodeEvidence evidence;
    evidence.subtype = node->subtype == nullptr ? "" : node->subtype;
    evidence.dax_type = HwlocTopology::info(node, "DAXType");
    evidence.dax_parent = HwlocTopology::info(node, "DAXParent");
    evidence.has_cores = owns_cores(node);
    evidence.processor = processor_name_;
    const auto home = main_node(domain);
    const auto relative = [&](hwloc_memattr_id_t id) -> std::optional<double> {
      if (home == nullptr || home == node) return std::nullopt;
      const auto mine = topology_.attribute(id, node, sets_[domain]);
      const auto its = topology_.attribute(id, home, sets_[domain]);
      if (!mine || !its) return std::nullopt;
      return *mine / *its;
    };
    evidence.relative_bandwidth = relative(HWLOC_MEMATTR_ID_BANDWIDTH);
    evidence.relative_latency = relative(HWLOC_MEMATTR_ID_LATENCY);
    return kind_of(evidence);
  }

  void add_places() {
    std::map<std::string, int> count;
    for (const auto node : nodes_) {
      const auto domain = domain_of(node);
      const auto verdict = kind(node, domain);
      Place place;
      place.kind = verdict.kind;
      place.name = verdict.kind + std::to_string(count[verdict.kind]++);
      place.capacity = {node->attr->numanode.local_memory};
      if (const long page = ::sysconf(_SC_PAGESIZE); page > 0) place.granule = {static_cast<std::uint64_t>(page)};
      place.domain = domain;
      place.numa_node = static_cast<int>(node->os_index);
      if (verdict.inferred) inferred_.push_back(place.name);
      std::uint32_t parent = 0;
      for (const auto& [package, index] : package_nodes_) {
        if (node->cpuset != nullptr && hwloc_bitmap_iszero(node->cpuset) == 0 &&
            hwloc_bitmap_isincluded(node->cpuset, package->cpuset) != 0) {
          parent = index;
        }
      }
      parts_.nodes.push_back({place.name, parent, static_cast<PlaceId>(parts_.places.size())});
      parts_.places.push_back(place);
    }
    if (parts_.places.empty()) add_only_place();
    // A single node has all memory, including what a hypervisor added later and sysfs omits.
    const auto root = hwloc_get_root_obj(topology_.get());
    if (topology_.is_this_system() && hwloc_bitmap_weight(root->complete_nodeset) == 1) {
      auto& capacity = parts_.places.front().capacity;
      capacity = std::max(capacity, physical_memory());
    }
  }

  static Bytes physical_memory() {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long page = ::sysconf(_SC_PAGESIZE);
    return {pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 0};
  }

  // Handles containers that hide all NUMA nodes: the memory exists nevertheless.
  void add_only_place() {
    const auto memory = physical_memory();
    if (memory.value == 0)
      throw Error(Code::unsupported,
                  "hwloc reports no memory on this machine; name a machine file with --machine");
    parts_.nodes.push_back({"ddr0", 0, PlaceId{0}});
    parts_.places.push_back({"ddr0", "ddr", memory, {4096}, 0, -1});
  }

  void add_paths() {
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      for (std::size_t p = 0; p < parts_.places.size(); ++p) {
        const auto node = p < nodes_.size() ? nodes_[p] : nullptr;
        add_path(i, p, node);
      }
    }
  }

  [[nodiscard]] bool in_one_package(std::size_t one, std::size_t other) const {
    const auto packages = topology_.objects(HWLOC_OBJ_PACKAGE);
    return std::any_of(packages.begin(), packages.end(), [&](hwloc_obj_t package) {
      return hwloc_bitmap_isincluded(sets_[one], package->cpuset) != 0 &&
             hwloc_bitmap_isincluded(sets_[other], package->cpuset) != 0;
    });
  }

  // Adds the path from initiator `i` to place `p`, and counts where its figures are from.
  void add_path(std::size_t i, std::size_t p, hwloc_obj_t node) {
    const auto& place = parts_.places[p];
    PathEnds ends{node, sets_[i], sets_[place.domain], place.kind, {}, {}, in_one_package(i, place.domain)};
    if (node != nullptr) {
      ends.distance = stated_distance(i, node);
      ends.nearest_distance = stated_distance(place.domain, node);
    }
    auto path = path_figures(topology_, ends);
    path.initiator = static_cast<InitiatorId>(i);
    path.place = static_cast<PlaceId>(p);
    parts_.paths.push_back(path);
    const bool stated = path.bandwidth_source == Source::firmware && path.latency_source == Source::firmware;
    const bool scaled = path.bandwidth_source == Source::distance || path.latency_source == Source::distance;
    ++(stated ? stated_ : scaled ? scaled_ : assumed_);
  }

  void name_processor() {
    for (const auto package : topology_.objects(HWLOC_OBJ_PACKAGE)) {
      if (processor_name_.empty()) processor_name_ = HwlocTopology::info(package, "CPUModel");
    }
    if (processor_name_.empty())
      processor_name_ = HwlocTopology::info(hwloc_get_root_obj(topology_.get()), "CPUModel");
    if (processor_name_.empty() && topology_.is_this_system()) processor_name_ = cpuinfo("model name");
    if (processor_name_.empty()) processor_name_ = "unknown processor";
  }

  // Writes the machine's description: which of its figures are stated, scaled, assumed or inferred.
  void describe() {
    auto& text = parts_.description;
    text = processor_name_ + ", discovered; ";
    text += "bandwidths and latencies ";
    const bool others = scaled_ + assumed_ > 0;
    if (stated_ > 0) {
      text += (others ? "of " + std::to_string(stated_) + " paths " : "") + "as the firmware states them, ";
      if (others) text += "of the others ";
    }
    text += "not measured";
    if (others) {
      text += " (";
      if (assumed_ > 0 || stated_ == 0) text += "defaults of each kind";
      if (scaled_ > 0)
        text += text.back() == '(' ? "scaled by NUMA distance" : ", for other domains scaled by NUMA distance";
      text += ")";
    }
    text += "; caches' latencies, access time and miss parallelism not measured (defaults)";
    if (!parts_.copiers.empty()) text += "; price of moves not measured (default)";
    for (std::size_t i = 0; i < inferred_.size(); ++i)
      text += (i == 0 ? "; kind told from figures alone: " : ", ") + inferred_[i];
  }

  HwlocTopology topology_;
  std::vector<hwloc_obj_t> nodes_;
  std::vector<hwloc_cpuset_t> sets_;  // by initiator; owned by the topology
  std::vector<std::pair<hwloc_obj_t, std::uint32_t>> package_nodes_;
  MachineParts parts_;
  std::vector<std::vector<int>> processors_;
  std::vector<Bytes> last_level_;
  std::string processor_name_;
  std::vector<std::string> inferred_;
  std::size_t stated_ = 0;
  std::size_t scaled_ = 0;  // number of figures scaled by distance
  std::size_t assumed_ = 0;
};

}  // namespace

Discovered discover_details() { return Discovery(HwlocTopology::of_this_machine()).run(); }

Discovered discover_saved(std::string_view hwloc_xml) {
  return Discovery(HwlocTopology::from_xml(hwloc_xml)).run();
}

}  // namespace terrace::machine
