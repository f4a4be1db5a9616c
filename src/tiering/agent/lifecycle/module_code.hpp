// What a loaded file's own tables and code say about its hooks. For use inside dl_iterate_phdr, which keeps the
// file loaded.
#pragma once

#include <link.h>

#include <cstdint>
#include <vector>

#include "agent/heap/static_data.hpp"

namespace terrace::agent {

struct HookedCode {
  bool hooks = false;  // some of the file's code calls the hooks: one of its relocations asks for one
  // Of such a file, stretches of code that were built without: objects that somebody else compiled, or that were
  // there before the compiler was changed.
  //
  // Compilers put a hook into each function that calls another, and into each that accesses memory which others
  // can see. So functions that make calls, and none to a hook, were built without hooks, and so were those between
  // two such that call nothing at all. Ascending; x86-64 only, empty elsewhere.
  std::vector<AddressRange> uninstrumented;
};

// Whether any file that is loaded now calls the hooks.
bool has_hooked_code() noexcept;
// Allocates. Where the file has no table of its functions (.eh_frame_hdr), all of it counts as having hooks.
HookedCode find_hooks(const dl_phdr_info& info);

// Whether the file was made for Terrace: it calls hooks, or functions of terrace.h. Allocates nothing.
bool uses_terrace(const dl_phdr_info& info) noexcept;

}  // namespace terrace::agent
