// SPDX-License-Identifier: Apache-2.0
// Defines the hooks that gcc and clang call before every load and store of code compiled with -fsanitize=thread,
// at every function's entry and exit, and at basic blocks (-fsanitize-coverage=trace-pc). Names and parameters are
// the compilers' (gcc's sanitizer.def, clang's ThreadSanitizer pass).
#include "observe/pipeline/shadow_stack.hpp"
#include "observe/pipeline/trace.hpp"

using terrace::observe::trace_access;
using terrace::observe::trace_range;

// Defines a hook whose name consists of a kind and a size, in both forms.
#define HOOK_ACCESS(name, size, store)                                                                       \
  TERRACE_HOOK void __tsan_##name##size(void* address) { trace_access(address, size, store, TERRACE_SITE); } \
  TERRACE_HOOK void __tsan_##name##size##_pc(void* address, void* site) {                                    \
    trace_access(address, size, store, reinterpret_cast<std::uint64_t>(site));                               \
  }
#define HOOK_SIZES(name, store) \
  HOOK_ACCESS(name, 1, store)   \
  HOOK_ACCESS(name, 2, store)   \
  HOOK_ACCESS(name, 4, store)   \
  HOOK_ACCESS(name, 8, store)   \
  HOOK_ACCESS(name, 16, store)

// A compound assignment that clang reports as one: a load, then a store.
#define HOOK_BOTH(name, size)                            \
  TERRACE_HOOK void __tsan_##name##size(void* address) { \
    trace_access(address, size, false, TERRACE_SITE);    \
    trace_access(address, size, true, TERRACE_SITE);     \
  }
#define HOOK_BOTH_SIZES(name) \
  HOOK_BOTH(name, 1)          \
  HOOK_BOTH(name, 2)          \
  HOOK_BOTH(name, 4)          \
  HOOK_BOTH(name, 8)          \
  HOOK_BOTH(name, 16)

extern "C" {

HOOK_SIZES(read, false)
HOOK_SIZES(write, true)
HOOK_SIZES(unaligned_read, false)
HOOK_SIZES(unaligned_write, true)
HOOK_SIZES(volatile_read, false)
HOOK_SIZES(volatile_write, true)
HOOK_SIZES(unaligned_volatile_read, false)
HOOK_SIZES(unaligned_volatile_write, true)
HOOK_BOTH_SIZES(read_write)
HOOK_BOTH_SIZES(unaligned_read_write)

TERRACE_HOOK void __tsan_read_range(void* address, std::size_t size) {
  trace_range(address, size, false, TERRACE_SITE);
}
TERRACE_HOOK void __tsan_write_range(void* address, std::size_t size) {
  trace_range(address, size, true, TERRACE_SITE);
}
TERRACE_HOOK void __tsan_read_range_pc(void* address, std::size_t size, void* site) {
  trace_range(address, size, false, reinterpret_cast<std::uint64_t>(site));
}
TERRACE_HOOK void __tsan_write_range_pc(void* address, std::size_t size, void* site) {
  trace_range(address, size, true, reinterpret_cast<std::uint64_t>(site));
}

TERRACE_HOOK void __tsan_vptr_read(void** vptr) { trace_access(vptr, sizeof *vptr, false, TERRACE_SITE); }
TERRACE_HOOK void __tsan_vptr_update(void** vptr, void*) { trace_access(vptr, sizeof *vptr, true, TERRACE_SITE); }

// Called at every basic block without accesses; by other compilers than gcc, at every basic block.
TERRACE_HOOK void __sanitizer_cov_trace_pc() {
  const auto& thread = terrace::observe::t_thread;
  if (auto* const pipeline = thread.active_pipeline) {
    if (!pipeline->block(TERRACE_SITE)) return;
  } else if (thread.inside != 0) {
    return;
  }
  terrace::observe::trace_block(TERRACE_SITE);  // loops are followed also while accesses are not traced
}

TERRACE_HOOK void __tsan_func_entry(void* call_site) {
  terrace::observe::enter_function(TERRACE_SITE, reinterpret_cast<std::uint64_t>(call_site),
                                   reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa()));
}
TERRACE_HOOK void __tsan_func_exit() {
  terrace::observe::leave_function(reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa()), TERRACE_SITE);
}

}  // extern "C"
