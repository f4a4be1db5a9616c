// See spill_summary.hpp.
#include "cli/spill_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/process_counts.hpp"
#include "core/big_block.hpp"
#include "core/units.hpp"
#include "transfer/spill/spill_counts.hpp"
#include "transfer/spill/spill_limits.hpp"

namespace terrace::cli {

namespace {

constexpr std::size_t k_single = 4;  // more processes have one line
constexpr Seconds k_told{0.01};

std::string bytes(std::uint64_t value) { return format(Bytes{value}); }
double seconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }
std::string name_of(const SpilledProcess& one) { return fmt::format("{} ({})", one.program, one.process); }

// What is in memory beyond the limit, but for blocks that had no room: they are told of apart.
std::uint64_t beside(const SpilledProcess& one) { return one.beside - std::min(one.beside, one.refused); }

std::string read_ahead(const SpilledProcess& one) {
  const auto foreseen = static_cast<double>(one.foreseen);
  const auto loads = foreseen + static_cast<double>(one.demanded);
  return loads > 0 ? fmt::format("; {:.0f} % of what was read was read ahead", 100 * foreseen / loads) : "";
}

std::string of_blocks(const SpilledProcess& one) {
  std::string text;
  if (one.given > 0 && !one.paged)
    text += fmt::format(
        "; {} were touched in no order or in small parts, and paged by the kernel (what it reads and writes for "
        "them is not "
        "counted)",
        bytes(one.given));
  if (one.refused > 0)
    text += fmt::format("; blocks of {} in all had no room in the file and stayed in memory", bytes(one.refused));
  return text;
}

std::string why_over(std::uint32_t reasons) {
  std::string text;
  for (const auto& [reason, words] :
       {std::pair(transfer::k_over_file, "the file did not take it"),
        std::pair(transfer::k_over_rest, "what has to stay left too little for the rest"),
        std::pair(transfer::k_over_held, "it was locked, held by a device, or had rights of its own")})
    if ((reasons & reason) != 0) text += std::string(text.empty() ? ": " : "; or ") + words;
  return text;
}

std::string line_of(const SpilledProcess& one, const runtime::SpillSpec& spec) {
  // Nearly all of what it has in memory is not Terrace's to move.
  if (beside(one) > 0 && one.most < spec.memory.value / 4)
    return fmt::format(
        "its data are in mappings below {}, which stay in memory, or in what else is not taken over (static data, "
        "stacks, and mappings that are shared, of files, or without rights at first): {} beyond the limit{}{}",
        format(Bytes{k_big_block}), bytes(beside(one)),
        one.most > 0 ? fmt::format("; {} could be in the file", bytes(one.most)) : "", of_blocks(one));
  if (one.paged)
    return fmt::format(
        "{} of data in {} of memory: paged by the kernel in {}, what it read and wrote is not counted{}{}",
        bytes(one.most), format(spec.memory), spec.folder, of_blocks(one),
        spec.plan.empty() ? "" : "; the plan is not followed there");
  auto line = fmt::format("{} of data in {} of memory: read {} and wrote {} in {}{}", bytes(one.most),
                          format(spec.memory), bytes(one.read), bytes(one.written), spec.folder, read_ahead(one));
  line += fmt::format("; the disk was busy for {:.3g} s, threads waited {:.3g} s for it in all", seconds(one.busy),
                      seconds(one.waited));
  if (one.measured > 0)
    line += fmt::format("; {:.3g} s of its time were predicted to take {:.3g} s", seconds(one.measured),
                        seconds(one.predicted));
  if (one.plan_tried)
    line += fmt::format("; the plan {}{} {:.0f} % against what touches say",
                        one.plan_undone ? "is undone, as it " : "", one.plan_gain < 0 ? "lost" : "gained",
                        100 * std::abs(one.plan_gain));
  else if (!spec.plan.empty())
    line += one.plan_names ? "; the plan was in force for too short a time to be tried"
                           : "; the plan names none of its blocks of 4MiB and more";
  if (one.longer() >= k_told)
    line += fmt::format("; with all data in memory it would have taken about {:.3g} s less", one.longer().value);
  line += of_blocks(one);
  if (beside(one) > 0)
    line +=
        fmt::format("; {} beyond the limit are in what has to be in memory: give at least {}", bytes(beside(one)),
                    format(transfer::spill_limits::least_memory(Bytes{spec.memory.value + beside(one)})));
  if (one.over > 0)
    line += fmt::format("; {} beyond the limit stayed in memory{}", bytes(one.over), why_over(one.over_reasons));
  return line;
}

SpilledProcess sum_of(const std::vector<SpilledProcess>& processes) {
  SpilledProcess sum;
  for (const auto& one : processes)
    for (const auto count :
         {&SpilledProcess::most, &SpilledProcess::read, &SpilledProcess::written, &SpilledProcess::foreseen,
          &SpilledProcess::demanded, &SpilledProcess::wasted, &SpilledProcess::busy, &SpilledProcess::waited,
          &SpilledProcess::given, &SpilledProcess::refused, &SpilledProcess::beside, &SpilledProcess::over,
          &SpilledProcess::predicted, &SpilledProcess::measured})
      sum.*count += one.*count;
  return sum;
}

std::string line_of_all(const std::vector<SpilledProcess>& processes, const runtime::SpillSpec& spec) {
  const auto sum = sum_of(processes);
  const auto [least, most] = std::ranges::minmax_element(processes, {}, &SpilledProcess::waited);
  auto line = fmt::format(
      "{} processes, {} of data in {} of memory each: read {} and wrote {} in {}{}; threads waited {:.3g} s for "
      "it in all, those of {} most, {:.3g} s, those of {} least, {:.3g} s{}",
      processes.size(), bytes(sum.most), format(spec.memory), bytes(sum.read), bytes(sum.written), spec.folder,
      read_ahead(sum), seconds(sum.waited), name_of(*most), seconds(most->waited), name_of(*least),
      seconds(least->waited), of_blocks(sum));
  const auto worst = std::ranges::max_element(processes, {}, beside);
  if (beside(*worst) > 0)
    line += fmt::format("; {} beyond the limit are in what has to be in memory, of {}", bytes(beside(*worst)),
                        name_of(*worst));
  return line;
}

std::string line_of_none(const std::vector<SpilledProcess>& processes, const runtime::SpillSpec& spec,
                         Bytes peak) {
  const auto most = std::ranges::max_element(processes, {}, &SpilledProcess::most)->most;
  // A process may be large for too short a time to be seen.
  if (peak.value > spec.memory.value + spec.memory.value / 4)
    return fmt::format("a process had {} in memory, more than {}: little of its data was taken over, {} at most",
                       format(peak), format(spec.memory), bytes(most));
  if (most == 0)
    return fmt::format("nothing was put over a file: no process had a block of {} or more, or {} in memory",
                       format(Bytes{k_big_block}), format(Bytes{spec.memory.value / 4}));
  if (processes.size() == 1)
    return fmt::format("all of its data fitted into {} of memory: {}", format(spec.memory), bytes(most));
  return fmt::format("all of its data fitted: {} processes, {} of memory each, {} of data at most",
                     processes.size(), format(spec.memory), bytes(most));
}

// That an interval of so many seconds has, as far as milliseconds: 0.25 has two.
int decimals(double seconds) {
  int count = 0;
  for (; count < 3 && std::abs(seconds - std::round(seconds)) > 1e-6; ++count) seconds *= 10;
  return count;
}

std::string rate(std::uint64_t bytes, double seconds) {
  return format(Bytes{static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds)}) + "/s";
}

}  // namespace

Seconds SpilledProcess::longer() const {
  return Seconds{seconds(waited) / std::max(at_once, 1.0)} +
         static_cast<double>(paged_reads) * transfer::spill_limits::k_page_read;
}

std::vector<SpilledProcess> spilled_processes(const std::filesystem::path& folder) {
  std::vector<SpilledProcess> all;
  for_each_process<transfer::SpillCounts>(folder, runtime::k_spill_counts,
                                          [&](const transfer::SpillCounts& counts) {
                                            if (!counts.begun) return;
                                            const auto end = std::ranges::find(counts.program, '\0');
                                            all.push_back({.program = std::string(counts.program.begin(), end),
                                                           .process = counts.process,
                                                           .most = counts.most,
                                                           .read = counts.read,
                                                           .written = counts.written,
                                                           .foreseen = counts.foreseen,
                                                           .demanded = counts.demanded,
                                                           .wasted = counts.wasted,
                                                           .busy = counts.busy,
                                                           .waited = counts.waited,
                                                           .given = counts.most_given,
                                                           .refused = counts.refused,
                                                           .beside = counts.beside,
                                                           .over = counts.over,
                                                           .over_reasons = counts.over_reasons,
                                                           .predicted = counts.predicted,
                                                           .measured = counts.measured,
                                                           .at_once = counts.at_once,
                                                           .paged_reads = counts.paged_reads,
                                                           .plan_names = counts.plan_names,
                                                           .plan_tried = counts.plan_tried,
                                                           .plan_undone = counts.plan_undone,
                                                           .plan_gain = counts.plan_gain,
                                                           .paged = counts.paged && counts.most > counts.limit});
                                          });
  std::ranges::sort(all, {}, &SpilledProcess::process);
  return all;
}

std::vector<std::string> lines_of(const std::vector<SpilledProcess>& processes, const runtime::SpillSpec& spec,
                                  Bytes peak) {
  if (processes.empty()) return {};
  std::vector<SpilledProcess> told;
  std::ranges::copy_if(processes, std::back_inserter(told), &SpilledProcess::had_too_little);
  if (told.empty()) return {line_of_none(processes, spec, peak)};
  if (told.size() > k_single) return {line_of_all(told, spec)};
  std::vector<std::string> lines;
  for (const auto& one : told)
    lines.push_back((processes.size() > 1 ? name_of(one) + ": " : "") + line_of(one, spec));
  return lines;
}

std::string spill_json(const std::vector<SpilledProcess>& processes, const runtime::SpillSpec& spec) {
  const auto sum = sum_of(processes);
  const auto plans_tried = std::ranges::count(processes, true, &SpilledProcess::plan_tried);
  const auto plans_undone = std::ranges::count(processes, true, &SpilledProcess::plan_undone);
  Seconds longer{};  // processes of a job wait for one another
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
                                {"busy_s", seconds(sum.busy)},
                                {"threads_waited_s", seconds(sum.waited)},
                                {"longer_s", longer.value},
                                {"predicted_s", seconds(sum.predicted)},
                                {"measured_s", seconds(sum.measured)},
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
                                            all.waited += counts.waited;
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
             1e-9 * static_cast<double>(now.waited - before_.waited) / seconds_);
  before_ = now;
}

}  // namespace terrace::cli
