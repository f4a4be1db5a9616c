// A program's data by intent, as the session wants it.
#pragma once

#include "memory/ledger.hpp"
#include "runtime/session/session.hpp"

namespace terrace::agent {

class OrderedHeap;

// Lives as long as the process, as the ledger does. Null in virtual time, and where the session's intent cannot be
// served: then a line says so.
OrderedHeap* make_ordered(const runtime::Session& session, memory::Ledger& ledger,
                          void (*say)(const char* line)) noexcept;

}  // namespace terrace::agent
