// SPDX-License-Identifier: Apache-2.0
// Binds the parts of MPI's objects, charges them to the ledger, counts them, and tells problems. See
// mpi_object_placer.hpp.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "agent/mpi_objects/mpi_object_placer.hpp"
#include "agent/mpi_objects/page_placement.hpp"
#include "core/units.hpp"
#include "memory/numa_node.hpp"

namespace terrace::agent {

using strategy::MpiObject;
using strategy::MpiObjectKind;

void MpiObjectPlacer::add_part(const MpiObject& object, Part part) {
  if (part.low > part.high) part.high = part.low;
  if (!part.place) part.place = spec_.placed[static_cast<std::size_t>(object.kind)];
  if (!object.may_bind) part.place = std::nullopt;
  parts_.reserve(parts_.size() + 1);
  if (part.place) place_part(object, part);
  part.use = find_use(object, part.place);
  auto& use = uses_[part.use];
  ++use.use.objects;
  use.bytes += part.bytes;
  use.elsewhere += part.elsewhere;
  use.use.bytes = std::max(use.use.bytes, use.bytes);
  use.use.elsewhere = std::max(use.use.elsewhere, use.elsewhere);
  parts_.push_back(part);
  if (part.mapping < lowest_.load(std::memory_order_relaxed)) lowest_.store(part.mapping);
  if (part.mapping >= highest_.load(std::memory_order_relaxed)) highest_.store(part.mapping + 1);
}

void MpiObjectPlacer::place_part(const MpiObject& object, Part& part) {
  const auto& place = spec_.places[*part.place];
  const Bytes size{part.high - part.low};
  if (!ledger_.take(place.id, size)) {
    tell_once("budget", place.name + " has no budget left for " + object.name + " (" + format(size) +
                            " more), which stay where the library put them; raise --fast or --budget");
    part.place = std::nullopt;
    return;
  }
  const auto placement = place_pages(part.low, part.high, place.node);
  part.elsewhere = placement.error != 0 ? part.bytes : placement.elsewhere;
  if (part.elsewhere == 0) return;
  tell_once("elsewhere", "the system did not place " + object.name + " of " + library_.name() + " in " +
                             place.name + " (" +
                             std::strerror(placement.error != 0 ? placement.error : placement.reason) +
                             "): they stay where they are");
}

std::size_t MpiObjectPlacer::find_use(const MpiObject& object, const Place& place) {
  const auto name = place ? spec_.places[*place].name : std::string();
  const auto found = std::ranges::find_if(uses_, [&](const Use& one) {
    return one.use.object == object.name && one.use.kind == name_of(object.kind) && one.use.place == name;
  });
  if (found != uses_.end()) return static_cast<std::size_t>(found - uses_.begin());
  uses_.push_back({{library_.name(), std::string(name_of(object.kind)), object.name, name}});
  return uses_.size() - 1;
}

// Migrates what the library has touched elsewhere since it was bound: the file system has no policies.
void MpiObjectPlacer::check_parts(std::size_t first) {
  for (std::size_t i = first; i < parts_.size(); ++i) {
    auto& part = parts_[i];
    if (!part.place) continue;
    const int node = spec_.places[*part.place].node;
    if (!memory::has_pages_off_node(part.low, part.high - part.low, node)) continue;
    const auto left = place_pages(part.low, part.high, node);
    auto& use = uses_[part.use];
    use.elsewhere += left.elsewhere - part.elsewhere;
    use.use.elsewhere = std::max(use.use.elsewhere, use.elsewhere);
    part.elsewhere = left.elsewhere;
    if (left.elsewhere > 0)
      tell_once("elsewhere", "the system did not move all " + use.use.object + " of " + library_.name() + " to " +
                                 use.use.place + " (" + std::strerror(left.reason) + ")");
  }
}

void MpiObjectPlacer::remove_parts(const std::function<bool(const Part&)>& matches) {
  std::erase_if(parts_, [&](const Part& part) {
    if (!matches(part)) return false;
    uses_[part.use].bytes -= part.bytes;
    uses_[part.use].elsewhere -= part.elsewhere;
    if (part.place) ledger_.give(spec_.places[*part.place].id, Bytes{part.high - part.low});
    // The allocator uses the pages again, for the program.
    if (part.place && part.is_private && part.low < part.high)
      memory::reset_policy(part.low, part.high - part.low);
    return true;
  });
}

// --- messages ---

void MpiObjectPlacer::tell_once(const char* marker, const std::string& sentence) const {
  const auto path = directory_ + "/said-of-mpi-objects-" + marker;
  const auto file = syscall(SYS_open, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return;  // another process has told it, or the launcher has ended
  syscall(SYS_close, file);
  print_(("terrace: --mpi-objects: " + sentence + "\n").c_str());
}

void MpiObjectPlacer::tell_missing_kinds() {
  if (std::exchange(has_told_kinds_, true) || !spec_.is_wanted()) return;
  if (!library_.is_described())
    return tell_once(
        "library", "no table describes this MPI library (" + library_.name() + "): its memory stays where it is");
  for (std::size_t i = 0; i < spec_.placed.size(); ++i) {
    const auto kind = static_cast<MpiObjectKind>(i);
    if (!spec_.placed[i] || library_.has_kind(kind)) continue;
    const std::string name(name_of(kind));
    tell_once(name.c_str(), library_.name() + " has no " + name + "; it has " + library_.kinds());
  }
}

std::vector<profile::MpiObjectUse> MpiObjectPlacer::finish() {
  const std::lock_guard lock(lock_);
  if (has_told_kinds_)
    for (const auto kind :
         {MpiObjectKind::eager, MpiObjectKind::cells, MpiObjectKind::pools, MpiObjectKind::fifos}) {
      const auto i = static_cast<std::size_t>(kind);
      if (!spec_.placed[i] || seen_[i] || !library_.uses_kind(kind)) continue;
      const std::string name(name_of(kind));
      tell_once(name.c_str(), "no " + name + " of " + library_.name() +
                                  " were recognised, so they are where the library put them: a setting may have "
                                  "changed their size");
    }
  std::vector<profile::MpiObjectUse> found;
  for (const auto& one : uses_) found.push_back(one.use);
  return found;
}

}  // namespace terrace::agent
