// A heap by orderings as the tests have it: on a machine of this node, three times over.
#pragma once

#include "agent/heap/ordered_heap.hpp"

namespace terrace::agent {

// Fills places to the last byte, counts into `counts`, says nothing.
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
