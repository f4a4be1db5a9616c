// SPDX-License-Identifier: Apache-2.0
// Decides from which source a run is profiled. The launcher (--dry-run) and the agent share the decision.
#pragma once

#include "runtime/session/session.hpp"

namespace terrace::runtime {

// Source of the profile.
enum class ProfileSource : std::uint8_t {
  none,
  hooks,  // accesses that instrumentation hooks report
  pages   // accesses to pages of a real process, as the kernel reports them
};

// Returns whether the first configuration has more than one place to choose from.
[[nodiscard]] bool has_choice(const Session& session);

// Returns whether accesses are profiled: for a recorded profile, or for a planner that needs one. A plan that is
// followed unchanged needs none, nor does a choice that is made at allocation.
[[nodiscard]] bool learns(const Session& session);

// Purpose of watching pages.
enum class WatchPurpose : std::uint8_t {
  profile,       // a profile is gathered
  phases,        // a plan of intervals is followed: they are its phases
  other_phases,  // a plan is followed whose phases come from calls or loops: intervals replace missing ones
  nothing        // a plan is followed that moves nothing in the loop
};

// Returns why the session's first configuration watches pages. Requires: they are the profile's source.
[[nodiscard]] WatchPurpose watch_purpose(const Session& session);

// Returns the profile's source. `has_hooks`: some code of the program reports its accesses. Without hooks the
// pages are watched, if the real machine has a profile to gather or a plan has moves to make, and nothing else
// reports accesses or faults.
[[nodiscard]] ProfileSource profile_source(const Session& session, bool has_hooks);

}  // namespace terrace::runtime
