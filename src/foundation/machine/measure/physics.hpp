// SPDX-License-Identifier: Apache-2.0
// Checks laws that the measured figures of any machine obey, for `terrace machine measure`. A disturbed
// measurement violates them.
#pragma once

#include <string>
#include <vector>

#include "machine/file/machine_file.hpp"

namespace terrace::machine {

// Returns one sentence for each violated law, empty if all hold:
//   - A hit takes longer the farther out the cache is, and memory takes longer than any cache. This holds for
//     dependent and for independent accesses.
//   - Memory is written at most twice as fast as it is read, and STREAM's kernels agree with both.
//   - All cores together read no slower than one of them.
//   - A cycle, "cycle" in `measured.times`, takes 0.1 to 2 ns and agrees with the stated frequency within a factor
//     of 2; an instruction takes 0.1 to 2 cycles.
// The tolerance is 5 %, by which two measurements of the same quantity may differ.
std::vector<std::string> broken_laws(const MachineParts& parts, const Measurement& measured);

}  // namespace terrace::machine
