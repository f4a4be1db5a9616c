// Atomics of 16 bytes without libatomic: by cmpxchg16b on x86-64, elsewhere by a lock that every 16-byte atomic of
// instrumented code takes.
#pragma once

#include "observe/objects/spin_lock.hpp"

namespace terrace::observe {

__extension__ using Wide = unsigned __int128;

// Stores `desired` where `expected` is; returns what was there.
Wide wide_compare_exchange(volatile Wide* at, Wide expected, Wide desired);
// The memory must be writable: what x86-64 has is a store of what is there already.
Wide wide_load(const volatile Wide* at);

}  // namespace terrace::observe
