// SPDX-License-Identifier: Apache-2.0
// Reads how much memory the process may still allocate from /proc/meminfo and from the limits of its control
// groups. Executors call it before they touch large memory, to fail with an error instead of being killed.
#include "stencil/data/free_memory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/error.hpp"
#include "core/units.hpp"

namespace terrace::stencil {
namespace {

// Returns the number after a word at the beginning of a line; the file's first number if the word is empty.
std::optional<std::uint64_t> number_in(const std::string& file, const std::string& word) {
  std::ifstream lines(file);
  std::string found;
  std::uint64_t number = 0;
  if (word.empty()) return lines >> number ? std::optional(number) : std::nullopt;
  for (std::string rest; lines >> found; std::getline(lines, rest))
    if (found == word) return lines >> number ? std::optional(number) : std::nullopt;
  return std::nullopt;
}

void take_less(std::optional<FreeMemory>& least, std::uint64_t bytes, const std::string& by) {
  if (!least || bytes < least->bytes) least = FreeMemory{bytes, by};
}

// Lowers `least` to the free memory of a control group and of its ancestors, where they have less. `top` is the
// mount point of the groups; `is_old` chooses the file names of version 1.
void add_groups(std::optional<FreeMemory>& least, const std::string& top, const std::string& group, bool is_old) {
  const auto base = std::filesystem::path(top);
  auto folder = base / std::filesystem::path(group).relative_path();
  // In a container the path may be the host's, which is not mounted here; the mount is then the group itself.
  if (group.find("..") != std::string::npos || !std::filesystem::is_directory(folder)) folder = base;
  for (;; folder = folder.parent_path()) {
    const auto limit = folder / (is_old ? "memory.limit_in_bytes" : "memory.max");
    const auto most = number_in(limit, "");  // no limit: "max"
    const auto taken = number_in(folder / (is_old ? "memory.usage_in_bytes" : "memory.current"), "");
    if (most && taken) {
      // The kernel reclaims the group's page cache under pressure.
      std::uint64_t files = 0;
      for (const auto* const word : {"inactive_file", "active_file"})
        files += number_in(folder / "memory.stat", (is_old ? "total_" : "") + std::string(word)).value_or(0);
      const auto held = *taken - std::min(*taken, files);
      take_less(least, *most - std::min(*most, held), limit);
    }
    if (folder == base || folder == folder.parent_path()) return;
  }
}

}  // namespace

std::optional<FreeMemory> free_memory(const std::string& root) {
  std::optional<FreeMemory> least;
  if (const auto kib = number_in(root + "/proc/meminfo", "MemAvailable:"))
    take_less(least, *kib * 1024, "MemAvailable of /proc/meminfo");
  // "4:memory:/a/b" in version 1, "0::/a/b" in version 2.
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    auto controllers = line.substr(first, second - first);  // ":" or ":cpu,memory"
    std::ranges::replace(controllers, ':', ',');
    controllers += ',';
    const auto group = line.substr(second + 1);
    if (controllers == ",,") add_groups(least, root + "/sys/fs/cgroup", group, false);
    if (controllers.find(",memory,") != std::string::npos)
      add_groups(least, root + "/sys/fs/cgroup/memory", group, true);
  }
  return least;
}

void need_memory(const std::string& what, std::uint64_t bytes, const std::string& advice) {
  const auto free = free_memory();
  if (!free || bytes <= free->bytes) return;
  throw Error(Code::no_memory, what + " takes " + format(Bytes{bytes}) + ", " + format(Bytes{free->bytes}) +
                                   " are free (" + free->by + "): " + advice);
}

}  // namespace terrace::stencil
