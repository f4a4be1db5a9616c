// Terrace's own objects of static storage are not destroyed: what has to be done at the end is done by
// leaving.cpp, and other threads may be inside of Terrace until the process is gone. So their destructors do not
// enter the C library's list, either, which takes memory of the program's heap when it grows and so would shift
// the program's addresses.

extern "C" {

__attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
}
