// SPDX-License-Identifier: Apache-2.0
// Implements `terrace --names KIND`, which shell completions call: lists names (machines, planners, collectors)
// from the tables that the options' parsers use. See subcommands.hpp.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "cli/subcommands.hpp"
#include "core/error.hpp"
#include "machine/discover/discovery.hpp"
#include "machine/file/machine_file.hpp"
#include "machine/ordering.hpp"
#include "observe/collector_variant.hpp"
#include "observe/progress_variant.hpp"
#include "strategy/variant.hpp"

namespace terrace::cli {

namespace {

using Names = std::vector<std::string>;

// Returns the sorted names of a table of variants.
template <class Variants>
Names variant_names(const Variants& variants) {
  Names names;
  for (const auto* const variant : variants) names.emplace_back(variant->name());
  std::ranges::sort(names);
  return names;
}

// Returns the workloads of the source tree in the current folder.
Names workloads() {
  Names names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("workloads", ignored))
    if (std::filesystem::exists(entry.path() / "workload.toml", ignored))
      names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

struct NameKind {
  std::string_view name;
  Names (*list)();
};

constexpr std::array<NameKind, 6> k_kinds = {{
    {"machines", machine::shipped_machines},
    {"planners", [] { return variant_names(strategy::variants()); }},
    {"collectors", [] { return variant_names(observe::collectors()); }},
    {"progress", [] { return variant_names(observe::progresses()); }},
    {"intents", [] { return machine::intents(machine::discover()); }},
    {"workloads", workloads},
}};

}  // namespace

int print_names(std::string_view kind) {
  const auto found = std::ranges::find(k_kinds, kind, &NameKind::name);
  if (found == k_kinds.end()) {
    std::string all;
    for (const auto& known : k_kinds) all += (all.empty() ? "" : ", ") + std::string(known.name);
    throw Error(Code::invalid, "--names: there is no kind of names '" + std::string(kind) + "'; there are " + all);
  }
  for (const auto& name : found->list()) fmt::print("{}\n", name);
  return 0;
}

}  // namespace terrace::cli
