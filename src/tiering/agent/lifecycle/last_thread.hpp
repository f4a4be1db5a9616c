// A program whose main thread ends before the others (pthread_exit(3)) goes on until the last of them does; then
// the C library calls exit(0). It would never, as long as threads of Terrace's are among those that it counts.
#pragma once

namespace terrace::agent {

// The calling thread is the main thread.
void note_main_thread() noexcept;
// A thread of ours is about to begin, made by the calling thread.
void note_own_thread() noexcept;

// The threads that look for that end, where the main thread is still there.
void end_own_thread_watch() noexcept;

}  // namespace terrace::agent
