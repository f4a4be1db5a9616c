// SPDX-License-Identifier: Apache-2.0
// Clears weak references to functions of MPI that the layer has and the loaded library does not. A program tests
// such a reference to learn whether its library has a function (mpi4py does so for all of MPI 4), and calls it
// unless it is null.
#pragma once

namespace terrace::agent {

// Clears the references of files that were loaded since the last call. Called when the library is loaded, and when
// a function is called for the first time: a file loaded later asks first whether MPI is initialised, or
// initialises it. Thread-safe.
void clear_weak_references() noexcept;

}  // namespace terrace::agent
