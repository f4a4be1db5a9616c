// SPDX-License-Identifier: Apache-2.0
// Builds a machine from the kernel's NUMA files, for the agent's hbwmalloc functions and for the launcher's check
// of a machine's nodes, and parses numactl's lists of nodes. See node_files.hpp.
#include "machine/nodes/node_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <tuple>
#include <utility>

#include "machine/place_kind.hpp"

namespace terrace::machine {

namespace {

constexpr std::uint64_t k_max = 1 << 16;  // number of a node or processor
constexpr int k_local = 10;               // the kernel's distance of a node to itself

// Content of a node's files.
struct NodeFiles {
  int number = 0;
  Bytes memory;
  std::uint32_t processors = 0;
  std::vector<int> distances;                  // to the nodes that have files, in their order
  std::vector<int> initiators;                 // nearest ones, of access0
  double read = 0, write = 0, latency_ns = 0;  // as seen by those, MiB/s; 0: not stated
};

std::string read_node_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text;
  std::array<char, 4096> some;
  for (ssize_t got = 0; (got = ::read(file, some.data(), some.size())) > 0;)
    text.append(some.data(), static_cast<std::size_t>(got));
  ::close(file);
  return text;
}

// Returns all numbers in the text.
std::vector<std::uint64_t> numbers_in(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  for (std::size_t at = 0; at < text.size();) {
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (problem == std::errc{}) numbers.push_back(number);
    at = problem == std::errc{} ? static_cast<std::size_t>(end - text.data()) : at + 1;
  }
  return numbers;
}

// Parses "0-2,5", the kernel's notation of sets.
std::vector<int> parse_set(std::string_view text) {
  std::vector<int> set;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const auto ends = numbers_in(text.substr(0, comma));
    if (!ends.empty())
      for (auto i = ends.front(); i <= std::min(ends.back(), k_max); ++i) set.push_back(static_cast<int>(i));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return set;
}

double first_number(const std::string& path) {
  const auto numbers = numbers_in(read_node_file(path));
  return numbers.empty() ? 0 : static_cast<double>(numbers.front());
}

Bytes parse_memory(const std::string& meminfo) {
  const auto at = meminfo.find("MemTotal:");
  if (at == std::string::npos) return {};
  const auto numbers = numbers_in(std::string_view(meminfo).substr(at, meminfo.find('\n', at) - at));
  return {numbers.empty() ? 0 : numbers.front() << 10};
}

// Reads the files of all nodes that are online.
std::vector<NodeFiles> read_nodes(const std::string& folder) {
  const auto numbers = parse_set(read_node_file(folder + "/online"));
  std::vector<NodeFiles> nodes;
  for (const int number : numbers) {
    const auto files = folder + "/node" + std::to_string(number);
    NodeFiles node;
    node.number = number;
    node.memory = parse_memory(read_node_file(files + "/meminfo"));
    node.processors = static_cast<std::uint32_t>(parse_set(read_node_file(files + "/cpulist")).size());
    for (const auto distance : numbers_in(read_node_file(files + "/distance")))
      node.distances.push_back(static_cast<int>(std::min<std::uint64_t>(distance, 255)));
    const auto near = files + "/access0/initiators";
    for (const int other : numbers)
      if (::access((near + "/node" + std::to_string(other)).c_str(), F_OK) == 0) node.initiators.push_back(other);
    node.read = first_number(near + "/read_bandwidth");
    node.write = first_number(near + "/write_bandwidth");
    node.latency_ns = first_number(near + "/read_latency");
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// Builds the parts of a machine from the node files.
class Builder {
 public:
  explicit Builder(std::vector<NodeFiles> nodes) : nodes_(std::move(nodes)) {}

  MachineParts build() {
    parts_.name = "this-machine";
    parts_.nodes.push_back({"board", std::nullopt, std::nullopt});
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].processors > 0) add_initiator(i);
    if (initiators_.empty()) return std::move(parts_);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].memory.value > 0) add_place(i);
    for (std::size_t d = 0; d < initiators_.size(); ++d)
      for (std::size_t p = 0; p < places_.size(); ++p) add_path(d, p);
    return std::move(parts_);
  }

 private:
  void add_initiator(std::size_t node) {
    Initiator initiator;
    const auto number = std::to_string(nodes_[node].number);
    initiator.name = "cores" + number;
    initiator.cores = nodes_[node].processors;
    initiator.domain = static_cast<DomainId>(initiators_.size());
    parts_.initiators.push_back(initiator);
    parts_.domains.push_back({"domain" + number, static_cast<InitiatorId>(initiators_.size()), {}});
    initiators_.push_back(node);
  }

  [[nodiscard]] int distance(std::size_t from, std::size_t to) const {
    const auto& row = nodes_[from].distances;
    if (to < row.size()) return row[to];
    return from == to ? k_local : 2 * k_local;
  }
  [[nodiscard]] bool is_nearest(std::size_t from, std::size_t to) const {
    return std::ranges::find(nodes_[to].initiators, nodes_[from].number) != nodes_[to].initiators.end();
  }

  // Returns the domain of the node's own processors, else the nearest by the firmware's initiators, then by
  // distance.
  [[nodiscard]] std::size_t domain_of(std::size_t node) const {
    std::size_t best = 0;
    const auto cost = [&](std::size_t d) {
      const auto from = initiators_[d];
      return std::tuple(from == node ? 0 : 1, is_nearest(from, node) ? 0 : 1, distance(from, node));
    };
    for (std::size_t d = 1; d < initiators_.size(); ++d)
      if (cost(d) < cost(best)) best = d;
    return best;
  }

  [[nodiscard]] std::string kind_of_node(std::size_t node, std::size_t domain) const {
    NodeEvidence evidence;
    evidence.has_cores = nodes_[node].processors > 0;
    const auto& home = nodes_[initiators_[domain]];
    if (nodes_[node].read > 0 && home.read > 0) evidence.relative_bandwidth = nodes_[node].read / home.read;
    if (nodes_[node].latency_ns > 0 && home.latency_ns > 0)
      evidence.relative_latency = nodes_[node].latency_ns / home.latency_ns;
    return kind_of(evidence).kind;
  }

  void add_place(std::size_t node) {
    Place place;
    const auto domain = domain_of(node);
    place.name = "node" + std::to_string(nodes_[node].number);
    place.kind = kind_of_node(node, domain);
    place.capacity = nodes_[node].memory;
    if (const long page = ::sysconf(_SC_PAGESIZE); page > 0) place.granule = {static_cast<std::uint64_t>(page)};
    place.domain = static_cast<DomainId>(domain);
    place.numa_node = nodes_[node].number;
    parts_.nodes.push_back({place.name, 0, static_cast<PlaceId>(places_.size())});
    parts_.places.push_back(place);
    places_.push_back(node);
  }

  void add_path(std::size_t domain, std::size_t place) {
    const auto node = places_[place];
    const auto& files = nodes_[node];
    const auto from = initiators_[domain];
    const auto own = parts_.places[place].domain;
    const auto standard = defaults_of(parts_.places[place].kind);
    const bool stated = is_nearest(from, node);
    // Scale by the distance relative to the place's own domain.
    const double far =
        stated || own == domain
            ? 1
            : std::max(1.0, static_cast<double>(distance(from, node)) / distance(initiators_[own], node));
    constexpr double k_mib = 1024.0 * 1024;
    Path path;
    path.initiator = static_cast<InitiatorId>(domain);
    path.place = static_cast<PlaceId>(place);
    path.read = {(files.read > 0 ? files.read * k_mib : standard.read.value) / far};
    path.write = {(files.write > 0 ? files.write * k_mib : standard.write.value) / far};
    path.latency = {(files.latency_ns > 0 ? files.latency_ns * 1e-9 : standard.latency.value) * far};
    if (const auto known = distance(from, node); known <= k_max_distance) path.distance = known;
    path.bandwidth_source = files.read <= 0 ? Source::kind : stated ? Source::firmware : Source::distance;
    path.latency_source = files.latency_ns <= 0 ? Source::kind : stated ? Source::firmware : Source::distance;
    parts_.paths.push_back(path);
  }

  std::vector<NodeFiles> nodes_;
  std::vector<std::size_t> initiators_;  // node of each initiator
  std::vector<std::size_t> places_;      // node of each place
  MachineParts parts_;
};

// Parses a number at the beginning of the text and removes it.
std::optional<int> take_number(std::string_view& text) {
  int number = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// Parses "3" or "3-5" at the beginning of the text and removes it.
std::optional<std::pair<int, int>> take_range(std::string_view& text) {
  const auto first = take_number(text);
  if (!first) return std::nullopt;
  if (!text.starts_with('-')) return std::pair{*first, *first};
  text.remove_prefix(1);
  const auto last = take_number(text);
  if (!last || *last < *first) return std::nullopt;
  return std::pair{*first, *last};
}

}  // namespace

std::optional<Machine> read_node_machine(const std::string& folder) {
  try {
    auto parts = Builder(read_nodes(folder)).build();
    if (parts.places.empty() || parts.initiators.empty()) return std::nullopt;
    return Machine(std::move(parts));
  } catch (const std::exception&) {  // the files describe no valid machine
    return std::nullopt;
  }
}

std::optional<std::vector<int>> parse_node_list(std::string_view text, const std::vector<int>& all) {
  const bool others = text.starts_with('!');
  if (others) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  std::vector<int> named;
  if (text == "all") {
    named = all;
    text = {};
  }
  for (bool is_first = true; !text.empty(); is_first = false) {
    if (!is_first) {
      if (!text.starts_with(',')) return std::nullopt;
      text.remove_prefix(1);
    }
    const auto range = take_range(text);
    if (!range) return std::nullopt;
    for (int node = range->first; node <= range->second; ++node) {
      if (std::ranges::find(all, node) == all.end()) return std::nullopt;
      named.push_back(node);
    }
  }
  std::vector<int> nodes;
  for (const int node : all)
    if ((std::ranges::find(named, node) != named.end()) != others) nodes.push_back(node);
  std::ranges::sort(nodes);
  if (nodes.empty()) return std::nullopt;
  return nodes;
}

}  // namespace terrace::machine
