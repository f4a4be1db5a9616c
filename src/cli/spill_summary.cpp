// See spill_summary.hpp.
#include "cli/spill_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cli/process_counts.hpp"
#include "core/units.hpp"
#include "transfer/spill/spill_counts.hpp"
#include "transfer/spill/spill_limits.hpp"

namespace terrace::cli {

namespace {

std::string line_of(const transfer::SpillCounts& counts, const runtime::SpillSpec& spec) {
  const auto foreseen = static_cast<double>(counts.foreseen.load());
  const auto loads = foreseen + static_cast<double>(counts.demanded.load());
  auto line =
      fmt::format("{} of data in {} of memory: read {} and wrote {} in {}", format(Bytes{counts.most}),
                  format(spec.memory), format(Bytes{counts.read}), format(Bytes{counts.written}), spec.folder);
  if (loads > 0) line += fmt::format("; {:.0f} % of what was read was read ahead", 100 * foreseen / loads);
  line += fmt::format("; the disk was busy for {:.3g} s, the program waited {:.3g} s for it",
                      static_cast<double>(counts.busy.load()) * 1e-9,
                      static_cast<double>(counts.waited.load()) * 1e-9);
  if (counts.given > 0)
    line += fmt::format("; {} were touched in no order, and paged by the kernel", format(Bytes{counts.given}));
  if (counts.beside > 0)
    line += fmt::format(
        "; {} beyond the limit are in small blocks and in what else has to be in memory: give at least {}",
        format(Bytes{counts.beside}),
        format(transfer::spill_limits::least_memory(Bytes{spec.memory.value + counts.beside.load()})));
  if (counts.over > 0) line += fmt::format("; {} beyond the limit stayed in memory", format(Bytes{counts.over}));
  return line;
}

std::string rate(std::uint64_t bytes, double seconds) {
  return format(Bytes{static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds)}) + "/s";
}

}  // namespace

void tell_of_spill(const std::filesystem::path& folder, const runtime::SpillSpec& spec, bool quiet) {
  std::vector<std::string> lines;
  for_each_process<transfer::SpillCounts>(
      folder, runtime::k_spill_counts, [&](const transfer::SpillCounts& counts) {
        if (counts.written > 0 || counts.read > 0 || counts.over > 0 || counts.beside > 0)
          lines.push_back(line_of(counts, spec));
      });
  std::ranges::sort(lines);
  for (const auto& line : lines)
    if (!quiet) fmt::print(stderr, "terrace: {}\n", line);
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
  fmt::print(
      stderr,
      "terrace: {:.0f} s: {} of data in {} of memory; reading {}, writing {}, waiting {:.0f} % of the time\n",
      time.count(), format(Bytes{now.content}), format(spec_.memory), rate(now.read - before_.read, seconds_),
      rate(now.written - before_.written, seconds_),
      100e-9 * static_cast<double>(now.waited - before_.waited) / seconds_);
  before_ = now;
}

}  // namespace terrace::cli
