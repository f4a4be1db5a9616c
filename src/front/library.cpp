// Calls of libm: each costs the calling thread core time, by function, and goes on to the next definition.
//
// The thread is charged before the call, so that errno and the floating-point flags are what the function leaves.
// Calls from the program's other libraries are the program's, too. libm is not ours to bring along: most programs
// have no use for it.
#include "machine/library.hpp"

#include <dlfcn.h>

#include <cerrno>

#include "access/pipeline.hpp"
#include "access/thread.hpp"
#include "front/guest.hpp"
#include "front/next.hpp"

namespace terrace::front {

namespace {

using machine::LibraryFunction;

[[gnu::always_inline]] inline void charge(LibraryFunction function) {
  const auto& thread = access::t_thread;
  if (thread.pipeline && thread.inside == 0) thread.pipeline->call(function);
}

// Who calls may have a libm that is not in the program's own list: one loaded with a plug-in, or none at all,
// since a linker that met our definition first may have left it out.
void* find_in_libm(const char* name) noexcept {
  const access::Inside inside;
  if (void* const next = find_next(name)) return next;
  const auto saved = errno;
  void* const libm = dlopen("libm.so.6", RTLD_LAZY | RTLD_LOCAL);
  void* const found = libm ? dlsym(libm, name) : nullptr;
  errno = saved;
  return found;
}

template <class Function>
class NextInLibm {
 public:
  constexpr explicit NextInLibm(const char* name) : name_(name) {}
  Function operator*() noexcept {
    auto function = function_.load(std::memory_order_relaxed);
    if (!function) [[unlikely]] {
      function = reinterpret_cast<Function>(find_in_libm(name_));
      function_.store(function, std::memory_order_relaxed);
    }
    return function;
  }

 private:
  const char* name_;
  std::atomic<Function> function_{nullptr};  // racing threads store the same value
};

}  // namespace

}  // namespace terrace::front

namespace front = terrace::front;

// NOLINTBEGIN(bugprone-macro-parentheses): types and lists of parameters
#define TERRACE_CALL(result, name, parameters, ...)                                \
  TERRACE_EXPORT result name parameters noexcept {                                 \
    static constinit front::NextInLibm<result(*) parameters noexcept> next{#name}; \
    front::charge(front::LibraryFunction::name);                                   \
    return (*next)(__VA_ARGS__);                                                   \
  }
#define TERRACE_CALL_of_one(real, name) TERRACE_CALL(real, name, (real x), x)
#define TERRACE_CALL_of_two(real, name) TERRACE_CALL(real, name, (real x, real y), x, y)
#define TERRACE_CALL_of_sincos(real, name) \
  TERRACE_CALL(void, name, (real x, real * sine, real * cosine), x, sine, cosine)
#define TERRACE_CALLS(name, parameters, ...) \
  TERRACE_CALL_##parameters(double, name) TERRACE_CALL_##parameters(float, name##f)
// NOLINTEND(bugprone-macro-parentheses)

extern "C" {
TERRACE_LIBRARY_FUNCTIONS(TERRACE_CALLS)
}  // extern "C"
