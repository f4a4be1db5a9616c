// What waiting for a page in flight costs beside the wait.
#pragma once

#include <optional>

#include "core/units.hpp"

namespace terrace::transfer {

// One try: a thread touches a page that is absent and watched; a while later the page is moved there, and the
// thread is woken. The time from then until the thread goes on. None where the system does not let pages be moved.
std::optional<Seconds> trap_time();

}  // namespace terrace::transfer
