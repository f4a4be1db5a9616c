// Frees the slots of processes that are dead.
#pragma once

#include <span>

#include "memory/ledger/page.hpp"

namespace terrace::memory {

// Where neither copy says whose a slot is, its process is dead once every living process that can write the page
// has a slot that says so. `thorough`: processes' start times and mappings are read, which takes milliseconds;
// without it only what the system says at once. `known_since`: what the page said of its beginning before a stray
// write may have destroyed that. True where a slot remains whose process is unknown.
bool free_dead_slots(LedgerPage& page, const ProcessIdentity& asker, bool thorough,
                     std::uint64_t known_since = 0) noexcept;

// Whether a living process beside the asker and those that are known, none older than `since`, can write the
// memory that is shared at this address. What cannot be read counts as one that can.
bool others_can_write(const void* address, std::uint32_t asker, std::span<const std::uint32_t> known,
                      std::uint64_t since) noexcept;

}  // namespace terrace::memory
