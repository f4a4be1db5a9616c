// SPDX-License-Identifier: Apache-2.0
// Implements 16-byte atomics without libatomic: by cmpxchg16b on x86-64, elsewhere by a lock that all 16-byte
// atomics of instrumented code share.
#pragma once

#include "observe/objects/spin_lock.hpp"

namespace terrace::observe {

__extension__ using Wide = unsigned __int128;

// Replaces `expected` by `desired`; returns the previous value.
Wide wide_compare_exchange(volatile Wide* at, Wide expected, Wide desired);
// Requires: the memory is writable, because x86-64 implements the load as a compare-exchange.
Wide wide_load(const volatile Wide* at);

}  // namespace terrace::observe
