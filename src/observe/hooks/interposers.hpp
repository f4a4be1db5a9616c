// memcpy, memmove, memset and their sisters, interposed: code compiled with -fno-builtin-memcpy and so on calls
// them where the compiler would have copied unseen; libraries that are not instrumented are seen through them too.
#pragma once

namespace terrace::observe {

// Finds the C library's own functions. Until then (other libraries' constructors may copy before ours run) simple
// loops do the work. Run by a constructor; calling it again is harmless.
void access_interposers();

}  // namespace terrace::observe
