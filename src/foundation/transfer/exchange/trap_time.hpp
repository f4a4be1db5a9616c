// SPDX-License-Identifier: Apache-2.0
// Measures the overhead of a userfaultfd trap.
#pragma once

#include <optional>

#include "core/units.hpp"

namespace terrace::transfer {

// Measures one trap: a thread faults on an absent, watched page; later the page is moved there and the thread
// woken. Returns the time from the wake-up until the thread runs. Empty where UFFDIO_MOVE is not available, or the
// thread faulted too late to wait.
std::optional<Seconds> trap_time();

}  // namespace terrace::transfer
