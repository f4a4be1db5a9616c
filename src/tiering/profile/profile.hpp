// The profile: for each chunk and phase what was accessed, how, and how long the phase took. A value; collectors
// fill it, the store keeps it, the model reads it.
//
// Two profiles of one run look the same and differ in what they know. A *sampled* one holds what a real collector
// can deliver: sampled miss addresses and phase times; counts are estimates. An *exact* one (the oracle) holds
// the simulator's own counters; it feeds the lower bound and a separate column of results, and never a decision.
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
  double cores = 1;  // cores that the program's one thread stood for
  std::vector<observe::Object> objects;
  std::vector<observe::Iteration> iterations;  // those that were profiled
  std::vector<PlaceId> places;                 // by chunk: where it was while it was profiled (iteration start)
  bool moving = false;                         // they were elsewhere, too, meanwhile: a plan was in force
  std::string progress = "accesses";           // what its segments were cut by
  double unseen = 0;                           // share of the accesses that was not observed
};

}  // namespace terrace::profile
