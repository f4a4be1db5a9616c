// See machine_here.hpp.
#include "cli/machine_here.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "machine/discover/discovery.hpp"
#include "memory/provider.hpp"

namespace terrace::cli {

namespace {

bool is_node_of(const machine::Machine& here, const machine::Place& place) {
  return std::ranges::find(here.places(), place.numa_node, &machine::Place::numa_node) != here.places().end();
}

std::string problem_with(const machine::Machine& here, const machine::Machine& machine,
                         const machine::Place& place) {
  std::string nodes;
  for (const auto& one : here.places()) nodes += (nodes.empty() ? "" : ", ") + std::to_string(one.numa_node);
  return fmt::format("--machine {}: its place '{}' is {}, and this machine has {}", machine.name(), place.name,
                     place.numa_node < 0 ? "no node" : "node " + std::to_string(place.numa_node),
                     (here.places().size() > 1 ? "nodes " : "node ") + nodes);
}

}  // namespace

std::string place_without_node(const machine::Machine& machine) {
  const auto here = machine::discover();
  for (const auto& place : machine.places())
    if (!is_node_of(here, place)) return problem_with(here, machine, place);
  return {};
}

std::string place_that_is_not_here(const machine::Machine& machine) {
  const auto here = machine::discover();
  for (const auto& place : machine.places()) {
    const auto serves = [&](const memory::ProviderVariant* variant) { return variant->serves(place); };
    if (std::ranges::none_of(memory::providers(), serves) || (place.numa_node >= 0 && !is_node_of(here, place)))
      return problem_with(here, machine, place);
  }
  return {};
}

}  // namespace terrace::cli
