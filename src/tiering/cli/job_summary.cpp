// SPDX-License-Identifier: Apache-2.0
// Reads proofs and loops of all processes from a profile. See job_summary.hpp.
#include "cli/job_summary.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

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

}  // namespace

std::optional<JobSummary> read_job_summary(const std::string& path) {
  profile::Database database(path, profile::Database::Mode::read);
  JobSummary job;
  profile::Statement counts(database,
                            "SELECT COUNT(DISTINCT process), MIN(backend = 'real'),"
                            " (SELECT COUNT(*) FROM move WHERE NOT refused),"
                            " (SELECT COALESCE(SUM(size), 0) FROM move WHERE NOT refused) FROM run");
  counts.bind_all();
  if (!counts.step() || counts.integer(0) < 2 || counts.integer(1) == 0) return {};
  job.processes = counts.integer(0);
  job.moves = counts.integer(2);
  job.moved = counts.integer(3);
  IterationTimes measured, predicted;
  profile::Statement runs(database,
                          "SELECT id, process, program, ended IS NULL AND EXISTS (SELECT 1 FROM loop WHERE"
                          " run = run.id) FROM run ORDER BY id");
  runs.bind_all();
  while (runs.step()) {
    if (runs.integer(3) != 0) job.unfinished.push_back({runs.integer(1), runs.text(2)});
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
    }
    job.undone += proof->undone ? 1 : 0;
  }
  job.gained = measured.gained();
  job.predicted = predicted.gained();
  return job;
}

std::string format_gain(const JobSummary& job) {
  if (!job.gained) return {};
  const auto change = [](double share) { return (share < 0 ? "lost " : "gained ") + percent(share); };
  auto text = change(*job.gained);
  if (job.predicted)
    text += fmt::format(" (predicted {}{})", *job.predicted < 0 ? "a loss of " : "", percent(*job.predicted));
  if (job.proven > 1)
    text += fmt::format(", worst: {} {}", name_of(job.worst_program, job.worst_process), change(job.worst));
  if (job.undone > 0) text += fmt::format(", undone in {} of {}", job.undone, job.proven);
  return text;
}

std::string format_unfinished(const JobSummary& job, std::int64_t except) {
  auto others = job.unfinished;
  std::erase_if(others, [&](const auto& one) { return one.process == except; });
  if (others.empty()) return {};
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
  return nlohmann::ordered_json{{"processes", job.processes},
                                {"proven", job.proven},
                                {"undone", job.undone},
                                {"gained", share(job.gained)},
                                {"predicted_gain", share(job.predicted)},
                                {"worst", worst},
                                {"moves", job.moves},
                                {"moved_bytes", job.moved}}
      .dump();
}

}  // namespace terrace::cli
