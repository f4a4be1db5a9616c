// SPDX-License-Identifier: Apache-2.0
// Frees the ledger slots of dead processes, for the ledger, for a process that joins and for launchers. Allocates
// nothing and takes no lock.
#pragma once

#include <span>

#include "memory/ledger/page.hpp"

namespace terrace::memory {

// Frees each slot whose process is dead. Returns true if a slot remains whose owner is unknown.
//
// `thorough` also reads the start times and mappings of processes, which takes milliseconds; otherwise only
// kill(2) is asked. A thorough search also frees slots of which both owner records are damaged: their process is
// dead if every living process that can write the page owns a valid slot. `known_since` is the page's creation
// time as read before a stray write may have destroyed it.
bool release_dead_slots(LedgerPage& page, const ProcessIdentity& self, bool thorough,
                        std::uint64_t known_since = 0) noexcept;

// Returns whether a living process, started at `since` or later, other than `self` and those in `known`, can
// write the shared memory at `address`. A process whose mappings cannot be read counts as one that can.
bool is_writable_by_others(const void* address, std::uint32_t self, std::span<const std::uint32_t> known,
                           std::uint64_t since) noexcept;

}  // namespace terrace::memory
