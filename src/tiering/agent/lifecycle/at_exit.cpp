// SPDX-License-Identifier: Apache-2.0
// Suppresses destructors of the library's static objects: finish_process() does all work at the end, and other
// threads may be inside Terrace until the process is gone. Registration would also allocate from the program's
// heap when the C library's list grows, which would shift the program's addresses.

extern "C" {

__attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
}
