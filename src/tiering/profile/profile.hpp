// SPDX-License-Identifier: Apache-2.0
// Defines the profile of a loop: the traffic of each chunk (unit of migration) in each phase, and the time of each
// phase. A value type: collectors produce it, the store (store/) saves it, the model reads it.
//
// Two kinds share the structure. A *sampled* profile holds what a real collector delivers: sampled miss addresses
// and phase times; its counts are estimates. An *exact* profile (oracle) holds the simulator's counters; it is
// used for the lower bound and a separate column of results, never for a decision.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/identifiers.hpp"
#include "core/units.hpp"
#include "observe/counts.hpp"
#include "observe/object.hpp"

namespace terrace::profile {

struct Profile {
  bool exact = false;
  std::string loop;
  Seconds sample_interval;  // of time samples; 0 in exact profiles
  InitiatorId initiator = 0;
  double cores = 1;  // cores represented by the program's one thread
  std::vector<observe::Object> objects;
  std::vector<observe::Iteration> iterations;  // profiled ones
  std::vector<PlaceId> places;                 // by chunk: its place at the start of the profiled iterations
  bool moving = false;                         // chunks moved during the profile: a plan was in force
  std::string progress = "accesses";           // progress measure that delimits segments
  double unseen = 0;                           // share of accesses not observed
};

}  // namespace terrace::profile
