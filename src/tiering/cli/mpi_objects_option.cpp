// SPDX-License-Identifier: Apache-2.0
// Parses KIND=PLACE words, and reads the tables of MPI objects. See mpi_objects_option.hpp.
#include "cli/mpi_objects_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/mpi_programs.hpp"
#include "core/error.hpp"
#include "strategy/files/mpi_objects_file.hpp"

namespace terrace::cli {

namespace {

using strategy::MpiObjectKind;

std::string join_kinds() {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < strategy::k_num_mpi_object_kinds; ++i)
    if (const auto kind = static_cast<MpiObjectKind>(i); kind != MpiObjectKind::control)
      names.push_back(strategy::name_of(kind));
  return fmt::format("{}", fmt::join(names, ", "));
}

// Returns the machine's places with a NUMA node, those of the domain first, each group in the order of speed.
std::vector<runtime::MpiObjectsSpec::Place> bindable_places(const machine::Machine& machine, DomainId domain) {
  std::vector<runtime::MpiObjectsSpec::Place> found;
  const auto add = [&](PlaceId id) {
    const auto& place = machine.place(id);
    const bool is_known = std::ranges::any_of(found, [&](const auto& one) { return one.id == id; });
    if (place.numa_node >= 0 && !is_known) found.push_back({place.name, place.kind, id, place.numa_node});
  };
  for (const auto id : machine.fastest_first(domain)) add(id);
  for (PlaceId id = 0; id < machine.places().size(); ++id) add(id);
  return found;
}

[[noreturn]] void refuse(const std::string& word, const std::string& why) {
  throw Error(Code::invalid, "--mpi-objects " + word + ": " + why);
}

void place_kind(const std::string& word, const machine::Machine& machine, runtime::MpiObjectsSpec& spec) {
  const auto equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
    refuse(word, "give KIND=PLACE, such as windows=" + (spec.places.empty() ? "hbm" : spec.places.front().name));
  const auto name = word.substr(0, equals);
  const auto kind = strategy::mpi_object_kind(name);
  if (!kind) refuse(word, fmt::format("MPI libraries have no '{}'; kinds are {}", name, join_kinds()));
  if (*kind == MpiObjectKind::control)
    refuse(word, "control blocks are small, and are never placed; kinds are " + join_kinds());
  auto& place = spec.placed[static_cast<std::size_t>(*kind)];
  if (place) refuse(word, fmt::format("{} has a place already; name each kind once", name));
  place = spec.find_place(word.substr(equals + 1));
  if (place) return;
  std::vector<std::string_view> names;
  for (const auto& one : spec.places) names.push_back(one.name);
  const auto wanted = word.substr(equals + 1);
  const auto why = machine.find_place(wanted)
                       ? fmt::format("memory '{}' of {} has no NUMA node", wanted, machine.name())
                       : fmt::format("{} has no memory '{}'", machine.name(), wanted);
  refuse(word, names.empty() ? why : fmt::format("{}; give one of: {}", why, fmt::join(names, ", ")));
}

}  // namespace

void configure_mpi_objects(const LaunchOptions& options, runtime::Session& session) {
  if (session.backend != runtime::Backend::real || options.is_replay()) return;
  if (options.mpi_objects.empty() && !uses_mpi(options.command)) return;
  const auto& configuration = session.configurations.front();
  auto& spec = session.mpi_objects;
  spec.places = bindable_places(configuration.machine, configuration.domain);
  for (const auto& word : options.mpi_objects) place_kind(word, configuration.machine, spec);
  spec.tables = strategy::shipped_mpi_objects();
}

}  // namespace terrace::cli
