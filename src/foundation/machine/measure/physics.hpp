// Laws that measured figures of a machine obey whatever the machine is. A disturbed measurement breaks them.
#pragma once

#include <string>
#include <vector>

#include "machine/file/machine_file.hpp"

namespace terrace::machine {

// Returns one sentence for each law that the figures of the machine break, empty where all hold:
//   - a hit is slower the farther out the cache is, and memory is slower than any cache, alone and side by side;
//   - memory is written at most twice as fast as it is read, and STREAM's kernels agree with both;
//   - all cores together read no slower than one of them;
//   - a cycle, as "cycle" in `measured.times` has it, takes 0.1 to 2 ns and agrees with the stated frequency
//   within
//     a factor of 2; an instruction takes 0.1 to 2 of them.
// A tolerance of 5 % is left for what two measurements of one thing differ by.
std::vector<std::string> broken_laws(const MachineParts& parts, const Measurement& measured);

}  // namespace terrace::machine
