// SPDX-License-Identifier: Apache-2.0
// Reads from a profile what a job of several processes gained (proofs, loops, refused moves, plans, notes) for its
// closing line. See job_summary.hpp.
#include "cli/job_summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/proof_summary.hpp"
#include "profile/store/store_database.hpp"

namespace terrace::cli {

namespace {

struct IterationTimes {
  double with = 0, without = 0;  // seconds of the same iterations
  void add(Seconds one_with, Seconds one_without, std::int64_t iterations) {
    with += one_with.value * static_cast<double>(iterations);
    without += one_without.value * static_cast<double>(iterations);
  }
  [[nodiscard]] std::optional<double> gained() const {
    if (without <= 0) return {};
    return 1 - with / without;
  }
};

std::string name_of(const std::string& program, std::int64_t process) {
  return fmt::format("{} ({})", program.substr(program.rfind('/') + 1), process);
}

// Returns "rank 1 did not end by itself" or "ranks 0, 2 and 3 did not end by themselves".
std::string format_unfinished_ranks(std::vector<std::int64_t> ranks) {
  constexpr std::size_t k_max = 4;  // listed ones
  std::ranges::sort(ranks);
  if (ranks.size() == 1) return fmt::format("rank {} did not end by itself", ranks.front());
  if (ranks.size() > k_max)
    return fmt::format("rank {} and {} more did not end by themselves", ranks.front(), ranks.size() - 1);
  const auto last = ranks.back();
  ranks.pop_back();
  return fmt::format("ranks {} and {} did not end by themselves", fmt::join(ranks, ", "), last);
}

// Prefix of the note that a planner writes if it produced no plan.
const std::string k_no_plan = "no plan was made, data stays where it is: ";

// Returns whether all objects that can be moved, which excludes stacks and small blocks, are in the place.
bool resides_in(profile::Database& database, std::int64_t run, const std::string& name) {
  profile::Statement query(
      database,
      "SELECT COUNT(*), COALESCE(SUM(place.name = ?2), 0) FROM object JOIN object_place AS part ON"
      " part.run = object.run AND part.object = object.id JOIN run ON run.id = object.run"
      " JOIN place ON place.machine = run.machine AND place.id = part.place"
      " WHERE run.id = ?1 AND object.kind IN ('heap', 'mapping', 'fixed', 'common')");
  query.bind_all(run, name);
  return query.step() && query.integer(0) > 0 && query.integer(0) == query.integer(1);
}

}  // namespace

std::optional<JobSummary> read_job_summary(const std::string& path) {
  profile::Database database(path, profile::Database::Mode::read);
  JobSummary job;
  profile::Statement counts(database,
                            "SELECT COUNT(DISTINCT process), MIN(backend = 'real'), COUNT(DISTINCT rank),"
                            " (SELECT COUNT(*) FROM move WHERE NOT refused),"
                            " (SELECT COALESCE(SUM(size), 0) FROM move WHERE NOT refused) FROM run");
  counts.bind_all();
  if (!counts.step() || counts.integer(0) < 2 || counts.integer(1) == 0) return {};
  job.processes = counts.integer(0);
  job.ranks = counts.integer(2);
  job.moves = counts.integer(3);
  job.moved = counts.integer(4);
  IterationTimes measured, predicted;
  profile::Statement runs(database,
                          "SELECT id, process, program, ended IS NULL AND (rank IS NOT NULL OR EXISTS"
                          " (SELECT 1 FROM loop WHERE run = run.id)), COALESCE(rank, -1) FROM run ORDER BY id");
  runs.bind_all();
  while (runs.step()) {
    if (runs.integer(3) != 0) job.unfinished.push_back({runs.integer(1), runs.text(2), runs.integer(4)});
    const auto proof = read_proof(path, runs.integer(0));
    const auto gained = proof ? proof->gained() : std::nullopt;
    if (!gained) continue;
    measured.add(proof->with, proof->without, proof->iterations_with);
    if (proof->gain_predicted())
      predicted.add(proof->predicted, proof->predicted_unplaced, proof->iterations_with);
    if (job.proven++ == 0 || *gained < job.worst) {
      job.worst = *gained;
      job.worst_process = runs.integer(1);
      job.worst_program = runs.text(2);
      job.worst_rank = runs.integer(4);
    }
    job.undone += proof->undone ? 1 : 0;
    job.noise += proof->is_noise && !proof->undone ? 1 : 0;
  }
  job.gained = measured.gained();
  job.predicted = predicted.gained();
  return job;
}

std::string format_gain(const JobSummary& job) {
  if (!job.gained) return {};
  const auto change = [](double share) { return (share < 0 ? "lost " : "gained ") + percent(share); };
  const bool is_noise = 2 * job.noise > job.proven;  // one of many ranks may differ by chance
  auto text = is_noise ? "no gain beyond noise" : change(*job.gained);
  if (job.predicted)
    text += fmt::format(" (predicted {}{})", *job.predicted < 0 ? "a loss of " : "", percent(*job.predicted));
  if (job.proven > 1 && !is_noise)
    text += fmt::format(", worst: {} {}",
                        job.worst_rank >= 0 ? fmt::format("rank {}", job.worst_rank)
                                            : name_of(job.worst_program, job.worst_process),
                        change(job.worst));
  if (job.undone > 0) text += fmt::format(", undone in {} of {}", job.undone, job.proven);
  return text;
}

std::string format_unfinished(const JobSummary& job, std::int64_t except) {
  auto others = job.unfinished;
  std::erase_if(others, [&](const auto& one) { return one.process == except; });
  if (others.empty()) return {};
  std::vector<std::int64_t> ranks;
  for (const auto& one : others)
    if (one.rank >= 0) ranks.push_back(one.rank);
  if (ranks.size() == others.size()) return format_unfinished_ranks(std::move(ranks));
  const auto first = name_of(others.front().program, others.front().process);
  if (others.size() == 1) return first + " did not end by itself";
  return fmt::format("{} and {} more did not end by themselves", first, others.size() - 1);
}

std::string json_of(const JobSummary& job) {
  const auto share = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json worst;
  if (job.proven > 0)
    worst = {{"process", job.worst_process}, {"program", job.worst_program}, {"gained", job.worst}};
  if (job.worst_rank >= 0) worst["rank"] = job.worst_rank;
  return nlohmann::ordered_json{{"processes", job.processes},
                                {"ranks", job.ranks},
                                {"proven", job.proven},
                                {"undone", job.undone},
                                {"noise", job.noise},
                                {"gained", share(job.gained)},
                                {"predicted_gain", share(job.predicted)},
                                {"worst", worst},
                                {"moves", job.moves},
                                {"moved_bytes", job.moved}}
      .dump();
}

std::string reason_for_no_moves(const std::string& path, std::int64_t run, const std::string& fastest) {
  profile::Database database(path, profile::Database::Mode::read);
  profile::Statement query(database,
                           "SELECT (SELECT COUNT(*) FROM move WHERE run = ?1 AND refused),"
                           " (SELECT COUNT(*) FROM plan WHERE run = ?1),"
                           " (SELECT text FROM note WHERE run = ?1 AND text LIKE ?2 || '%')");
  query.bind_all(run, k_no_plan);
  if (!query.step()) return {};
  if (const auto refused = query.integer(0); refused > 0)
    return fmt::format("the system refused {} {}", refused, refused == 1 ? "move" : "moves");
  if (resides_in(database, run, fastest)) return fmt::format("its data resides in {} already", fastest);
  if (query.integer(1) > 0) return "no plan gains more than its moves cost";
  if (const auto said = query.text(2); !said.empty()) return said.substr(k_no_plan.size());
  return "it ended before enough was learned for a plan";
}

}  // namespace terrace::cli
