// Names that people give, against those that a program is known to have.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace terrace::cli {

// Of `known`, what somebody means by `wanted`: the name that is equal; else, where it has a * or a ?, all that it
// is a pattern of (fnmatch) but those of the C++ library; else those that end with it from a "::" on. A symbol as
// nm prints it does as well: mangled, with Fortran's underscores, or a Fortran module's ("__grid_MOD_smooth").
std::vector<std::string> matching_names(const std::string& wanted, std::span<const std::string> known);

bool is_pattern(const std::string& name);
bool matches_pattern(const std::string& pattern, const std::string& name);

// Of `known`, at most three that somebody may have meant, the nearest first: one that differs in a few letters,
// those that hold the word, or that it holds.
std::vector<std::string> near_names(const std::string& wanted, std::span<const std::string> known);

}  // namespace terrace::cli
