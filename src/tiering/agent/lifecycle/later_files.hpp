// SPDX-License-Identifier: Apache-2.0
// Repairs references of files that the program loads with dlopen(3). They are bound, and constructors have
// run, before Terrace can see the file. Terrace repairs them at the program's next dlsym(3), which is how
// plug-ins are called:
//
// - Weak references to functions that only Terrace's stand-ins define become null, as in files loaded at
//   start (absent_functions.hpp).
// - A file opened with RTLD_DEEPBIND is searched before the global scope, so that its references bypass
//   Terrace, and free(3) of a Terrace block would end the program. Such a reference is bound to Terrace's
//   function if it is bound to the definition that Terrace itself forwards to. References to the file's own
//   definitions (a bundled allocator) stay. The flag is kept: without it, names in host and plug-in would
//   be bound to the host's.
#pragma once

namespace terrace::agent {

// Records the files that are loaded at start. Called once, before the program's first instruction.
void begin_later_files() noexcept;

// Repairs the files that were loaded since the last call. Cheap if there are none.
void note_later_files() noexcept;

}  // namespace terrace::agent
