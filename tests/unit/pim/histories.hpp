// Checks random histories of an allocator against brute force. Functions return the first error in one line, or
// nothing.
#pragma once

#include <cstdint>
#include <string>

namespace terrace::pim {

// Runs one thread on a small device with all kinds of requests: an allocation succeeds exactly if a free
// rectangle exists, at brute force's location; releases, handles and counters are consistent.
std::string sequential_history(std::uint64_t seed);

// Runs several threads on tiny devices, `count` times: the observed histories must be linearizable. Successful
// allocations were free then; failed ones had no space.
std::string concurrent_histories(std::uint64_t seed, std::uint64_t count);

}  // namespace terrace::pim
