// SPDX-License-Identifier: Apache-2.0
// Checks the limit, folder and plan of out-of-core memory (--memory, --spill, --plan) before the program runs. See
// spill_option.hpp.
#include "cli/spill_option.hpp"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "cli/user_errors.hpp"
#include "core/error.hpp"
#include "machine/discover/system_files.hpp"
#include "sim/engine/virtual_machine.hpp"
#include "strategy/files/plan_file.hpp"
#include "transfer/spill/spill.hpp"
#include "transfer/spill/spill_file.hpp"
#include "transfer/spill/spill_limits.hpp"

namespace terrace::cli {

namespace {

constexpr const char* k_in_memory = "memory";  // names of places in a plan with --memory
constexpr const char* k_in_file = "file";

// "MemTotal: 24683520 kB"
std::optional<Bytes> memory_of_machine(const machine::SystemFiles& files) {
  const auto text = files.field("/proc/meminfo", "MemTotal");
  if (!text) return std::nullopt;
  const auto digits = text->find_first_of("0123456789");
  std::uint64_t kib = 0;
  if (digits == std::string::npos ||
      std::from_chars(text->data() + digits, text->data() + text->size(), kib).ec != std::errc())
    return std::nullopt;
  return Bytes{kib << 10};
}

// Warns if --memory exceeds what the control group or the machine has.
void warn_of_limits(Bytes memory, std::vector<std::string>& sentences) {
  const machine::SystemFiles files;
  const auto warn = [&](const char* owner, Bytes limit) {
    sentences.push_back(
        fmt::format("--memory {}: {} has {} of memory, so that is not a limit; the system may end "
                    "the program when there is no more",
                    format(memory), owner, format(limit)));
  };
  const auto group = files.memory_limit();
  const auto whole = memory_of_machine(files);
  if (group && memory > group->limit && !(whole && *whole < group->limit))
    warn("the control group", group->limit);
  else if (whole && memory > *whole)
    warn("this machine", *whole);
}

// Creates a backing file as the program's processes will, and reserves one chunk. Throws Error{invalid}.
void test_backing_file(const std::string& folder) {
  struct statfs system {};
  if (statfs(folder.c_str(), &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC))
    throw Error(Code::invalid,
                "--spill " + folder + ": this folder is in memory itself (tmpfs); name a folder on a disk");
  int error = 0;
  try {
    transfer::SpillFile file(folder);
    error = file.reserve(0, transfer::SpillEngine::k_chunk);
  } catch (const Error& problem) {
    throw Error(Code::invalid, "--spill " + folder + ": " + problem.what());
  }
  // If the file system cannot reserve space, a full disk shows at the first writes.
  if (error != 0 && error != EOPNOTSUPP)
    throw Error(Code::invalid, "--spill " + folder + ": a file there cannot grow to " +
                                   format(Bytes{transfer::SpillEngine::k_chunk}) + " (" + std::strerror(error) +
                                   "); free space, or name another folder");
}

}  // namespace

Bytes min_memory(const std::string& subcommand) {
  constexpr Bytes k_of_process{64ULL << 20};
  return subcommand == "run" ? k_of_process : transfer::spill_limits::k_min_resident * Bytes{k_huge_page};
}

Bytes parse_memory_limit(const ConfigurationOptions& options, const std::string& subcommand) {
  const auto option = (options.label.empty() ? "" : "--config " + options.label + ": ") + "--memory";
  const auto memory = with_option_name(option, [&] { return parse_bytes(options.memory); });
  if (memory >= min_memory(subcommand)) return memory;
  const auto understood = format(memory);
  throw Error(Code::invalid, fmt::format("{} {}{}: at least {} is needed{}", option, options.memory,
                                         understood == options.memory ? "" : " (" + understood + ")",
                                         format(min_memory(subcommand)), unit_hint(options.memory)));
}

Bytes parse_simulated_memory(const ConfigurationOptions& options, const std::string& subcommand,
                             const runtime::SessionConfiguration& configuration,
                             std::vector<std::string>& sentences) {
  if (options.memory.empty()) return {};
  const auto memory = parse_memory_limit(options, subcommand);
  const auto& machine = configuration.machine;
  if (const auto reason = sim::backing_file_error(machine, configuration.domain); !reason.empty())
    throw Error(Code::invalid, "--memory: " + reason);
  const auto& place = machine.place(machine.home(configuration.domain));
  if (memory > place.capacity)
    sentences.push_back(fmt::format("--memory {}: {} of {} has {}, so that is not a limit", format(memory),
                                    place.name, machine.name(), format(place.capacity)));
  const auto& caches = machine.initiators()[machine.domains()[configuration.domain].initiator].caches;
  const auto largest = std::ranges::max_element(caches, {}, &machine::Cache::size);
  if (largest != caches.end() && memory < largest->size)
    sentences.push_back(fmt::format(
        "--memory {}: the {} cache of {} has {}; only cache misses access memory, so data that stay in "
        "the caches are neither read nor written here",
        format(memory), largest->name, machine.name(), format(largest->size)));
  return memory;
}

namespace {

// Returns the plan's rules, which place whole objects in memory or in the file. Throws Error{invalid} for other
// content.
std::vector<runtime::SpillSpec::Rule> read_rules(const std::string& path) {
  if (path.empty()) return {};
  const auto plan = strategy::read_plan_file(path);
  if (!plan.moves.empty())
    throw Error(Code::invalid,
                path + ": with --memory, accesses decide when data move: remove 'moves' from each [[segment]]");
  std::vector<runtime::SpillSpec::Rule> rules;
  for (const auto& object : plan.objects) {
    if (object.parts.empty()) continue;
    const auto& place = object.parts.front().place;
    const bool is_whole = object.parts.size() == 1 && object.parts.front().chunks == Span{0, object.chunks};
    if (!is_whole || (place != k_in_memory && place != k_in_file))
      throw Error(
          Code::invalid,
          fmt::format(
              "{}: object '{}': with --memory, the place of a whole object is \"{}\" or \"{}\"; write one of them",
              path, object.name, k_in_memory, k_in_file));
    rules.push_back({object.name, place == k_in_memory});
  }
  return rules;
}

// Returns the absolute path without "." and without a trailing slash, as messages show it. Leaves "..", which a
// symbolic link before it would change.
std::string normalize_folder(const std::string& folder) {
  std::filesystem::path path;
  for (const auto& part : std::filesystem::absolute(folder))
    if (!part.empty() && part != ".") path /= part;
  return path.string();
}

}  // namespace

runtime::SpillSpec build_spill_spec(const LaunchOptions& options, std::vector<std::string>& sentences) {
  if (options.subcommand != "run" || options.configuration.memory.empty()) return {};
  const auto* const temporary = std::getenv("TMPDIR");
  const std::string folder = !options.spill.empty()    ? options.spill
                             : temporary && *temporary ? temporary
                                                       : "/var/tmp";
  runtime::SpillSpec spec{normalize_folder(folder), parse_memory_limit(options.configuration, options.subcommand),
                          read_rules(options.configuration.plan)};
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored) || access(folder.c_str(), W_OK) != 0)
    throw Error(Code::invalid, "--spill " + folder + ": it is no folder that can be written to; name another");
  test_backing_file(folder);
  warn_of_limits(spec.memory, sentences);
  return spec;
}

}  // namespace terrace::cli
