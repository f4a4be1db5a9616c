// SPDX-License-Identifier: Apache-2.0
// Declares the listener of memory that the program shares with other processes. The interposed mmap(2), shmat(2)
// and shmdt(2) call it after the system call, munmap(2) before it. The placement of MPI's own memory implements it
// (agent/mpi_objects/mpi_object_placer.hpp).
#pragma once

#include <cstddef>

namespace terrace::agent {

// Called on the thread that maps; thread-safe.
class SharedMappingListener {
 public:
  virtual ~SharedMappingListener() = default;
  // A file was mapped with MAP_SHARED, from its beginning.
  virtual void on_mapped(const void* address, std::size_t size, int file) noexcept = 0;
  // A segment of System V shared memory was attached.
  virtual void on_attached(const void* address, int segment) noexcept = 0;
  // A range will be unmapped, shared or not.
  virtual void on_unmapped(const void* address, std::size_t size) noexcept = 0;
  // A segment of System V shared memory was detached.
  virtual void on_detached(const void* address) noexcept = 0;
};

}  // namespace terrace::agent
