// See intent_option.hpp.
#include "cli/intent_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "machine/discover/discovery.hpp"
#include "machine/ordering.hpp"

namespace terrace::cli {

namespace {

// A place by intent is a node of this machine.
void check_nodes(const machine::Machine& machine) {
  const auto here = machine::discover();
  std::string nodes;
  for (const auto& place : here.places()) nodes += (nodes.empty() ? "" : ", ") + std::to_string(place.numa_node);
  for (const auto& place : machine.places())
    if (std::ranges::find(here.places(), place.numa_node, &machine::Place::numa_node) == here.places().end())
      throw Error(Code::invalid,
                  fmt::format("--machine {}: its place '{}' is {}, and this machine has {}; --intent places on "
                              "the nodes of this machine",
                              machine.name(), place.name,
                              place.numa_node < 0 ? "no node" : "node " + std::to_string(place.numa_node),
                              (here.places().size() > 1 ? "nodes " : "node ") + nodes));
}

}  // namespace

void place_by_intent(const LaunchOptions& options, runtime::Session& session) {
  session.intent = {options.intent, options.mark, options.eager};
  if (!session.intent.is_wanted()) return;
  auto& configuration = session.configurations.front();
  const auto& machine = configuration.machine;
  if (!options.configuration.machine.empty()) check_nodes(machine);
  try {
    machine::standings(machine, machine.domains()[configuration.domain].initiator, options.intent);
  } catch (const Error& error) {
    throw Error(Code::invalid, fmt::format("--intent {}: {}", options.intent, error.what()));
  }
  configuration.record_only = true;
  session.hooks = false;
  session.big_block = Bytes{~std::uint64_t{0}};
}

}  // namespace terrace::cli
