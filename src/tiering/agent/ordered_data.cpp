// SPDX-License-Identifier: Apache-2.0
// Reads the session's intent settings. See ordered_data.hpp.
#include "agent/ordered_data.hpp"

#include <cstdio>
#include <exception>
#include <new>

#include "agent/heap/ordered_heap.hpp"
#include "agent/shared_counts.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

void (*g_print_ordered)(const char*) = nullptr;

void report_ordered(const char* sentence) {
  char text[640];
  std::snprintf(text, sizeof text, "terrace: %s\n", sentence);
  g_print_ordered(text);
}

}  // namespace

OrderedHeap* make_ordered(const runtime::Session& session, memory::Ledger& ledger,
                          void (*say)(const char* line)) noexcept {
  // With spilled memory one limit applies to all data, and nothing is placed by intent.
  if (session.backend != runtime::Backend::real || session.spill.is_wanted()) return nullptr;
  g_print_ordered = say;
  try {
    const auto& configuration = session.configurations.front();
    OrderedHeap::Parts parts;
    parts.machine = &configuration.machine;
    parts.initiator = configuration.machine.domains()[configuration.domain].initiator;
    parts.ledger = &ledger;
    parts.mark = session.intent.mark;
    parts.default_fill = session.intent.eager ? OrderedHeap::FillMode::eager : OrderedHeap::FillMode::on_touch;
    parts.counts = [&session] {
      return make_counts<memory::OrderedCounts>(session.directory, runtime::k_ordered_counts);
    };
    parts.enter = [] { observe::t_thread.enter_runtime(); };
    parts.say = report_ordered;
    auto* const heap = new OrderedHeap(parts);
    if (session.intent.is_wanted()) heap->set_default_intent(heap->find_intent(session.intent.name));
    return heap;
  } catch (const std::exception& error) {
    char text[512];
    std::snprintf(text, sizeof text, "%s; the kernel places the program's data", error.what());
    report_ordered(text);
    return nullptr;
  }
}

}  // namespace terrace::agent
