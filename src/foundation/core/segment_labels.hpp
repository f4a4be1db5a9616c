// What people call the phases and segments of an iteration: "init", "matvec 3" for the third of several of a name,
// and for what begins inside a phase its share of it: "conj_grad 12 %", "matvec 3, 12 %". Plan files, tables and
// pages all take these labels; profile, plan and journal keep the exact names (core/segment_name.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace terrace {

// Positions of `names` at which a phase begins, ascending: all but the segments that follow their own phase.
std::vector<std::uint32_t> phase_starts(const std::vector<std::string>& names);

// Of phases alone, in their order: no two are the same.
std::vector<std::string> phase_labels(const std::vector<std::string>& phases);

// By position: no two are the same. Shares have as many digits as it takes to tell a phase's segments apart.
std::vector<std::string> segment_labels(const std::vector<std::string>& names,
                                        const std::vector<std::uint64_t>& lengths = {});

}  // namespace terrace
