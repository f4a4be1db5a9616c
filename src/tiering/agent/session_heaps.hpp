// SPDX-License-Identifier: Apache-2.0
// Creates the heaps that the session (the launcher's file of options) requests: for allocation by intent
// (--intent), which fills the machine's memories in an order, or for spilled memory (--memory: data in RAM and in
// a backing file). The agent's start-up (start.cpp) calls it.
#pragma once

#include <string_view>

#include "memory/ledger.hpp"
#include "runtime/session/session.hpp"
#include "transfer/spill/replacement_policy.hpp"

namespace terrace::agent {

class OrderedHeap;
class SpilledHeap;

// Returns a heap that lives as long as the process; so must the ledger. Returns null in virtual time and for runs
// with spilled memory. Also returns null, and reports it by `say`, if the session's intent cannot be served.
OrderedHeap* make_ordered(const runtime::Session& session, memory::Ledger& ledger,
                          void (*say)(const char* line)) noexcept;

// Checks the preconditions of spilled memory. Called first. Returns false if the session has none. Also returns
// false, and reports it by `say`, if its directories are unusable: the program then runs with ordinary memory.
// Borrows the session for the life of the process.
bool prepare_spilled(const runtime::Session& session, void (*say)(const char* line)) noexcept;
// Returns the plan's preference for an object of this name.
transfer::Preference preference_of(std::string_view object) noexcept;
// Makes the spilled heap, which lives as long as the process. Returns null, and reports it, if the system lacks
// support.
SpilledHeap* make_spilled() noexcept;
// At process exit: records the peak of resident memory if no spilled heap was made, which otherwise monitors it.
void end_spilled() noexcept;

// Warns that the program is about to filter its system calls while it has spilled memory.
void warn_confined_over_file() noexcept;

// Prints, once in a job, that a limit of the address space (RLIMIT_AS) leaves large blocks to the program's
// allocator. Does nothing without a limit.
void warn_address_space_limit(const runtime::Session& session, void (*print)(const char*));

}  // namespace terrace::agent
