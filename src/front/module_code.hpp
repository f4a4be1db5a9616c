// What a loaded file's own tables say about its code.
#pragma once

#include <link.h>

namespace terrace::front {

// Whether the file's code calls the hooks: whether one of its relocations asks for one. For use inside
// dl_iterate_phdr, which keeps the file loaded.
bool calls_hooks(const dl_phdr_info& info) noexcept;

}  // namespace terrace::front
