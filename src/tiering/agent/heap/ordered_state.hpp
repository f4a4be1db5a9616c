// SPDX-License-Identifier: Apache-2.0
// Defines the state of an OrderedHeap that is made at the first placement, so that processes without a placement
// pay nothing. Used by the heap's own files.
#pragma once

#include <atomic>

#include "agent/heap/ordered_heap.hpp"
#include "transfer/ordered/touch_traps.hpp"

namespace terrace::agent {

struct OrderedHeap::State {
  State(OrderedHeap& heap, memory::OrderedCounts* shared)
      : system(*heap.parts_.machine),
        fill(*heap.parts_.ledger, system, heap.parts_.machine->places().size(), {.watermark = heap.parts_.mark}),
        counts(shared) {}
  memory::RegionSpace space;
  memory::NumaPlaces system;
  memory::OrderedFill fill;
  memory::OrderedCounts* counts;  // null: not counted
  // Made with the first FillMode::on_touch block. Null if the system lacks userfaultfd, and in a child of fork(2).
  std::atomic<transfer::TouchTraps*> traps{nullptr};
  bool has_traps = false;  // creation was attempted
};

}  // namespace terrace::agent
