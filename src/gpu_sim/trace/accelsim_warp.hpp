// SPDX-License-Identifier: Apache-2.0
// Converts the instructions of one warp of an Accel-Sim trace into steps, for AccelSimReader.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpu_sim/trace/warp_trace.hpp"

namespace terrace::gpu_sim {

// Splits a line into words.
class TraceWords {
 public:
  TraceWords(std::string_view text, char between) : left_(text), between_(between) {}
  // Returns the next word; empty at the end.
  std::string_view next();
  // Returns the next word as a number (base 16 with or without 0x); empty if it is none, or above `most`.
  std::optional<std::uint64_t> number(int base, std::uint64_t most);
  std::optional<std::int64_t> signed_number();

 private:
  std::string_view left_;
  char between_;
};

// Begin of shared and local memory among generic addresses, from the kernel's header; 0: not given.
struct WindowBases {
  std::uint64_t shared = 0;
  std::uint64_t local = 0;
};
inline constexpr std::uint64_t k_window = std::uint64_t{1} << 24;  // size of each window, in addresses

class AccelSimWarp {
 public:
  // Appends steps and lines to those of `cta`, which is borrowed.
  AccelSimWarp(Cta& cta, const WindowBases& bases) : cta_(cta), bases_(bases) {}
  // Adds the next instruction. Returns what is wrong with it; empty: nothing.
  [[nodiscard]] std::string add(std::string_view line);
  // Returns the number of instructions after the last step.
  [[nodiscard]] std::uint32_t after() const { return before_; }

 private:
  static constexpr std::size_t k_registers = 256;
  struct Registers {
    std::array<std::uint32_t, 8> numbers{};
    std::size_t count = 0;
  };
  static bool read_registers(TraceWords& words, Registers& registers);
  [[nodiscard]] std::string add_access(TraceWords& words, std::string_view opcode, std::uint32_t lanes,
                                       const Registers& targets);
  static bool read_addresses(TraceWords& words, std::uint32_t lanes,
                             std::array<std::uint64_t, k_lanes>& addresses);
  void use(std::uint32_t number);
  Step& step(StepKind kind);

  Cta& cta_;
  WindowBases bases_;
  std::uint32_t before_ = 0;
  std::uint32_t loads_ = 0;
  std::array<std::uint32_t, k_registers> load_of_{};  // load that fills the register; 0: none
};

}  // namespace terrace::gpu_sim
