// What became of data by intent, for the user.
#pragma once

#include <filesystem>
#include <string>

#include "machine/machine.hpp"

namespace terrace::cli {

// Prints a line for each intent that data was placed by: how much of it all processes had where, each when it had
// most. From the counts in the folder. Where nothing was placed by `wanted`, the intent of the whole run, that; ""
// for none.
void tell_of_intents(const std::filesystem::path& folder, const machine::Machine& machine,
                     const std::string& wanted);

}  // namespace terrace::cli
