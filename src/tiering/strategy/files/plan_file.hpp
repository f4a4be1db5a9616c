// Plan files: TOML that a person can read, compare and edit; docs/planning.md documents every key. A file that
// breaks the schema is refused with one line that names file, line, key, what is wrong and what to do.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/plan.hpp"
#include "machine/machine.hpp"

namespace terrace::strategy {

// All throw Error{invalid}, "FILE:LINE: KEY: ..."; those that read throw Error{not_found} or Error{failed}.
Plan parse_plan(std::string_view text, const std::string& file_name);
Plan read_plan_file(const std::filesystem::path& path);

// Every place that the plan names is a kind or a place of the machine, of whatever domain. Throws Error{invalid},
// with the kinds and places that there are.
void check_places(const Plan& plan, const machine::Machine& machine, const std::string& file_name);

// The text that reads back as the same plan, to the last digit; the same plan always gives the same text.
std::string format_plan(const Plan& plan);
// Writes it beside its name first, so that a reader never sees half a file. Throws Error{failed}.
void write_plan_file(const std::filesystem::path& path, const Plan& plan);

}  // namespace terrace::strategy
