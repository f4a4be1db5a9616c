// SPDX-License-Identifier: Apache-2.0
// Sets up spilled memory (data in RAM and in a backing file) from the session.
#pragma once

#include <string_view>

#include "runtime/session/session.hpp"
#include "transfer/spill/replacement_policy.hpp"

namespace terrace::agent {

class SpilledHeap;

// Checks the preconditions. Called first. Returns false if the session has no spilled memory. Also returns false,
// and reports it by `say`, if its directories are unusable: the program then runs with ordinary memory. Borrows
// the session for the life of the process.
bool prepare_spilled(const runtime::Session& session, void (*say)(const char* line)) noexcept;
// Returns the plan's preference for an object of this name.
transfer::Preference preference_of(std::string_view object) noexcept;
// Makes the heap, which lives as long as the process. Returns null, and reports it, if the system lacks support.
SpilledHeap* make_spilled() noexcept;
// At process exit: records the peak of resident memory if no spilled heap was made, which otherwise monitors it.
void end_spilled() noexcept;

// Warns that the program is about to filter its system calls while it has spilled memory.
void warn_confined_over_file() noexcept;

}  // namespace terrace::agent
