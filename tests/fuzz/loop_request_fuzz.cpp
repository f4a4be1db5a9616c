// SPDX-License-Identifier: Apache-2.0
// Fuzzes the requests for loops and their replies: whatever parses is formatted and parsed to the same value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/session/loop_request.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace terrace::runtime;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto reply = parse_loop_reply(text);
  if (parse_loop_reply(format_loop_reply(reply)) != reply) std::abort();
  const auto request = parse_loop_request(text);
  const auto again = parse_loop_request(format_loop_request(request));
  if (again.size() != request.size()) std::abort();
  for (std::size_t i = 0; i < again.size(); ++i)
    if (again[i].address != request[i].address || again[i].file != request[i].file) std::abort();
  return 0;
}
