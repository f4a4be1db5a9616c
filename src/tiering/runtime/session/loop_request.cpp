// SPDX-License-Identifier: Apache-2.0
// Formats and parses requests for loops and their replies. See loop_request.hpp.
#include "runtime/session/loop_request.hpp"

#include <charconv>
#include <utility>

namespace terrace::runtime {

namespace {

void append_hexadecimal(std::string& text, std::uint64_t value) {
  char digits[16];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value, 16).ptr;
  text.append(digits, end);
}

// Takes the digits at the begin of the text. Returns false if there are none.
bool take_hexadecimal(std::string_view& text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char one) {
  if (!text.starts_with(one)) return false;
  text.remove_prefix(1);
  return true;
}

template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    visit(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string format_loop_request(std::span<const CodePosition> positions) {
  std::string text;
  for (const auto& one : positions) {
    append_hexadecimal(text, one.address);
    text += ' ';
    if (one.file.find('\n') == std::string::npos) text += one.file;
    text += '\n';
  }
  return text;
}

std::string format_loop_reply(std::span<const EnclosingLoops> loops) {
  std::string text;
  for (const auto& one : loops) {
    const char* separator = "";
    for (const auto& [head, back, iteration, is_counted_by_call] : one) {
      text += std::exchange(separator, " ");
      append_hexadecimal(text, head);
      text += ':';
      append_hexadecimal(text, back);
      text += ':';
      append_hexadecimal(text, iteration);
      if (is_counted_by_call) text += ":1";
    }
    text += '\n';
  }
  return text;
}

std::vector<CodePosition> parse_loop_request(std::string_view text) {
  std::vector<CodePosition> positions;
  for_each_line(text, [&](std::string_view line) {
    CodePosition one;
    if (take_hexadecimal(line, one.address) && take(line, ' ')) one.file = line;
    positions.push_back(std::move(one));
  });
  return positions;
}

std::vector<EnclosingLoops> parse_loop_reply(std::string_view text) {
  std::vector<EnclosingLoops> all;
  for_each_line(text, [&](std::string_view line) {
    EnclosingLoops loops;
    do {
      EnclosingLoop one;
      if (!take_hexadecimal(line, one.head) || !take(line, ':') || !take_hexadecimal(line, one.back) ||
          !take(line, ':') || !take_hexadecimal(line, one.iteration))
        break;
      if (line.starts_with(":1")) {
        one.is_counted_by_call = true;
        line.remove_prefix(2);
      }
      loops.push_back(one);
    } while (take(line, ' '));
    all.push_back(std::move(loops));
  });
  return all;
}

}  // namespace terrace::runtime
