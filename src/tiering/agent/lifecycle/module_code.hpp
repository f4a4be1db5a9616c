// SPDX-License-Identifier: Apache-2.0
// Finds out from the dynamic section and the code of a loaded file whether, and where, it calls instrumentation
// hooks. Used by the module registry (modules.cpp) and the decisions at start-up, inside dl_iterate_phdr(3), which
// keeps the file loaded.
#pragma once

#include <link.h>

#include <cstdint>
#include <vector>

#include "agent/heap/static_data.hpp"

namespace terrace::agent {

struct HookedCode {
  bool hooks = false;  // one of the file's relocations refers to a hook
  // Code ranges of such a file that were built without hooks: object files compiled by others, or before
  // instrumentation was enabled. Ascending; x86-64 only, empty elsewhere.
  //
  // Compilers add a hook to each function that calls another one, and to each that accesses shared memory. So a
  // function that makes calls, but none to a hook, was built without hooks. So were functions without calls that
  // lie between two such functions.
  std::vector<AddressRange> uninstrumented;
};

// Returns whether any loaded file calls hooks.
bool has_hooked_code() noexcept;
// Scans the file. Allocates. A file without a table of functions (.eh_frame_hdr) counts as instrumented
// throughout.
HookedCode find_hooks(const dl_phdr_info& info);

// Returns whether the file was built for Terrace: it calls hooks or functions of terrace.h. Does not allocate.
bool uses_terrace(const dl_phdr_info& info) noexcept;

}  // namespace terrace::agent
