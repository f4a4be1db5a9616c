// A program's data in memory and in a file, where the session wants that.
#pragma once

#include <string_view>

#include "runtime/session/session.hpp"
#include "transfer/spill/replacement_policy.hpp"

namespace terrace::agent {

class SpilledHeap;

// Called first. False where it is not wanted, and where the session's folders cannot be used: then a line says so,
// and the program has the memory that the system gives it. The session outlives the process.
bool prepare_spilled(const runtime::Session& session, void (*say)(const char* line)) noexcept;
// What the session's plan says of an object of that name.
transfer::Preference preference_of(std::string_view object) noexcept;
// Lives as long as the process. Null where the system lacks what it takes, in the same way.
SpilledHeap* make_spilled() noexcept;
// The process ends: what it had in memory is noted, where nothing of it was over a file and so nobody looked.
void end_spilled() noexcept;

// The program is about to filter its system calls, and has data over a file: says what that means.
void say_confined_over_file() noexcept;

}  // namespace terrace::agent
