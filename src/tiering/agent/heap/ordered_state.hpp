// What an ordered heap has once there is something to place. See ordered_heap.hpp.
#pragma once

#include <atomic>

#include "agent/heap/ordered_heap.hpp"

namespace terrace::agent {

struct OrderedHeap::State {
  State(OrderedHeap& heap, memory::OrderedCounts* shared)
      : system(*heap.parts_.machine),
        fill(*heap.parts_.ledger, system, heap.parts_.machine->places().size(), {.watermark = heap.parts_.mark}),
        counts(shared) {}
  memory::RegionSpace space;
  memory::NumaPlaces system;
  memory::OrderedFill fill;
  memory::OrderedCounts* counts;  // null: nobody wants to know
  // Made with the first block that is filled lazily; null where the system has none, and in a child of fork(2).
  std::atomic<transfer::TouchTraps*> traps{nullptr};
  bool has_traps = false;  // they were looked for
};

}  // namespace terrace::agent
