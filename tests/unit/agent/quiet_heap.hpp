// Parameters of an OrderedHeap for tests, on a machine that has this node as three places.
#pragma once

#include "agent/heap/ordered_heap.hpp"

namespace terrace::agent {

// Returns parameters for a heap that fills places without a free watermark, counts into `counts`, and prints
// nothing.
inline OrderedHeap::Parts quiet_parts(const machine::Machine& machine, memory::Ledger& ledger,
                                      memory::OrderedCounts& counts) {
  OrderedHeap::Parts parts;
  parts.machine = &machine;
  parts.ledger = &ledger;
  parts.mark = 0;
  parts.counts = [&counts] { return &counts; };
  parts.enter = [] {};
  parts.say = [](const char*) {};
  return parts;
}

}  // namespace terrace::agent
