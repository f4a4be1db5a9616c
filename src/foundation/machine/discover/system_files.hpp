// What /proc and /sys say of the system and of this process, read below a root that tests replace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.hpp"

namespace terrace::machine {

// "0-3,8" as the kernel writes sets of nodes and processors; what cannot be read ends the list.
std::vector<int> parse_list(std::string_view text);
std::string format_list(const std::vector<int>& numbers);

// The group that holds a controller's settings for this process. In version 1 each controller has a tree of groups
// of its own, in version 2 all share one.
struct ControlGroup {
  int version = 2;
  std::filesystem::path folder;  // of the process's group
  std::filesystem::path top;     // of the tree, as far as it is mounted here
};

struct MemoryLimit {
  Bytes limit;
  std::optional<Bytes> used;  // by the group that has the limit
  int version = 2;
};

class SystemFiles {
 public:
  explicit SystemFiles(std::filesystem::path root = "/") : root_(std::move(root)) {}

  // A file's text without the line's end; nothing where it cannot be read. Paths are absolute: "/proc/meminfo".
  [[nodiscard]] std::optional<std::string> text(const std::filesystem::path& path) const;
  [[nodiscard]] std::optional<std::int64_t> number(const std::filesystem::path& path) const;
  // The set in a file of /sys; nothing where there is no such file.
  [[nodiscard]] std::optional<std::vector<int>> list(const std::filesystem::path& path) const;
  // What follows "key:" on a line of its own, as in /proc/self/status.
  [[nodiscard]] std::optional<std::string> field(const std::filesystem::path& path, std::string_view key) const;
  // The word in brackets, as in "always [madvise] never".
  [[nodiscard]] std::optional<std::string> choice(const std::filesystem::path& path) const;
  // Names in a folder, sorted; none where there is no such folder.
  [[nodiscard]] std::vector<std::string> names(const std::filesystem::path& folder) const;

  [[nodiscard]] std::optional<ControlGroup> control_group(std::string_view controller) const;
  // The least of the limits of this process's group and the groups around it; nothing where none has any.
  [[nodiscard]] std::optional<MemoryLimit> memory_limit() const;
  // The nodes that the group's cpuset has; nothing where no cpuset is set.
  [[nodiscard]] std::optional<std::vector<int>> group_nodes() const;

 private:
  [[nodiscard]] std::filesystem::path below_root(const std::filesystem::path& path) const;

  std::filesystem::path root_;
};

}  // namespace terrace::machine
