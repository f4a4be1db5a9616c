// SPDX-License-Identifier: Apache-2.0
// Fuzzes the records of Slurm jobs: any bytes yield counts whose budget the machine accepts, and hostlists have no
// empty node. tests/fuzz/CMakeLists.txt says how to run it.
#include <cstdint>
#include <string_view>

#include "cli/slurm_budget.hpp"
#include "core/error.hpp"
#include "machine/file/machine_file.hpp"

namespace {

void require(bool condition) {
  if (!condition) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace terrace;
  static const auto k_machine = machine::load_machine("hbm-ddr-cxl-2domains").machine;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  require(!cli::contains_node(text, ""));
  static_cast<void>(cli::contains_node(text, "n12"));
  if (const auto counts = cli::find_gres_counts(text, "2", {"n1", "rack1n02"})) {
    const auto budget = cli::budget_of_gres(k_machine, *counts, cli::default_gres_units(k_machine));
    if (!budget.empty()) static_cast<void>(machine::parse_budget(k_machine, budget));
  }
  try {
    for (const auto& unit : cli::parse_gres_units(text)) require(!unit.resource.empty() && !unit.kind.empty());
  } catch (const Error& error) {
    require(error.code() == Code::invalid);
  }
  return 0;
}
