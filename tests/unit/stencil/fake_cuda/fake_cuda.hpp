// Fake of the CUDA driver for tests: a libcuda.so.1 with the functions that Terrace uses. Device memory is
// pages of this process, mapped at the requested addresses. Enqueued work runs as late as possible, when it is
// waited for, and in a random order among streams. The fake checks the rules of use and lists violations:
// - memory is mapped at most once, where nothing is mapped, and accessed only where it is mapped with access
//   rights;
// - nothing is unmapped or freed that an unfinished operation may use: one that was not waited for;
// - of two unordered operations in different streams, none writes what the other uses; but a kernel may write
//   what is being copied to the host (such a copy is repeated);
// - each thread sets a context before other calls;
// - everything is released at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace terrace::stencil::test::fake_cuda {

struct Used {
  const void* first = nullptr;
  std::size_t size = 0;
  bool is_written = false;
};

// Resets: random seed, size of the device memory, and allocation granularity.
void reset(std::uint64_t seed, std::size_t memory, std::size_t granularity);
// Simulates a machine with the driver but without a device.
void remove_devices();
// Makes the function of this name fail after `count` calls.
void fail(const std::string& function, int after, int error);
// Enqueues a kernel that uses these bytes of device memory.
void launch(void* stream, std::vector<Used> used, std::function<void()> kernel);
// Returns the violations so far, and what is not released.
std::vector<std::string> violations();
std::vector<std::string> left();
// Returns the number of calls of a function.
int calls(const std::string& function);

}  // namespace terrace::stencil::test::fake_cuda
