// Declares the phase markers with which all workloads annotate their main loops.
//
// They call terrace.h's markers when Terrace is in the process, whether it was linked (by the compiler
// wrappers) or preloaded, and do nothing when it is not. One source and one binary so serve every way of
// running. Programs that always link libterrace call terrace_phase() and its sisters directly.
//
// With WORKLOADS_WITHOUT_MARKERS they are compiled out: programs without annotations, as users have them.
#pragma once

namespace workloads {

#ifdef WORKLOADS_WITHOUT_MARKERS
inline void loop_begin(const char*) {}
inline void loop_end() {}
inline void phase(const char*) {}
#else

/// The main loop begins; phases named before it or after its end do not count.
void loop_begin(const char* name);
void loop_end();

/// The phase `name` begins. An iteration begins where the loop's first phase comes round again.
void phase(const char* name);

#endif

}  // namespace workloads
