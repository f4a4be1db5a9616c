// SPDX-License-Identifier: Apache-2.0
// Frees ledger slots of dead processes, when a process joins, an acquisition fails or a launcher ends. Reads from
// /proc which processes have mapped the page: no stray write can change that. See dead_slots.hpp.
#include "memory/ledger/dead_slots.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

namespace terrace::memory {

namespace {

// A line of /proc/PROCESS/maps (proc(5)) without its path.
struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::array<char, 5> rights{};
  std::array<char, 16> device{};
  std::uint64_t inode = 0;
  [[nodiscard]] bool is_written_by_others() const { return rights[1] == 'w' && rights[3] == 's'; }
  [[nodiscard]] bool is_of(const Mapping& other) const { return inode == other.inode && device == other.device; }
};

enum class Read : std::uint8_t { found, missing, refused };

// Finds the first mapping of the process for which `matches` holds.
template <class Predicate>
Read find_mapping(std::uint32_t process, Predicate matches, Mapping& mapping) noexcept {
  std::array<char, 32> path;
  std::snprintf(path.data(), path.size(), "/proc/%u/maps", process);
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Read::refused;
  auto result = Read::missing;
  std::array<char, 4096> block;
  std::array<char, 128> line;  // its beginning, which has all but the path
  std::size_t length = 0;
  for (ssize_t size = 0; result == Read::missing && (size = ::read(file, block.data(), block.size())) != 0;) {
    if (size < 0) {
      result = Read::refused;
      break;
    }
    for (const char letter : std::span(block.data(), static_cast<std::size_t>(size))) {
      if (letter != '\n') {
        if (length + 1 < line.size()) line[length++] = letter;
        continue;
      }
      line[length] = '\0';
      length = 0;
      mapping = {};
      unsigned long begin = 0;
      unsigned long end = 0;
      unsigned long inode = 0;
      if (std::sscanf(line.data(), "%lx-%lx %4s %*x %15s %lu", &begin, &end, mapping.rights.data(),
                      mapping.device.data(), &inode) != 5)
        continue;
      mapping.begin = begin;
      mapping.end = end;
      mapping.inode = inode;
      if (!matches(mapping)) continue;
      result = Read::found;
      break;
    }
  }
  ::close(file);
  return result;
}

// Returns whether `is_so` holds for any process, or the list of processes cannot be read. Uses getdents64(2),
// because opendir(3) allocates.
template <class Predicate>
bool any_process(Predicate is_so) noexcept {
  const int folder = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return true;
  alignas(dirent64) std::array<char, 4096> block;
  bool found = false;
  long size = 0;
  while (!found && (size = ::syscall(SYS_getdents64, folder, block.data(), block.size())) > 0) {
    for (long at = 0; !found && at < size;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(block.data() + at);
      at += entry->d_reclen;
      char* end = nullptr;
      const auto process = static_cast<std::uint32_t>(std::strtoul(entry->d_name, &end, 10));
      found = end != entry->d_name && *end == '\0' && is_so(process);
    }
  }
  ::close(folder);
  return found || size < 0;
}

// Returns whether the process may run as this user; other users cannot open the page. Reads the Uid line of
// status, because the /proc folder of a non-dumpable process belongs to root.
bool may_be_of_this_user(std::uint32_t process) noexcept {
  std::array<char, 32> path;
  std::snprintf(path.data(), path.size(), "/proc/%u/status", process);
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno != ENOENT;
  std::array<char, 2048> text;
  const auto size = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  if (size <= 0) return false;  // it has ended
  text[static_cast<std::size_t>(size)] = '\0';
  const char* const line = std::strstr(text.data(), "\nUid:");
  return !line || std::strtoul(line + 5, nullptr, 10) == ::getuid();
}

// Scans all slots: frees those of dead processes, and collects live processes and slots with a damaged owner.
struct SlotScan {
  SlotScan(LedgerPage& of_page, const ProcessIdentity& who, bool thorough) noexcept : page(of_page), self(who) {
    const auto used = used_slots(page);
    for (std::size_t slot = 0; slot < used; ++slot) {
      const auto owner = read_owner(page, slot);
      unknown = unknown || owner.kind == SlotOwner::Kind::unknown;
      if (owner.kind == SlotOwner::Kind::owned &&
          (thorough ? is_alive(owner.who, self) : may_be_alive(owner.who, self))) {
        known[count++] = owner.who.process;
        elsewhere = elsewhere || owner.who.space != self.space;
      } else if (!owner.is_first_copy_valid) {
        damaged[damages] = owner;
        damaged_slots[damages++] = slot;
      } else if (owner.kind == SlotOwner::Kind::owned) {
        free_slot(page, slot, owner);
      }
    }
  }
  // Returns whether a process that owns no valid slot may be alive.
  [[nodiscard]] bool others_live(std::uint64_t known_since) const noexcept {
    return elsewhere || is_writable_by_others(&page, self.process, std::span(known).first(count),
                                              std::max(since(page), known_since));
  }

  LedgerPage& page;
  const ProcessIdentity& self;
  std::array<std::uint32_t, k_ledger_slots> known;
  std::size_t count = 0;
  // Owners as read. Their processes are dead if every live process is known.
  std::array<SlotOwner, k_ledger_slots> damaged;
  std::array<std::size_t, k_ledger_slots> damaged_slots;
  std::size_t damages = 0;
  bool unknown = false;
  bool elsewhere = false;
};

}  // namespace

bool is_writable_by_others(const void* shared, std::uint32_t self, std::span<const std::uint32_t> known,
                           std::uint64_t since) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(shared);
  Mapping own;
  const auto contains = [&](const Mapping& mapping) { return mapping.begin <= address && address < mapping.end; };
  if (find_mapping(self, contains, own) != Read::found) return true;
  if (own.inode == 0) return false;  // memory of this process alone
  const auto can_write = [&](std::uint32_t process) {
    if (process == self || std::ranges::find(known, process) != known.end()) return false;
    const auto state = process_state(process);
    if (!state || state->ended || state->start < since) return false;
    if (state->first_thread_ended)
      return may_be_of_this_user(process);  // /proc shows no mappings of a dead first thread
    Mapping same;
    const auto is_same = [&](const Mapping& one) { return one.is_of(own) && one.is_written_by_others(); };
    const auto read = find_mapping(process, is_same, same);
    return read == Read::found || (read == Read::refused && may_be_of_this_user(process));
  };
  return any_process(can_write);
}

bool release_dead_slots(LedgerPage& page, const ProcessIdentity& self, bool thorough,
                        std::uint64_t known_since) noexcept {
  SlotScan first(page, self, thorough);
  if (first.damages == 0 || !thorough || first.others_live(known_since)) return first.unknown;
  // A damaged slot may meanwhile be freed, claimed by a process known by another slot, and destroyed again in the
  // same way (ABA). Retagging it detects what happens from then on; the second scan detects what happened before.
  std::array<bool, k_ledger_slots> marked;
  for (std::size_t i = 0; i < first.damages; ++i)
    marked[i] = retag_damaged(page, first.damaged_slots[i], first.damaged[i], self);
  const SlotScan second(page, self, thorough);
  if (second.others_live(known_since)) return second.unknown;
  for (std::size_t i = 0; i < first.damages; ++i)
    if (marked[i]) free_slot(page, first.damaged_slots[i], first.damaged[i]);
  return false;
}

}  // namespace terrace::memory
