// SPDX-License-Identifier: Apache-2.0
// Resolves the names in a plan against the objects of a running program: names to objects, spans to chunks, names
// of places and kinds to places. Used by the classes that follow a plan (following/). The running program may be
// divided into other chunks than the profiled one, and its objects may have other sizes: spans are shares of an
// object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan.hpp"
#include "core/units.hpp"
#include "machine/machine.hpp"

namespace terrace::strategy {

struct RunningObject {
  std::string_view name;
  Bytes size;
  std::uint32_t chunks = 1;
  DomainId domain = 0;
};

struct ChunkMove {
  std::uint32_t object = 0;  // index of the running object
  std::uint32_t chunk = 0;   // index in the object
  PlaceId to = 0;
  std::uint32_t ask = 0;   // phase of the plan that requests the move
  std::uint32_t need = 0;  // phase that waits for it
  bool awaited = true;
  std::uint32_t order = 0;  // moves of one `ask` are submitted in ascending order
  Seconds benefit;          // this chunk's share
  Seconds cost;
};

struct ExpandedObject {
  bool is_planned = false;  // the plan names it; otherwise it stays at home
  bool pinned = false;
  bool scaled = false;           // it had another size when the plan was made
  std::vector<PlaceId> initial;  // by chunk: where it resides when the loop begins
  std::vector<Seconds> worth;    // by chunk: gain per iteration of the planned placement
  std::vector<ChunkMove> moves;  // in the plan's order
};

struct ExpandedPlan {
  std::vector<ExpandedObject> objects;  // by running object
  std::vector<ChunkMove> moves;         // of all objects, in the order in which they are submitted
  std::vector<std::string> notes;       // what did not match, one line each
};

// Returns whether the planned object has that name, or is a shell pattern (*, ?, [a-z]) that matches it.
bool matches_name(const PlanObject& planned, std::string_view name);

// Returns the index of the plan's object for a name: the one of exactly that name, else the first whose pattern
// matches. Returns the number of objects if there is none.
std::size_t find_object(const Plan& plan, std::string_view name);

// Expands the plan for one object. Appends a line to `notes` for each part that did not match.
ExpandedObject expand_object(const Plan& plan, const machine::Machine& machine, const RunningObject& object,
                             std::uint32_t index, std::vector<std::string>& notes);

// Expands the plan for all objects. Also notes the plan's objects that the program does not have.
ExpandedPlan expand_plan(const Plan& plan, const machine::Machine& machine,
                         const std::vector<RunningObject>& objects);

}  // namespace terrace::strategy
