// SPDX-License-Identifier: Apache-2.0
// Reads the counts of out-of-core memory that each process of a run keeps, and reports them: every few seconds,
// and as JSON at the end. See spill_summary.hpp.
#include "cli/spill_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/process_counts.hpp"
#include "core/units.hpp"
#include "transfer/spill/spill_counts.hpp"
#include "transfer/spill/spill_limits.hpp"

namespace terrace::cli {

namespace {

// Returns the number of decimals of an interval, at most three: 2 for 0.25.
int decimals(double seconds) {
  int count = 0;
  for (; count < 3 && std::abs(seconds - std::round(seconds)) > 1e-6; ++count) seconds *= 10;
  return count;
}

std::string rate(std::uint64_t bytes, double seconds) {
  return format(Bytes{static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds)}) + "/s";
}

}  // namespace

SpilledProcess sum_processes(const std::vector<SpilledProcess>& processes) {
  SpilledProcess sum;
  for (const auto& one : processes)
    for (const auto count :
         {&SpilledProcess::most, &SpilledProcess::read, &SpilledProcess::written, &SpilledProcess::foreseen,
          &SpilledProcess::demanded, &SpilledProcess::wasted, &SpilledProcess::busy, &SpilledProcess::waited,
          &SpilledProcess::paged_waited, &SpilledProcess::given, &SpilledProcess::refused, &SpilledProcess::beside,
          &SpilledProcess::over, &SpilledProcess::predicted, &SpilledProcess::measured})
      sum.*count += one.*count;
  return sum;
}

Seconds SpilledProcess::longer() const { return Seconds{to_seconds(all_waited()) / std::max(at_once, 1.0)}; }

std::vector<SpilledProcess> read_spilled_processes(const std::filesystem::path& folder) {
  std::vector<SpilledProcess> all;
  for_each_process<transfer::SpillCounts>(
      folder, runtime::k_spill_counts, [&](const transfer::SpillCounts& counts) {
        if (!counts.active) return;
        const auto end = std::ranges::find(counts.program, '\0');
        all.push_back({.program = std::string(counts.program.begin(), end),
                       .process = counts.process,
                       .most = counts.max_content,
                       .read = counts.read,
                       .written = counts.written,
                       .foreseen = counts.prefetched,
                       .demanded = counts.demanded,
                       .wasted = counts.wasted,
                       .busy = counts.busy,
                       .waited = counts.waited,
                       .given = counts.max_kernel_paged,
                       .refused = counts.refused_bytes,
                       .beside = counts.max_excess,
                       .over = counts.max_over_limit,
                       .over_reasons = counts.over_limit_reasons,
                       .predicted = counts.predicted,
                       .measured = counts.measured,
                       .at_once = counts.concurrency,
                       .paged_waited = counts.paged_waited,
                       .plan_names = counts.plan_names,
                       .plan_tried = counts.plan_tried,
                       .plan_undone = counts.plan_undone,
                       .plan_gain = counts.plan_gain,
                       .paged = counts.paged && counts.max_content > counts.limit});
      });
  std::ranges::sort(all, {}, &SpilledProcess::process);
  return all;
}

std::string spill_json(const std::vector<SpilledProcess>& processes, const runtime::SpillSpec& spec) {
  const auto sum = sum_processes(processes);
  const auto plans_tried = std::ranges::count(processes, true, &SpilledProcess::plan_tried);
  const auto plans_undone = std::ranges::count(processes, true, &SpilledProcess::plan_undone);
  Seconds longer{};  // the largest: processes of a job wait for one another
  for (const auto& one : processes) longer = std::max(longer, one.longer());
  return nlohmann::ordered_json{{"processes", processes.size()},
                                {"limited", !processes.empty()},
                                {"memory_bytes", spec.memory.value},
                                {"data_bytes", sum.most},
                                {"read_bytes", sum.read},
                                {"written_bytes", sum.written},
                                {"foreseen_chunks", sum.foreseen},
                                {"demanded_chunks", sum.demanded},
                                {"wasted_chunks", sum.wasted},
                                {"busy_s", to_seconds(sum.busy)},
                                {"threads_waited_s", to_seconds(sum.all_waited())},
                                {"longer_s", longer.value},
                                {"predicted_s", to_seconds(sum.predicted)},
                                {"measured_s", to_seconds(sum.measured)},
                                {"plans_tried", plans_tried},
                                {"plans_undone", plans_undone},
                                {"given_bytes", sum.given},
                                {"refused_bytes", sum.refused},
                                {"beyond_bytes", sum.beside + sum.over}}
      .dump();
}

SpillReports::SpillReports(std::filesystem::path folder, const runtime::SpillSpec& spec, double seconds)
    : folder_(std::move(folder)),
      spec_(spec),
      seconds_(seconds),
      reports_(std::chrono::duration<double>(seconds), [this] { report(); }) {}

SpillReports::Totals SpillReports::totals() const {
  Totals all;
  for_each_process<transfer::SpillCounts>(folder_, runtime::k_spill_counts,
                                          [&](const transfer::SpillCounts& counts) {
                                            all.content += counts.content;
                                            all.read += counts.read;
                                            all.written += counts.written;
                                            all.waited += counts.waited + counts.paged_waited;
                                          });
  return all;
}

void SpillReports::report() {
  const auto now = totals();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begun_;
  fmt::print(stderr,
             "terrace: {:.{}f} s: {} of data in {} of memory; reading {}, writing {}, threads waiting on average: "
             "{:.2g}\n",
             time.count(), decimals(seconds_), format(Bytes{now.content}), format(spec_.memory),
             rate(now.read - before_.read, seconds_), rate(now.written - before_.written, seconds_),
             to_seconds(now.waited - before_.waited) / seconds_);
  before_ = now;
}

}  // namespace terrace::cli
