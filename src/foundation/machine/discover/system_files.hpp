// SPDX-License-Identifier: Apache-2.0
// Reads what /proc and /sys report of the system and of this process, below a root that tests replace. The command
// line uses it to check and measure machines and to find memory limits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.hpp"

namespace terrace::machine {

// Parse and format "0-3,8", the kernel's notation of sets of nodes and processors. Parsing ends at the first
// error.
std::vector<int> parse_list(std::string_view text);
std::string format_list(const std::vector<int>& numbers);

// The control group with a controller's settings for this process. In version 1 each controller has its own tree
// of groups; in version 2 all share one.
struct ControlGroup {
  int version = 2;
  std::filesystem::path folder;  // of the process's group
  std::filesystem::path top;     // root of the tree, as far as it is mounted here
};

struct MemoryLimit {
  Bytes limit;
  std::optional<Bytes> used;  // by the group that has the limit
  int version = 2;
};

class SystemFiles {
 public:
  explicit SystemFiles(std::filesystem::path root = "/") : root_(std::move(root)) {}

  // Returns a file's text without the final newline, or nothing if it cannot be read. Paths are absolute.
  [[nodiscard]] std::optional<std::string> text(const std::filesystem::path& path) const;
  [[nodiscard]] std::optional<std::int64_t> number(const std::filesystem::path& path) const;
  // Returns the set in a file of /sys, or nothing if the file does not exist.
  [[nodiscard]] std::optional<std::vector<int>> list(const std::filesystem::path& path) const;
  // Returns the value of a line "key: value", as in /proc/self/status.
  [[nodiscard]] std::optional<std::string> field(const std::filesystem::path& path, std::string_view key) const;
  // Returns the word in brackets, as in "always [madvise] never".
  [[nodiscard]] std::optional<std::string> choice(const std::filesystem::path& path) const;
  // Returns the sorted names in a folder; none if it does not exist.
  [[nodiscard]] std::vector<std::string> names(const std::filesystem::path& folder) const;

  [[nodiscard]] std::optional<ControlGroup> control_group(std::string_view controller) const;
  // Returns the least limit of this process's group and its ancestors, or nothing if none has a limit.
  [[nodiscard]] std::optional<MemoryLimit> memory_limit() const;
  // Returns the nodes of the group's cpuset, or nothing if none is set.
  [[nodiscard]] std::optional<std::vector<int>> group_nodes() const;

 private:
  [[nodiscard]] std::filesystem::path below_root(const std::filesystem::path& path) const;

  std::filesystem::path root_;
};

}  // namespace terrace::machine
