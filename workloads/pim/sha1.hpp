// Computes SHA-1 (FIPS 180-4, section 6.1) of many messages at once on a PIM device, one in each column.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "workloads/pim/program.hpp"

namespace terrace::pim {

using Sha1Digest = std::array<std::uint8_t, 20>;

// Rows per subarray: a ring of 16 words of the schedule, five of the hash, five working variables, two spare, a
// mask and scratch.
inline constexpr std::uint32_t k_sha1_rows = (16 + 5 + 5 + 2) * 32 + 1 + scratch_rows(Dim::vertical);

struct Sha1Batch {
  std::vector<Sha1Digest> digests;
  Report report;
};

// Allocates k_sha1_rows rows once, in as many subarrays as have a column for each message. Messages may differ
// in length; all take as long as the longest. Throws Error{invalid} for none.
Sha1Batch sha1(Array& array, std::span<const std::string_view> messages, const Blocks& blocks);

}  // namespace terrace::pim
