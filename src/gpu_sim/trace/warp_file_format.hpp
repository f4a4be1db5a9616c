// SPDX-License-Identifier: Apache-2.0
// Defines the constants of the format of warp_file.hpp, for its writer and reader.
#pragma once

#include <cstdint>
#include <string_view>

namespace terrace::gpu_sim {

inline constexpr std::string_view k_warps_magic = "TERWARPS";
inline constexpr std::uint32_t k_warps_version = 1;
inline constexpr std::uint32_t k_allocation_block = 1;
inline constexpr std::uint32_t k_kernel_block = 2;
inline constexpr std::uint32_t k_ctas_block = 3;
inline constexpr std::uint32_t k_end_block = 4;
inline constexpr std::uint32_t k_max_block_bytes = 64U << 20;  // larger ones are rejected

}  // namespace terrace::gpu_sim
