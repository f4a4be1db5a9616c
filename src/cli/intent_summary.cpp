// See intent_summary.hpp.
#include "cli/intent_summary.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "cli/process_counts.hpp"
#include "core/units.hpp"
#include "memory/ordered/ordered_counts.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

namespace {

using Bytes_by_place = std::array<std::uint64_t, memory::k_counted_places + 1>;

struct Sums {
  std::map<std::string, Bytes_by_place> intents;
  int processes = 0;
  int error = 0;
};

void add(Sums& sums, const memory::OrderedCounts& counts) {
  ++sums.processes;
  if (sums.error == 0) sums.error = counts.error;
  for (const auto& intent : counts.intents) {
    if (intent.most_sum == 0) continue;
    auto& sum = sums.intents[intent.name.data()];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += intent.most[i];
  }
}

std::string line_of(const std::string& intent, const Bytes_by_place& bytes, const machine::Machine& machine,
                    const Sums& sums) {
  std::string parts;
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == 0) continue;
    all += bytes[i];
    const auto where = i < machine.places().size() ? "in " + machine.places()[i].name : "left to the kernel";
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", format(Bytes{bytes[i]}), where);
  }
  auto line = fmt::format("{} of data by {}: {}", format(Bytes{all}), intent, parts);
  if (sums.processes > 1) line += fmt::format(", in {} processes", sums.processes);
  return line;
}

}  // namespace

void tell_of_intents(const std::filesystem::path& folder, const machine::Machine& machine,
                     const std::string& wanted) {
  Sums sums;
  for_each_process<memory::OrderedCounts>(folder, runtime::k_ordered_counts,
                                          [&](const memory::OrderedCounts& counts) { add(sums, counts); });
  for (const auto& [intent, bytes] : sums.intents)
    fmt::print(stderr, "terrace: {}\n", line_of(intent, bytes, machine, sums));
  if (!wanted.empty() && sums.processes == 0)
    fmt::print(stderr,
               "terrace: nothing was placed by {}: the program allocated no block of 1MiB or more (what it maps "
               "itself, small blocks, static data and stacks are where the kernel puts them)\n",
               wanted);
  if (sums.error == ENOMEM)
    fmt::print(stderr, "terrace: places had no room for all data by intent\n");
  else if (sums.error != 0)
    fmt::print(stderr, "terrace: the system did not let all data by intent be placed: {}\n",
               std::strerror(sums.error));
}

}  // namespace terrace::cli
