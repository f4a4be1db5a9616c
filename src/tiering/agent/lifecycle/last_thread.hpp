// SPDX-License-Identifier: Apache-2.0
// Ends the process when the program's last thread ends after its main thread (pthread_exit(3)). The C library
// calls exit(0) then, but Terrace's own threads keep its count of threads above zero. A watch thread does it
// instead. Started by the interposed pthread_create(3) with Terrace's first thread.
#pragma once

namespace terrace::agent {

// Registers the calling thread as the main thread.
void note_main_thread() noexcept;
// Starts the watch thread, if it does not run. Called before each creation of one of Terrace's own threads.
void note_own_thread() noexcept;

// Ends the watch thread unless the main thread has ended.
void end_own_thread_watch() noexcept;

}  // namespace terrace::agent
