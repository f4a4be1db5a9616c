// Random histories of an allocator, held against brute force. Each returns what is wrong, in one line, or nothing.
#pragma once

#include <cstdint>
#include <string>

namespace terrace::pim {

// One thread, a small device, all kinds of requests: every allocation succeeds exactly when a free rectangle
// exists, at brute force's choice; releases, handles and accounts hold.
std::string sequential_history(std::uint64_t seed);

// Several threads on tiny devices, `count` times: of what they saw there must be an order, one after the other,
// that agrees with what was before what. What succeeds must have been free then, what fails must have had no room.
std::string concurrent_histories(std::uint64_t seed, std::uint64_t count);

}  // namespace terrace::pim
