// SPDX-License-Identifier: Apache-2.0
// Reads kernel traces of Accel-Sim for `terrace lab gpu` (Khairy et al., "Accel-Sim: an extensible simulation
// framework for validated GPU modeling", ISCA 2020), as its NVBit tracer writes and its post-processing groups
// them: a list of commands (`kernelslist.g`: copies to the device, and file names of kernels) and a text file for
// each kernel (`*.traceg`). An instruction has its lanes, registers and opcode; an access also has the addresses,
// as a list, as base and stride, or as base and differences.
//
// Global and local loads, stores and atomics are accesses; an instruction that reads a register which a load fills
// waits for that load. Shared memory, constants and instructions without access count as instructions; other
// accesses, such as of textures, are rejected. Versions 3 to 5 of the tracer's format are supported, without line
// numbers. Lines are printable ASCII.
//
// Local memory is at the address in the kernel's header; the part that the kernel accesses is an allocation. All
// threads have the same addresses there, as the tracer writes them.
//
// A side file gives the allocations: a line `NAME ADDRESS BYTES` for each, the address in hexadecimal digits.
// Without it each copy to the device counts as an allocation.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_sim/trace/accelsim_warp.hpp"
#include "gpu_sim/trace/warp_trace.hpp"

namespace terrace::gpu_sim {

class AccelSimReader final : public TraceSource {
 public:
  // `allocations`: the side file, or empty. Throws Error{corrupt} with file and offset if a file violates the
  // format, here and later; Error{not_found} if a file is missing.
  explicit AccelSimReader(std::filesystem::path list, const std::filesystem::path& allocations = {});

  bool next(TraceEvent& event) override;
  bool next_cta(Cta& cta) override;

 private:
  // A text file, line by line.
  class Lines {
   public:
    void open(const std::filesystem::path& path);
    bool next();  // advances to the next non-empty line
    [[nodiscard]] const std::string& line() const { return line_; }
    [[noreturn]] void fail(const std::string& what) const;

   private:
    std::filesystem::path path_;
    std::ifstream in_;
    std::string line_, buffer_;
    std::uint64_t at_ = 0;    // offset of the line
    std::uint64_t next_ = 0;  // offset of what follows it
  };

  void read_list(bool with_copies);
  void read_allocations(const std::filesystem::path& path);
  void add_allocation(const Lines& lines, Allocation allocation);
  [[nodiscard]] Kernel open_kernel(const std::string& name);
  void allocate_local(const std::filesystem::path& path);
  std::uint64_t read_number(std::string_view after, std::uint64_t most);

  std::filesystem::path list_;
  Lines lines_;  // of the list, then of the current kernel
  std::deque<Allocation> allocations_;
  std::uint64_t allocated_ = 0;      // bytes
  std::deque<std::string> kernels_;  // files not yet opened
  std::optional<Kernel> opened_;     // and not yet returned by next()
  WindowBases bases_;
  std::uint64_t local_begin_ = 0, local_end_ = 0;  // allocated part of local memory
  std::uint32_t warps_ = 0;                        // per CTA
  std::uint32_t ctas_left_ = 0;
};

}  // namespace terrace::gpu_sim
