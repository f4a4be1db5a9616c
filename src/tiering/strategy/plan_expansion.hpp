// A plan meets the objects of a running program: names become objects, spans become chunks, names of places and
// kinds become places. The running program may be cut into other chunks than the profiled one was, and its objects
// may have other sizes: spans are shares of an object.
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
  std::uint32_t chunk = 0;   // its place in the object
  PlaceId to = 0;
  std::uint32_t ask = 0;
  std::uint32_t need = 0;
  bool awaited = true;
  std::uint32_t order = 0;  // of the plan's move: among those of one `ask`, lower ones are submitted first
  Seconds benefit;          // this chunk's share
  Seconds cost;
};

struct ExpandedObject {
  bool is_planned = false;  // the plan names it; otherwise it is at home
  bool pinned = false;
  bool scaled = false;           // it had another size when the plan was made
  std::vector<PlaceId> initial;  // by chunk: where it resides when the loop begins
  std::vector<Seconds> worth;    // by chunk: what an iteration gains by where the plan has it
  std::vector<ChunkMove> moves;  // in the plan's order
};

struct ExpandedPlan {
  std::vector<ExpandedObject> objects;  // by running object
  std::vector<ChunkMove> moves;         // of all objects, in the order in which they are submitted
  std::vector<std::string> notes;       // what did not match, one line each
};

// Whether that is an object's name, or a pattern (*, ?, [a-z] as in a shell) that matches it.
bool matches_name(const PlanObject& planned, std::string_view name);

// Which of the plan's objects speaks for a name: the one of that very name, else the first whose name is a pattern
// that matches. Returns the number of objects when none does.
std::size_t find_object(const Plan& plan, std::string_view name);

// One object, as it appears. `notes` gets what did not match.
ExpandedObject expand_object(const Plan& plan, const machine::Machine& machine, const RunningObject& object,
                             std::uint32_t index, std::vector<std::string>& notes);

// All objects at once; also notes the plan's objects that the program does not have.
ExpandedPlan expand_plan(const Plan& plan, const machine::Machine& machine,
                         const std::vector<RunningObject>& objects);

}  // namespace terrace::strategy
