// What became of data by intent, for the user.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "memory/ordered/ordered_counts.hpp"

namespace terrace::cli {

// How much of it all processes had where, each when it had most.
struct DataByIntent {
  // Bytes by place, the last entry for what was left to the kernel.
  using ByPlace = std::array<std::uint64_t, memory::k_counted_places + 1>;
  std::map<std::string, ByPlace> intents;  // those that data was placed by
  int processes = 0;                       // that could place some
  int uncounted = 0;                       // of which nothing is known: no room for the counts
  std::filesystem::path folder;            // where that is
  int error = 0;                           // errno value of the first part that was refused
};

// From the counts in the folder.
DataByIntent read_data_by_intent(const std::filesystem::path& folder);

// A line for each intent.
std::vector<std::string> lines_of(const DataByIntent& data, const machine::Machine& machine);
// What went wrong, and that nothing was placed by `wanted`, the intent of the whole run; "" for none.
std::vector<std::string> find_intent_problems(const DataByIntent& data, const std::string& wanted);
// An object: the number of processes, and for each intent the bytes in each place and those left to the kernel.
std::string json_of(const DataByIntent& data, const machine::Machine& machine);

}  // namespace terrace::cli
