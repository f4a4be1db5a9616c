// By what a program is known in a run: the launcher says it beforehand (--dry-run), and the agent does it.
#pragma once

#include "runtime/session/session.hpp"

namespace terrace::runtime {

// By what the profile is filled.
enum class Observed : std::uint8_t {
  nothing,  // no collector is made
  hooks,    // accesses that hooks report
  pages     // of a real process: pages, as the kernel tells it
};

// Whether the first configuration has places to choose between.
[[nodiscard]] bool has_choice(const Session& session);

// Whether what the program accesses is to be learned: for a profile, or for a planner that makes its plan of one.
// A plan that is obeyed as it is needs none, nor does a choice that is made when memory is.
[[nodiscard]] bool learns(const Session& session);

// `has_hooks`: some code of the program reports its accesses. Without, its pages are watched, where on the real
// machine something is to be learned, or a plan has moves to make, and nothing else reports accesses or faults.
[[nodiscard]] Observed observed_in(const Session& session, bool has_hooks);

}  // namespace terrace::runtime
