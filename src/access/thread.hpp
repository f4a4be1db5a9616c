// What every thread has: whether it is inside Terrace now (then nothing it does is the program's), its pipeline, its
// shadow stack of calls. In initial-exec thread-local storage: one load away from every hook.
#pragma once

#include <cstdint>

namespace terrace::access {

class Pipeline;

inline constexpr std::uint32_t k_shadow_stack_depth = 4096;

struct Thread {
  std::uint32_t inside = 0;         // > 0: hooks and interposers pass through
  Pipeline* pipeline = nullptr;     // null: accesses are not followed (hooks off)
  std::uint32_t depth = 0;          // of the shadow stack; may exceed what is kept
  std::uint32_t number = 0;         // in the order of creation
  bool watching = false;            // function entries are reported to the runtime
  struct Call { std::uint64_t function; std::uint64_t call_site; std::uint64_t stack_pointer; };
  Call* calls = nullptr;            // k_shadow_stack_depth of them, innermost last; allocated at the first entry
};

// This thread's; constant-initialised, so that it can be used before constructors run and in signal handlers.
extern thread_local Thread t_thread __attribute__((tls_model("initial-exec")));

// For the duration of a scope what this thread does is Terrace's own doing.
class Inside {
 public:
  Inside() { ++t_thread.inside; }
  ~Inside() { --t_thread.inside; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

}  // namespace terrace::access
