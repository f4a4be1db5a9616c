// SPDX-License-Identifier: Apache-2.0
// Implements terrace.h and unimem.h, the functions that a program calls to name, place and mark its data, on the
// object registry, the heaps and the runtime.
#include <stdlib.h>
#include <terrace/unimem.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>

#include "agent/adapters/regions.hpp"
#include "agent/heap/object_registry.hpp"
#include "agent/heap/ordered_heap.hpp"
#include "agent/heap/spilled_heap.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "core/rounding.hpp"
#include "core/system_time.hpp"
#include "memory/region_space.hpp"
#include "observe/program_events.hpp"
#include "observe/threads/thread.hpp"
#include "runtime/runtime.hpp"

namespace terrace::agent {

namespace {

thread_local char t_error[256] __attribute__((tls_model("initial-exec")));

terrace_status refuse(terrace_status status, const char* what) {
  std::snprintf(t_error, sizeof t_error, "%s", what);
  return status;
}

double monotonic() { return to_seconds(read_kernel_clock(CLOCK_MONOTONIC)); }

double g_began = 0;
__attribute__((constructor)) void note_beginning() { g_began = monotonic(); }

// Implements terrace_malloc(): allocates an object of this name, or spilled memory. Returns null without capacity.
void* allocate_named(Process& here, const char* name, std::size_t size) {
  const observe::RuntimeScope inside;
  auto* const spilled = size >= SpilledHeap::k_min ? start_spilled_heap(here) : nullptr;
  if (spilled)
    if (void* const block = spilled->allocate(size, k_page, false)) return block;
  void* const block = here.regions->allocate(size);
  if (!block) return nullptr;
  const auto low = reinterpret_cast<std::uint64_t>(block);
  here.objects->add_whole(name, observe::ObjectKind::named, low, size);
  return block;
}

// Returns the heap for memory by intent, after a deferred start.
OrderedHeap* start_ordered_heap() {
  ensure_started();
  return ordered_heap();
}

// Passes a hint of the program about an object's use to the runtime. `call`: the API function, for messages.
terrace_status hint(const char* call, const observe::ProgramHint& what) {
  auto* const here = ensure_started();
  if (!here) {
    std::snprintf(t_error, sizeof t_error, "%s: the program was not started by terrace", call);
    return TERRACE_NOT_ACTIVE;
  }
  const observe::RuntimeScope inside;
  const auto complaint = here->runtime->on_hint(what);
  if (complaint.empty()) return TERRACE_OK;
  std::snprintf(t_error, sizeof t_error, "%s: %s", call, complaint.c_str());
  return TERRACE_INVALID;
}

// Sets the error text for a process without memory by intent, and returns the status.
terrace_status report_no_orderings(const char* call) {
  const bool active = ensure_started() != nullptr;
  std::snprintf(t_error, sizeof t_error, "%s: %s", call,
                active ? "data are placed by intent on real memory, under `terrace run` without --memory"
                       : "the program was not started by terrace");
  return active ? TERRACE_UNSUPPORTED : TERRACE_NOT_ACTIVE;
}

// Allocates page-aligned zeroed memory. Returns null without memory. Terrace's blocks are page-aligned and zeroed
// without writing; others may contain old data and are cleared.
void* allocate_zeros(std::size_t size) {
  void* block = ensure_started() && size >= k_page ? calloc(1, size) : nullptr;
  if (block && reinterpret_cast<std::uint64_t>(block) % k_page == 0) return block;
  free(block);
  if (posix_memalign(&block, k_page, size) != 0) return nullptr;
  const observe::RuntimeScope inside;
  std::memset(block, 0, size);
  return block;
}

// Returns the number of the intent. If the machine has none of this name, sets the error text and returns -1.
int intent_named(const char* call, const char* name) {
  try {
    return start_ordered_heap()->find_intent(name);
  } catch (const std::exception& error) {
    std::snprintf(t_error, sizeof t_error, "%s: %s", call, error.what());
    return -1;
  }
}

// Sets the error text for an errno value of the ordered heap, and returns the status.
terrace_status status_of(const char* call, int error) {
  switch (error) {
    case 0:
      return TERRACE_OK;
    case ENOMEM:
      std::snprintf(t_error, sizeof t_error,
                    "%s: no place has room for all of it within the budget; the rest is left to the kernel", call);
      return TERRACE_NO_MEMORY;
    case EFAULT:
      std::snprintf(t_error, sizeof t_error, "%s: a part of the range is not mapped, or may not be written", call);
      return TERRACE_INVALID;
    default:
      std::snprintf(t_error, sizeof t_error, "%s: the system does not let all of it be placed: %s", call,
                    std::strerror(error));
      return TERRACE_UNSUPPORTED;
  }
}

// Allocates for the functions that take an intent. `call`: the function's name, for terrace_last_error().
void* allocate_by_intent(const char* call, std::size_t size, std::size_t alignment, const char* intent,
                         bool zeros) {
  if (!intent || size == 0) {
    std::snprintf(t_error, sizeof t_error, "%s: the %s", call, intent ? "size is 0" : "intent is null");
    return nullptr;
  }
  t_error[0] = '\0';  // an empty text means that the placement succeeded
  void* block = nullptr;
  if (auto* const heap = start_ordered_heap()) {
    const observe::RuntimeScope inside;
    const int number = intent_named(call, intent);
    if (number < 0) return nullptr;
    if (SmallBlocks::fits(size, alignment)) block = heap->small().allocate(size, alignment, number, zeros);
    if (!block) {
      int error = 0;
      block = heap->allocate(size, alignment, number, OrderedHeap::FillMode::eager, zeros, &error);
      if (block) status_of(call, error);
    }
  }
  if (!block && zeros) block = allocate_zeros(size);
  if (!block && !zeros && posix_memalign(&block, alignment, size) != 0) block = nullptr;
  if (!block) std::snprintf(t_error, sizeof t_error, "%s: no memory for %zu bytes", call, size);
  return block;
}

}  // namespace

}  // namespace terrace::agent

namespace agent = terrace::agent;
using What = terrace::observe::ProgramHint::What;

extern "C" {

const char* terrace_last_error(void) { return agent::t_error; }

int terrace_active(void) { return agent::ensure_started() != nullptr; }

void terrace_loop_begin(const char* name) {
  auto* const here = agent::ensure_started();
  if (!here) return;
  agent::disable_implicit_regions();
  here->runtime->loop_begin(name ? name : "");
}

void terrace_loop_end(void) {
  if (auto* const here = agent::ensure_started()) here->runtime->loop_end();
}

void terrace_phase(const char* name) {
  auto* const here = agent::ensure_started();
  if (!here || !name) return;
  agent::disable_implicit_regions();
  here->runtime->phase(name);
}

void* terrace_malloc(const char* name, size_t size) {
  if (!name || size == 0) {
    agent::refuse(TERRACE_INVALID, name ? "terrace_malloc: the size is 0" : "terrace_malloc: the name is null");
    return nullptr;
  }
  void* block = nullptr;
  if (auto* const here = agent::ensure_started()) block = agent::allocate_named(*here, name, size);
  if (!block && posix_memalign(&block, terrace::k_page, size) != 0) {
    std::snprintf(agent::t_error, sizeof agent::t_error, "terrace_malloc: no memory for %zu bytes (%.100s)", size,
                  name);
    return nullptr;
  }
  return block;
}

void terrace_free(void* address) { free(address); }

void* terrace_alloc(size_t size, const char* intent) {
  return agent::allocate_by_intent("terrace_alloc", size, terrace::k_page, intent, true);
}

void* terrace_aligned_alloc(size_t size, size_t alignment, const char* intent) {
  constexpr const char* k_call = "terrace_aligned_alloc";
  if (!std::has_single_bit(alignment)) {
    agent::refuse(TERRACE_INVALID, "terrace_aligned_alloc: the alignment is not a power of two");
    return nullptr;
  }
  return agent::allocate_by_intent(k_call, size, std::max(alignment, alignof(std::max_align_t)), intent, false);
}

terrace_status terrace_apply(void* address, size_t length, const char* intent) {
  constexpr const char* k_call = "terrace_apply";
  if (!address || !intent || length == 0)
    return agent::refuse(TERRACE_INVALID, "terrace_apply: the address or the intent is null, or the length is 0");
  const auto begin = reinterpret_cast<std::uint64_t>(address);
  if (begin + length < begin) return agent::refuse(TERRACE_INVALID, "terrace_apply: the range wraps around");
  auto* const heap = agent::start_ordered_heap();
  if (!heap) return agent::report_no_orderings(k_call);
  const terrace::observe::RuntimeScope inside;
  const int number = agent::intent_named(k_call, intent);
  if (number < 0) return TERRACE_INVALID;
  const auto low = terrace::page_up(begin);
  const auto high = terrace::page_down(begin + length);
  if (low >= high) return agent::refuse(TERRACE_INVALID, "terrace_apply: there is no whole page in the range");
  // Unregister objects there, so that no strategy moves the range.
  if (auto* const here = agent::ensure_started()) here->objects->remove(low, high);
  return agent::status_of(k_call, heap->apply(low, high - low, number));
}

terrace_status terrace_intent(const char* intent) {
  constexpr const char* k_call = "terrace_intent";
  if (!agent::start_ordered_heap()) return agent::report_no_orderings(k_call);
  const terrace::observe::RuntimeScope inside;
  const int number = intent ? agent::intent_named(k_call, intent) : -1;
  if (intent && number < 0) return TERRACE_INVALID;
  agent::thread_intent() = number;
  return TERRACE_OK;
}

const char* terrace_current_intent(void) {
  const auto* const heap = agent::ordered_heap();
  const int intent = agent::thread_intent();
  return heap && intent >= 0 ? heap->name_of(intent) : nullptr;
}

terrace_status terrace_object(const char* name, void* address, size_t size) {
  if (!name || !address || size == 0)
    return agent::refuse(TERRACE_INVALID, "terrace_object: the name or the address is null, or the size is 0");
  const auto low = reinterpret_cast<std::uint64_t>(address);
  if (low + size < low) return agent::refuse(TERRACE_INVALID, "terrace_object: the range wraps around");
  auto* const here = agent::ensure_started();
  if (!here) return agent::refuse(TERRACE_NOT_ACTIVE, "terrace_object: the program was not started by terrace");
  if (!here->objects->add(name, terrace::observe::ObjectKind::named, low, low + size))
    return agent::refuse(TERRACE_UNSUPPORTED,
                         "terrace_object: no page is left for the range: other objects cover more of its pages");
  return TERRACE_OK;
}

terrace_status terrace_forget(void* address) {
  auto* const here = agent::ensure_started();
  if (!here) return agent::refuse(TERRACE_NOT_ACTIVE, "terrace_forget: the program was not started by terrace");
  if (!here->objects->forget(reinterpret_cast<std::uint64_t>(address)))
    return agent::refuse(TERRACE_INVALID, "terrace_forget: no object begins at this address");
  return TERRACE_OK;
}

const char* terrace_where(const void* address) {
  if (const auto* const heap = agent::start_ordered_heap()) {
    const terrace::observe::RuntimeScope inside;
    if (const char* const place = heap->where(address)) return place;
  }
  auto* const here = agent::ensure_started();
  return here ? here->runtime->where(address) : nullptr;
}

terrace_status terrace_value(const char* name, double value) {
  if (!name) return agent::refuse(TERRACE_INVALID, "terrace_value: the name is null");
  return agent::hint("terrace_value", {What::value, name, {}, value});
}

terrace_status terrace_refs(const char* object, const char* expression) {
  if (!object || !expression)
    return agent::refuse(TERRACE_INVALID, "terrace_refs: the object or the expression is null");
  return agent::hint("terrace_refs", {What::references, object, expression, 0});
}

terrace_status terrace_depends(const char* phase, const char* object, int used) {
  if (!phase || !object) return agent::refuse(TERRACE_INVALID, "terrace_depends: the phase or the object is null");
  return agent::hint("terrace_depends", {used != 0 ? What::uses : What::spares, phase, object, 0});
}

double terrace_seconds(void) {
  if (auto* const here = agent::ensure_started()) return here->runtime->now().value;
  return agent::monotonic() - agent::g_began;
}

int unimem_init(void) { return terrace_active() ? 0 : -1; }
void unimem_start(void) { terrace_loop_begin("unimem"); }
void unimem_end(void) { terrace_loop_end(); }
void* unimem_malloc(size_t size, const char* name) { return terrace_malloc(name, size); }
void unimem_free(void* address) { terrace_free(address); }

}  // extern "C"
