// What jemalloc wanted to be called around fork(2).
#pragma once

namespace terrace::memory {

struct ForkHandlers {
  void (*before)() = nullptr;  // null before the first arena is made
  void (*in_parent)() = nullptr;
  void (*in_child)() = nullptr;
};
extern ForkHandlers g_arena_fork;

}  // namespace terrace::memory
