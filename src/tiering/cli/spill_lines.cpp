// SPDX-License-Identifier: Apache-2.0
// Formats the closing line of `terrace run --memory` and the profile's notes on out-of-core memory. See
// spill_summary.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cli/spill_summary.hpp"
#include "core/big_block.hpp"
#include "core/units.hpp"
#include "transfer/spill/spill_counts.hpp"
#include "transfer/spill/spill_limits.hpp"

namespace terrace::cli {

namespace {

constexpr Seconds k_min_reported{0.01};

std::string bytes(std::uint64_t value) { return format(Bytes{value}); }
std::string name_of(const SpilledProcess& one) { return fmt::format("{} ({})", one.program, one.process); }

// Returns the bytes in memory beyond the limit, without refused blocks, which have a clause of their own.
std::uint64_t unmanaged_excess(const SpilledProcess& one) {
  return one.beside - std::min(one.beside, one.refused);
}

// Returns the clause on the share of reads that were prefetched.
std::string read_ahead(const SpilledProcess& one) {
  const auto foreseen = static_cast<double>(one.foreseen);
  const auto loads = foreseen + static_cast<double>(one.demanded);
  return loads > 0 ? fmt::format("; {:.0f} % of what was read was read ahead", 100 * foreseen / loads) : "";
}

// Returns the clauses on data that the kernel paged, and on blocks that stayed outside the file.
std::string of_blocks(const SpilledProcess& one) {
  std::string text;
  if (one.given > 0 && !one.paged)
    text += fmt::format(
        "; blocks of {} were used in no order or in small parts, and handed over to kernel paging (what it reads "
        "and writes is not counted)",
        bytes(one.given));
  if (one.refused > 0)
    text += fmt::format("; blocks of {} in all stayed in memory, outside the file", bytes(one.refused));
  return text;
}

// Returns the reasons (bits of transfer::k_over_...) for data in memory beyond the limit.
std::string why_over(std::uint32_t reasons) {
  std::string text;
  for (const auto& [reason, words] :
       {std::pair(transfer::k_over_file, "the file did not take it"),
        std::pair(transfer::k_over_rest, "what has to stay left too little for the rest"),
        std::pair(transfer::k_over_held, "it was locked, held by a device, or had rights of its own")})
    if ((reasons & reason) != 0) text += std::string(text.empty() ? ": " : "; or ") + words;
  return text;
}

// Returns the clause on what the plan of --plan gained.
std::string of_plan(const SpilledProcess& one, const runtime::SpillSpec& spec) {
  if (one.plan_tried)
    return fmt::format("; the plan {}{} {:.0f} %", one.plan_undone ? "is undone, as it " : "",
                       one.plan_gain < 0 ? "lost" : "gained", 100 * std::abs(one.plan_gain));
  if (spec.plan.empty()) return {};
  return one.plan_names ? "; the plan was in force for too short a time to be tried"
                        : "; the plan names none of its blocks of 4MiB and more";
}

// Returns the clause on memory beyond the limit; "" if the limit held.
std::string format_excess(const SpilledProcess& one, const runtime::SpillSpec& spec) {
  std::string text;
  if (unmanaged_excess(one) > 0)
    text += fmt::format(
        "; {} beyond the limit are in what has to be in memory: give at least {}", bytes(unmanaged_excess(one)),
        format(transfer::spill_limits::min_memory(Bytes{spec.memory.value + unmanaged_excess(one)})));
  if (one.over > 0)
    text += fmt::format("; {} beyond the limit stayed in memory{}", bytes(one.over), why_over(one.over_reasons));
  return text;
}

// Returns whether nearly all memory of the process is not managed by Terrace.
bool has_little_to_move(const SpilledProcess& one, const runtime::SpillSpec& spec) {
  return unmanaged_excess(one) > 0 && one.most < spec.memory.value / 4;
}

constexpr const char* k_not_taken_over =
    " (static data, stacks, and mappings that are shared, of files, or without rights at first)";

// Returns the sentence on a process whose data can hardly be in the file.
std::string of_unmoved(const SpilledProcess& one, const char* what) {
  return fmt::format(
      "its data are in mappings below {}, which stay in memory, or in what else is not taken over{}: {} beyond "
      "the "
      "limit{}",
      format(Bytes{k_big_block}), what, bytes(unmanaged_excess(one)),
      one.most > 0 ? fmt::format("; {} could be in the file", bytes(one.most)) : "");
}

std::string waited(const SpilledProcess& one) {
  return fmt::format("; threads waited {:.3g} s", to_seconds(one.all_waited()));
}

// Returns all counts, for the profile.
std::string account_of(const SpilledProcess& one, const runtime::SpillSpec& spec) {
  if (has_little_to_move(one, spec)) return of_unmoved(one, k_not_taken_over) + of_blocks(one);
  if (one.paged)
    return fmt::format(
        "{} of data in {} of memory: paged by the kernel in {}, what it read and wrote is not counted{}{}{}",
        bytes(one.most), format(spec.memory), spec.folder, waited(one), of_blocks(one),
        spec.plan.empty() ? "" : "; the plan is not followed there");
  auto line = fmt::format("{} of data in {} of memory: read {} and wrote {} in {}{}", bytes(one.most),
                          format(spec.memory), bytes(one.read), bytes(one.written), spec.folder, read_ahead(one));
  line += fmt::format("; the disk was busy for {:.3g} s, threads waited {:.3g} s for it in all",
                      to_seconds(one.busy), to_seconds(one.all_waited()));
  if (one.measured > 0)
    line += fmt::format("; {:.3g} s of its time were predicted to take {:.3g} s", to_seconds(one.measured),
                        to_seconds(one.predicted));
  line += of_plan(one, spec);
  if (one.plan_tried) line += " against what touches say";
  if (one.longer() >= k_min_reported)
    line += fmt::format("; without these waits it would have taken about {:.3g} s less", one.longer().value);
  line += of_blocks(one);
  return line + format_excess(one, spec);
}

// A prediction of a small part of the waits is omitted: it would be read as a prediction of all of them.
bool tells_forecast(const SpilledProcess& one) { return one.measured > 0 && one.measured >= one.all_waited() / 2; }

std::string refused(const SpilledProcess& one) {
  return one.refused > 0 ? fmt::format("; {} stayed in memory, outside the file", bytes(one.refused)) : "";
}

// Returns the closing line: traffic, the plan's gain, waits, and excess over the limit.
std::string line_of(const SpilledProcess& one, const runtime::SpillSpec& spec) {
  if (has_little_to_move(one, spec)) return of_unmoved(one, "") + refused(one);
  auto line = fmt::format("{} of data in {} of memory: ", bytes(one.most), format(spec.memory));
  if (one.paged) {
    line += std::string("paged by the kernel") + (spec.plan.empty() ? "" : "; the plan is not followed there");
    return line + waited(one) + refused(one);
  }
  line += fmt::format("read {} and wrote {}", bytes(one.read), bytes(one.written)) + of_plan(one, spec);
  line += waited(one);
  if (tells_forecast(one))
    line += fmt::format("; {:.2g} s of the run were predicted as {:.2g} s", to_seconds(one.measured),
                        to_seconds(one.predicted));
  if (one.given > 0)
    line += fmt::format("; blocks of {} were handed over to kernel paging (not counted), {:.3g} s of the waits",
                        bytes(one.given), to_seconds(one.paged_waited));
  return line + refused(one) + format_excess(one, spec);
}

// Returns the closing line for several processes.
std::string line_of_all(const std::vector<SpilledProcess>& processes, const runtime::SpillSpec& spec) {
  const auto sum = sum_processes(processes);
  const auto most = std::ranges::max_element(processes, {}, &SpilledProcess::all_waited);
  auto line = fmt::format("{} processes, {} of data in {} of memory each: read {} and wrote {}", processes.size(),
                          bytes(sum.most), format(spec.memory), bytes(sum.read), bytes(sum.written));
  const auto tried = std::ranges::count(processes, true, &SpilledProcess::plan_tried);
  if (tried > 0) {
    const auto worst = std::ranges::min_element(processes, {}, &SpilledProcess::plan_gain);
    line += fmt::format("; the plan {} {:.0f} % at worst, {}", worst->plan_gain < 0 ? "lost" : "gained",
                        100 * std::abs(worst->plan_gain), name_of(*worst));
    if (const auto undone = std::ranges::count(processes, true, &SpilledProcess::plan_undone))
      line += fmt::format(", undone in {}", undone);
  }
  line += fmt::format("; threads waited {:.3g} s, those of {} {:.3g} s", to_seconds(sum.all_waited()),
                      name_of(*most), to_seconds(most->all_waited()));
  const auto worst = std::ranges::max_element(
      processes, {}, [](const SpilledProcess& one) { return unmanaged_excess(one) + one.over; });
  line += refused(sum);
  if (unmanaged_excess(*worst) + worst->over > 0)
    line +=
        fmt::format("; {} beyond the limit in {}", bytes(unmanaged_excess(*worst) + worst->over), name_of(*worst));
  return line;
}

// Returns the closing line where no process reached the limit.
std::string line_of_none(const std::vector<SpilledProcess>& processes, const runtime::SpillSpec& spec,
                         Bytes peak) {
  const auto most = std::ranges::max_element(processes, {}, &SpilledProcess::most)->most;
  // A process may exceed the limit for too short a time to be sampled.
  if (peak.value > spec.memory.value + spec.memory.value / 4)
    return fmt::format("a process had {} in memory, more than {}: little of its data was taken over, {} at most",
                       format(peak), format(spec.memory), bytes(most));
  if (most == 0)
    return fmt::format(
        "nothing was managed out of core: no process allocated a block of at least {}, or used {} of memory (a "
        "quarter of --memory)",
        format(Bytes{k_big_block}), format(Bytes{spec.memory.value / 4}));
  if (processes.size() == 1)
    return fmt::format("all of its data fitted into {} of memory: {}", format(spec.memory), bytes(most));
  return fmt::format("all of its data fitted: {} processes, {} of memory each, {} of data at most",
                     processes.size(), format(spec.memory), bytes(most));
}

}  // namespace

std::vector<std::string> format_spill_lines(const std::vector<SpilledProcess>& processes,
                                            const runtime::SpillSpec& spec, Bytes peak) {
  if (processes.empty()) return {};
  std::vector<SpilledProcess> limited;
  std::ranges::copy_if(processes, std::back_inserter(limited), &SpilledProcess::had_too_little);
  if (limited.empty()) return {line_of_none(processes, spec, peak)};
  if (limited.size() > 1) return {line_of_all(limited, spec)};
  return {(processes.size() > 1 ? name_of(limited.front()) + ": " : "") + line_of(limited.front(), spec)};
}

std::vector<std::string> format_spill_notes(const std::vector<SpilledProcess>& processes,
                                            const runtime::SpillSpec& spec) {
  std::vector<std::string> notes;
  for (const auto& one : processes)
    if (one.had_too_little()) notes.push_back(name_of(one) + ": " + account_of(one, spec));
  return notes;
}

}  // namespace terrace::cli
