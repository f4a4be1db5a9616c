// A stand-in for CUDA's driver, for tests: libcuda.so.1 with the functions that Terrace uses. Device memory is
// pages of this process, mapped where the caller asks. What is put into streams is done late, as late as somebody
// waits for it, and in a random order among streams. Held are the rules of use, whose breaches it lists:
//
// - memory is mapped at most once, where nothing is mapped, and used only where it is mapped and may be accessed;
// - nothing is unmapped or freed that an operation may still use: one that nobody has waited for;
// - of two operations in different streams that nobody has waited for, none writes what the other uses, but that a
//   kernel may write what is being copied to the host (such a copy is made again);
// - each thread sets a context before it calls;
// - all is given back in the end.
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

// Begins anew: random numbers, so much device memory, in pieces of so many bytes.
void reset(std::uint64_t seed, std::size_t memory, std::size_t granularity);
// No device, as on a machine that has the driver alone.
void remove_devices();
// After so many calls of a function, by its name, one gives an error.
void fail(const std::string& function, int after, int error);
// Puts a kernel that uses these bytes of the device's memory into a stream.
void launch(void* stream, std::vector<Used> used, std::function<void()> kernel);
// What was done against the rules so far, and what has not been given back.
std::vector<std::string> violations();
std::vector<std::string> left();
// Calls of a function so far, by its name.
int calls(const std::string& function);

}  // namespace terrace::stencil::test::fake_cuda
