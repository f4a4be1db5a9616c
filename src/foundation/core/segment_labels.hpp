// SPDX-License-Identifier: Apache-2.0
// Makes readable labels of the phases and segments of an iteration. A phase has its name, with a number if several
// have the same: "init", "matvec 3". A segment inside a phase has its share of the phase: "conj_grad 12 %",
// "matvec 3, 12 %". Plan files, tables and reports take these labels; profile, plan and journal keep the exact
// names (core/segment_name.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace terrace {

// Returns the positions of `names` at which a phase begins, ascending.
std::vector<std::uint32_t> phase_starts(const std::vector<std::string>& names);

// Returns unique labels of a list of phases without segments, in their order.
std::vector<std::string> phase_labels(const std::vector<std::string>& phases);

// Returns unique labels by position. Shares have as many digits as distinguish the segments of a phase.
std::vector<std::string> segment_labels(const std::vector<std::string>& names,
                                        const std::vector<std::uint64_t>& lengths = {});

}  // namespace terrace
