// A program's data in memory and in a file, where the session wants that.
#pragma once

#include "runtime/session/session.hpp"

namespace terrace::agent {

class SpilledHeap;

// Lives as long as the process. Null where it is not wanted, and where the system lacks what it takes: then a line
// says so, and the program has the memory that the system gives it.
SpilledHeap* make_spilled(const runtime::Session& session, void (*say)(const char* line)) noexcept;

}  // namespace terrace::agent
