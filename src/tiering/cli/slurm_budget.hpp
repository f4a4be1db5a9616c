// SPDX-License-Identifier: Apache-2.0
// Computes the budget of a batch job from the generic resources (GRES) that Slurm has allocated to it on this
// node, when the user states none. Slurm gives count-only resources, such as `--gres=hbm:4000`, no environment
// variable: their counts are only in the job's record, which `scontrol show job -d ID` prints (slurm_record.hpp
// runs it).
//
// A resource with the name of a kind of memory counts MiB of it on the node. TERRACE_GRES states other names and
// units: `NAME=KIND:UNIT`, separated by commas, as `fastmem=hbm:1GiB`; an empty value disables the budgets.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.hpp"
#include "machine/machine.hpp"

namespace terrace::cli {

// Counts of generic resources by name, without their types: "hbm" -> 4000.
using GresCounts = std::map<std::string, std::uint64_t>;

// Maps a generic resource to a kind of memory.
struct GresUnit {
  std::string resource;
  std::string kind;
  Bytes unit;

  bool operator==(const GresUnit&) const = default;
};

// Returns whether a hostlist expression of Slurm ("n[1-2,05],login1") contains the node.
bool contains_node(std::string_view hostlist, std::string_view node);

// Returns the counts of the job on the first of `nodes` that the record names. `record`: the output of `scontrol
// show job -d`, which may have records of several jobs of an array, and components of a heterogeneous job; `job`:
// the value of SLURM_JOB_ID. Returns nullopt if the record has none of the nodes.
std::optional<GresCounts> find_gres_counts(std::string_view record, std::string_view job,
                                           const std::vector<std::string>& nodes);

// Parses the value of TERRACE_GRES. Throws Error{invalid}.
std::vector<GresUnit> parse_gres_units(std::string_view text);
// Returns the units without TERRACE_GRES: each kind of memory of the machine, in MiB.
std::vector<GresUnit> default_gres_units(const machine::Machine& machine);

// Returns the text of a budget (machine::parse_budget()), such as "hbm=4000MiB"; "" if the job has no resource of
// these units. Each domain gets an equal share of a node's count, rounded down to pages, and at most its capacity.
std::string budget_of_gres(const machine::Machine& machine, const GresCounts& counts,
                           const std::vector<GresUnit>& units);

}  // namespace terrace::cli
