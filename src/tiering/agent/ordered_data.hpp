// SPDX-License-Identifier: Apache-2.0
// Makes the process's OrderedHeap from the session.
#pragma once

#include "memory/ledger.hpp"
#include "runtime/session/session.hpp"

namespace terrace::agent {

class OrderedHeap;

// Returns a heap that lives as long as the process; so must the ledger. Returns null in virtual time and for runs
// with spilled memory. Also returns null, and reports it by `say`, if the session's intent cannot be served.
OrderedHeap* make_ordered(const runtime::Session& session, memory::Ledger& ledger,
                          void (*say)(const char* line)) noexcept;

}  // namespace terrace::agent
