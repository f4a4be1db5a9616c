// SPDX-License-Identifier: Apache-2.0
// Reads the plans of an MPI job from a folder. See plan_file.hpp.
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "core/error.hpp"
#include "strategy/files/plan_file.hpp"

namespace terrace::strategy {

namespace {

namespace fs = std::filesystem;

// Returns N of "rank-N.toml", or nothing.
std::optional<std::uint32_t> rank_of(const std::string& name) {
  constexpr std::string_view k_begin = "rank-", k_end = ".toml";
  if (!name.starts_with(k_begin) || !name.ends_with(k_end)) return std::nullopt;
  std::uint32_t rank = 0;
  const auto* const end = name.data() + name.size() - k_end.size();
  const auto parsed = std::from_chars(name.data() + k_begin.size(), end, rank);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(rank) : std::nullopt;
}

}  // namespace

std::map<std::uint32_t, Plan> read_rank_plans(const fs::path& folder) {
  std::map<std::uint32_t, Plan> plans;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (const auto rank = rank_of(at->path().filename().string())) plans[*rank] = read_plan_file(at->path());
  if (failed) throw Error(Code::failed, folder.string() + ": cannot be read: " + failed.message());
  if (plans.empty())
    throw Error(Code::invalid, folder.string() +
                                   ": the folder has no plan of a rank (rank-0.toml, rank-1.toml, ...); `terrace "
                                   "plan JOB.terrace --all-ranks -o FOLDER` writes them");
  return plans;
}

}  // namespace terrace::strategy
