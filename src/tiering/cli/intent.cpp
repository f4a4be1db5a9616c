// SPDX-License-Identifier: Apache-2.0
// Checks the intent of `terrace run --intent` against the machine; reads, adds up and formats counts of data by
// intent. See intent.hpp.
#include "cli/intent.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/process_counts.hpp"
#include "core/big_block.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "machine/ordering.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

namespace {

// Adds the counts of one process.
void add(DataByIntent& data, const memory::OrderedCounts& counts) {
  ++data.processes;
  if (data.error == 0) data.error = counts.error;
  for (const auto& intent : counts.intents) {
    if (intent.max_sum == 0) continue;
    auto& sum = data.intents[intent.name.data()];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += intent.at_peak[i];
  }
}

// Formats the data of one intent for the closing lines: bytes in each place, summed over the processes.
std::string line_of(const std::string& intent, const DataByIntent::ByPlace& bytes, const machine::Machine& machine,
                    int processes) {
  std::string parts;
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == 0) continue;
    all += bytes[i];
    const auto where = i < machine.places().size() ? "in " + machine.places()[i].name : "left to the kernel";
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", format(Bytes{bytes[i]}), where);
  }
  auto line = fmt::format("{} of data by {}: {}", format(Bytes{all}), intent, parts);
  if (processes > 1) line += fmt::format(", in {} processes", processes);
  return line;
}

}  // namespace

DataByIntent read_data_by_intent(const std::filesystem::path& folder) {
  DataByIntent data;
  data.folder = folder.parent_path();
  for_each_process<memory::OrderedCounts>(
      folder, runtime::k_ordered_counts, [&](const memory::OrderedCounts& counts) { add(data, counts); },
      [&] { ++data.uncounted; });
  return data;
}

std::vector<std::string> format_intent_lines(const DataByIntent& data, const machine::Machine& machine) {
  std::vector<std::string> lines;
  for (const auto& [intent, bytes] : data.intents)
    lines.push_back(line_of(intent, bytes, machine, data.processes));
  return lines;
}

std::vector<std::string> find_intent_problems(const DataByIntent& data, const std::string& wanted) {
  std::vector<std::string> problems;
  if (data.uncounted > 0)
    problems.push_back(
        fmt::format("the amount of data placed by intent is unknown: {} has no free space for the counters",
                    data.folder.string()));
  else if (!wanted.empty() && data.processes == 0)
    problems.push_back(
        fmt::format("nothing was placed by {}: the program allocated no block of {} or more (what it maps itself, "
                    "small blocks, static data and stacks are where the kernel puts them)",
                    wanted, format(Bytes{k_big_block})));
  if (data.error == ENOMEM)
    problems.emplace_back("the memories were too small for all data by intent");
  else if (data.error != 0)
    problems.push_back(
        fmt::format("the system did not let all data by intent be placed: {}", std::strerror(data.error)));
  return problems;
}

std::string json_of(const DataByIntent& data, const machine::Machine& machine) {
  auto intents = nlohmann::ordered_json::object();
  for (const auto& [intent, bytes] : data.intents) {
    auto places = nlohmann::ordered_json::object();
    std::uint64_t kernel = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (i < machine.places().size())
        places[machine.places()[i].name] = bytes[i];
      else
        kernel += bytes[i];
    intents[intent] = {{"bytes_by_place", std::move(places)}, {"kernel_bytes", kernel}};
  }
  return nlohmann::ordered_json{{"processes", data.processes}, {"intents", std::move(intents)}}.dump();
}

void configure_intent(const LaunchOptions& options, runtime::Session& session) {
  session.intent = {options.intent, options.watermark, options.eager};
  if (!session.intent.is_wanted()) return;
  auto& configuration = session.configurations.front();
  const auto& machine = configuration.machine;
  try {
    machine::rank_places(machine, machine.domains()[configuration.domain].initiator, options.intent);
  } catch (const Error& error) {
    throw Error(Code::invalid, fmt::format("--intent {}: {}", options.intent, error.what()));
  }
  configuration.record_only = true;
  session.hooks = false;
  session.big_block = Bytes{~std::uint64_t{0}};
}

}  // namespace terrace::cli
