// SPDX-License-Identifier: Apache-2.0
// Reads and parses files of /proc and /sys for `terrace machine`, measurements and the launcher: lists, settings,
// control groups. See system_files.hpp.
#include "machine/discover/system_files.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

namespace terrace::machine {
namespace {

namespace fs = std::filesystem;

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::vector<std::string> split_words(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

// Returns whether a comma-separated list has the word.
bool has_word(std::string_view list, std::string_view word) {
  for (std::size_t at = 0; at <= list.size();) {
    const auto end = std::min(list.find(',', at), list.size());
    if (list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

// A line of /proc/self/cgroup: "4:memory:/a/b" (version 1), "0::/a/b" (version 2).
struct Membership {
  bool version_2 = false;
  std::string controllers;
  std::string path;
};

// Parses /proc/self/cgroup: the control groups of this process.
std::vector<Membership> parse_memberships(const std::string& text) {
  std::vector<Membership> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    found.push_back({controllers.empty(), controllers, line.substr(second + 1)});
  }
  return found;
}

struct Mount {
  std::string root;  // subtree of the file system that is mounted
  std::string point;
};

// Finds where a controller's tree is mounted, by /proc/self/mountinfo (proc(5)).
std::optional<Mount> find_mount(const std::string& mountinfo, bool version_2, std::string_view controller) {
  std::istringstream in(mountinfo);
  for (std::string line; std::getline(in, line);) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto where = split_words(line.substr(0, dash));
    const auto what = split_words(line.substr(dash + 3));
    if (where.size() < 5 || what.empty()) continue;
    const bool fits = version_2 ? what[0] == "cgroup2" : what[0] == "cgroup" && has_word(what.back(), controller);
    if (fits) return Mount{where[3], where[4]};
  }
  return std::nullopt;
}

}  // namespace

std::vector<int> parse_list(std::string_view text) {
  constexpr int k_max_number = 1 << 16;  // a damaged file must not exhaust memory
  std::vector<int> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc()) break;
    int last = first;
    if (read.ptr != end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc()) break;
    last = std::min(last, first + k_max_number);
    for (int number = first; number <= last; ++number) numbers.push_back(number);
    at = read.ptr;
    if (at != end && *at == ',') ++at;
  }
  return numbers;
}

std::string format_list(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    auto j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[i]);
    if (j > i) text += '-' + std::to_string(numbers[j]);
    i = j + 1;
  }
  return text;
}

fs::path SystemFiles::below_root(const fs::path& path) const { return root_ / path.relative_path(); }

std::optional<std::string> SystemFiles::text(const fs::path& path) const {
  std::ifstream in(below_root(path));
  if (!in) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return std::nullopt;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::optional<std::int64_t> SystemFiles::number(const fs::path& path) const {
  const auto found = text(path);
  return found ? parse_number<std::int64_t>(*found) : std::nullopt;
}

std::optional<std::vector<int>> SystemFiles::list(const fs::path& path) const {
  const auto found = text(path);
  return found ? std::optional(parse_list(*found)) : std::nullopt;
}

std::optional<std::string> SystemFiles::field(const fs::path& path, std::string_view key) const {
  std::istringstream in(text(path).value_or(""));
  for (std::string line; std::getline(in, line);) {
    if (line.size() <= key.size() || line.compare(0, key.size(), key) != 0 || line[key.size()] != ':') continue;
    const auto from = line.find_first_not_of(" \t", key.size() + 1);
    return from == std::string::npos ? "" : line.substr(from);
  }
  return std::nullopt;
}

std::optional<std::string> SystemFiles::choice(const fs::path& path) const {
  const auto found = text(path);
  if (!found) return std::nullopt;
  const auto open = found->find('[');
  const auto close = found->find(']', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  return found->substr(open + 1, close - open - 1);
}

std::vector<std::string> SystemFiles::names(const fs::path& folder) const {
  std::vector<std::string> found;
  std::error_code problem;
  for (fs::directory_iterator at(below_root(folder), problem), end; !problem && at != end; at.increment(problem))
    found.push_back(at->path().filename());
  std::sort(found.begin(), found.end());
  return found;
}

// In hybrid mode a controller belongs to the version that lists it by name.
std::optional<ControlGroup> SystemFiles::control_group(std::string_view controller) const {
  const auto groups = parse_memberships(text("/proc/self/cgroup").value_or(""));
  auto mine = std::find_if(groups.begin(), groups.end(),
                           [&](const Membership& one) { return has_word(one.controllers, controller); });
  if (mine == groups.end()) {
    mine = std::find_if(groups.begin(), groups.end(), [](const Membership& one) { return one.version_2; });
  }
  if (mine == groups.end()) return std::nullopt;
  const auto mount = find_mount(text("/proc/self/mountinfo").value_or(""), mine->version_2, controller);
  if (!mount) return std::nullopt;
  auto path = mine->path;
  if (mount->root != "/" && path.compare(0, mount->root.size(), mount->root) == 0)
    path.erase(0, mount->root.size());
  ControlGroup found{mine->version_2 ? 2 : 1, fs::path(mount->point) / fs::path(path).relative_path(),
                     mount->point};
  // In a container the path may be the host's, which is not mounted here; the mounted root is then the group
  // itself.
  if (path.find("..") != std::string::npos || !fs::is_directory(below_root(found.folder)))
    found.folder = found.top;
  return found;
}

std::optional<MemoryLimit> SystemFiles::memory_limit() const {
  const auto group = control_group("memory");
  if (!group) return std::nullopt;
  constexpr std::uint64_t k_unlimited = std::uint64_t{1} << 60;  // version 1 reports about 2^63 for no limit
  const bool old = group->version == 1;
  std::optional<MemoryLimit> lowest;
  for (auto folder = group->folder;; folder = folder.parent_path()) {
    const auto words = text(folder / (old ? "memory.limit_in_bytes" : "memory.max"));
    const auto limit = words ? parse_number<std::uint64_t>(*words) : std::nullopt;  // "max" is no number
    if (limit && *limit < k_unlimited && (!lowest || *limit < lowest->limit.value)) {
      lowest = MemoryLimit{{*limit}, std::nullopt, group->version};
      if (const auto used = number(folder / (old ? "memory.usage_in_bytes" : "memory.current")))
        lowest->used = Bytes{static_cast<std::uint64_t>(*used)};
    }
    if (folder == group->top || folder == folder.parent_path()) return lowest;
  }
}

std::optional<std::vector<int>> SystemFiles::group_nodes() const {
  const auto group = control_group("cpuset");
  if (!group) return std::nullopt;
  for (auto folder = group->folder;; folder = folder.parent_path()) {
    for (const auto* name : {"cpuset.mems.effective", "cpuset.effective_mems", "cpuset.mems"}) {
      auto nodes = list(folder / name);
      if (nodes && !nodes->empty()) return nodes;
    }
    if (folder == group->top || folder == folder.parent_path()) return std::nullopt;
  }
}

}  // namespace terrace::machine
