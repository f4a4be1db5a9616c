// Finds terrace.h's phase markers in the process, if Terrace is there. All workloads link it; see markers.hpp.
#include "common/markers.hpp"

#include <dlfcn.h>
#include <terrace/terrace.h>

// Weak: left undefined they are null instead of an error of the linker.
#pragma weak terrace_loop_begin
#pragma weak terrace_loop_end
#pragma weak terrace_phase

#ifndef WORKLOADS_WITHOUT_MARKERS
namespace workloads {
namespace {

// A weak reference in a position-independent executable is settled when it is linked, so it sees a libterrace
// that was linked but not one that is preloaded; the dynamic linker knows both.
template <typename Function>
Function* find(Function* linked, const char* name) {
  return linked != nullptr ? linked : reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// Keeps the call before it from becoming a tail call: the function that marks a phase ends within that phase, so
// the little that it does there belongs to the same phase with every compiler and every version of its hooks.
inline void keep_frame() { asm volatile("# keeps the frame"); }

}  // namespace

void loop_begin(const char* name) {
  static const auto call = find(terrace_loop_begin, "terrace_loop_begin");
  if (call != nullptr) call(name);
  keep_frame();
}

void loop_end() {
  static const auto call = find(terrace_loop_end, "terrace_loop_end");
  if (call != nullptr) call();
  keep_frame();
}

void phase(const char* name) {
  static const auto call = find(terrace_phase, "terrace_phase");
  if (call != nullptr) call(name);
  keep_frame();
}

}  // namespace workloads
#endif
