// Functions that this library stands in for although no loaded file defines them: OpenMP's, Caliper's, libm's. A
// file that refers to one weakly, and looks whether it is there (`if (omp_set_lock)`), shall find it absent, as
// without Terrace.
#pragma once

namespace terrace::agent {

// Clears such references in all files that are loaded. Called once, when the program begins: the dynamic linker
// has bound them, and no code of the program has run. Files that are loaded later keep theirs. Allocates nothing
// but what the dynamic linker allocates for a failed search.
void clear_absent_functions() noexcept;

}  // namespace terrace::agent
