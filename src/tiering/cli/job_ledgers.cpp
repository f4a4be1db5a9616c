// SPDX-License-Identifier: Apache-2.0
// Finds the job's number and creates or joins its ledger, by which launches and processes share budgets. See
// job_ledgers.hpp.
#include "cli/job_ledgers.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "cli/job_id.hpp"
#include "cli/slurm_record.hpp"
#include "core/error.hpp"
#include "memory/ledger/folder.hpp"

namespace terrace::cli {

namespace {

// Returns a name that all launchers of a job on a node have in common. Outside of jobs, this launcher is its own
// job.
std::string shared_job_id() {
  const auto job = find_node_job();
  return job.empty() ? std::to_string(getpid()) : job;
}

// Describes the job for its ledger: name, places and budgets.
memory::JobDescription title_of(const runtime::SessionConfiguration& configuration, std::string job) {
  memory::JobDescription title{std::move(job), {}};
  const auto& places = configuration.machine.places();
  for (std::size_t i = 0; i < places.size(); ++i)
    title.places.push_back({places[i].name, configuration.budget.at(i), places[i].granule});
  return title;
}

}  // namespace

JobLedgers::JobLedgers(runtime::Session& session, const std::filesystem::path& folder,
                       std::vector<std::string>& sentences) {
  const bool is_real = session.backend == runtime::Backend::real;
  std::optional<std::string> shared;  // the folder that launches have in common
  const auto use_own_ledger = [&](const Error& why) {
    sentences.push_back(std::string(why.what()) + "; this launch uses a private ledger");
    shared.reset();
  };
  if (is_real) {
    memory::remove_stale_ledgers();
    remove_stale_allocations();
    try {
      shared = memory::make_ledger_folder();
    } catch (const Error& error) {
      use_own_ledger(error);
    }
  }
  for (auto& configuration : session.configurations) {
    const auto job = is_real ? shared_job_id() : "-" + configuration.label;
    const auto title = title_of(configuration, job);
    if (shared) {
      try {
        files_.push_back(std::make_unique<memory::JobFile>(*shared, title));
        configuration.ledger = files_.back()->path();
        if (configuration.ledger != *shared + "/" + memory::ledger_file_name(job))
          sentences.push_back(
              fmt::format("job {} has a ledger for other places or budgets on this node; this launch uses "
                          "a private one, so the launches of the job may together exceed each of their budgets",
                          job));
        continue;
      } catch (const Error& error) {
        if (error.code() != Code::failed) throw;
        use_own_ledger(error);
      }
    }
    // `folder` is private to this launch, and so is a ledger in it.
    files_.push_back(std::make_unique<memory::JobFile>(folder.string(), title));
    configuration.ledger = files_.back()->path();
  }
}

std::vector<memory::LedgerView> JobLedgers::views() const {
  std::vector<memory::LedgerView> views;
  for (const auto& file : files_)
    if (auto view = memory::read_ledger_view(file->page())) views.push_back(std::move(*view));
  return views;
}

}  // namespace terrace::cli
