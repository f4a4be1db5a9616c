// See spill_summary.hpp.
#include "cli/spill_summary.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "core/units.hpp"
#include "transfer/spill/spill_counts.hpp"

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
  if (counts.over > 0) line += fmt::format("; {} beyond the limit stayed in memory", format(Bytes{counts.over}));
  return line;
}

}  // namespace

void tell_of_spill(const std::filesystem::path& folder, const runtime::SpillSpec& spec, bool quiet) {
  std::vector<std::string> lines;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (!entry.path().filename().string().starts_with(runtime::k_spill_counts)) continue;
    const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    void* const page = mmap(nullptr, sizeof(transfer::SpillCounts), PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (page == MAP_FAILED) continue;
    const auto& counts = *static_cast<const transfer::SpillCounts*>(page);
    if (counts.written > 0 || counts.read > 0 || counts.over > 0) lines.push_back(line_of(counts, spec));
    munmap(page, sizeof(transfer::SpillCounts));
  }
  std::ranges::sort(lines);
  for (const auto& line : lines)
    if (!quiet) fmt::print(stderr, "terrace: {}\n", line);
}

}  // namespace terrace::cli
