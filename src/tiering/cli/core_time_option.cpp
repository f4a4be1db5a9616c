// SPDX-License-Identifier: Apache-2.0
// Parses the forms of --core-time, for simulate, record and replay. See core_time_option.hpp.
#include "cli/core_time_option.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "core/error.hpp"

namespace terrace::cli {

namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw Error(Code::invalid, "--core-time " + text + ": " + why);
}

Seconds read_time(const std::string& text, const std::string& time) {
  Seconds read;
  try {
    read = parse_seconds(time);
  } catch (const Error&) {
    refuse(text, "'" + time + "' is not a time; write for example 0.05ns, or 'PHASE=0.08ns'");
  }
  if (!(read.value > 0)) refuse(text, "an instruction takes more than 0; leave the option out for the machine's");
  return read;
}

// Parses one value (TIME, PATTERN=TIME or NAME()=TIME) of the option or of a line of its file.
void read_one(const std::string& text, CoreTimeOption& option) {
  constexpr std::string_view k_function = "()";
  const auto equals = text.rfind('=');  // names may contain one, times do not
  if (equals == std::string::npos) {
    const auto time = read_time(text, text);
    if (option.program) refuse(text, "the program's time was given already; a phase's is 'PHASE=" + text + "'");
    option.program = time;
    return;
  }
  if (equals == 0) refuse(text, "there is no phase before the '='; a pattern for all of them is '*'");
  const auto time = read_time(text, text.substr(equals + 1));
  const auto name = std::string_view(text).substr(0, equals);
  if (!name.ends_with(k_function)) {
    option.times.phases.push_back({std::string(name), time});
    return;
  }
  const std::string function(name.substr(0, name.size() - k_function.size()));
  if (function.empty()) refuse(text, "there is no function before the '()='");
  if (!option.times.functions.emplace(function, time).second)
    refuse(text, "the time of " + function + "() was given already");
}

// Returns the content of the file that @FILE names. `text`: the value as given, for errors.
std::string content_of(const std::string& text, const std::string& path) {
  constexpr std::size_t k_max = 4 << 20;  // bytes: enough for tens of thousands of functions
  std::ifstream file(path, std::ios::binary);
  std::string content;
  std::array<char, 65536> piece{};
  while (file && content.size() <= k_max) {
    file.read(piece.data(), piece.size());
    content.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof() && content.size() <= k_max)
    refuse(text, path + " cannot be read; terrace lab calibrate -o writes such a file");
  if (content.size() > k_max) refuse(text, path + " is not a file of core times: it has more than 4 MiB");
  return content;
}

}  // namespace

void parse_core_times(std::string_view content, const std::string& path, CoreTimeOption& option) {
  constexpr std::string_view k_blank = " \t\r";
  for (std::size_t number = 1; !content.empty(); ++number) {
    const auto end = std::min(content.find('\n'), content.size());
    auto line = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    const auto first = line.find_first_not_of(k_blank);
    if (first == std::string_view::npos || line[first] == '#') continue;
    line = line.substr(first, line.find_last_not_of(k_blank) + 1 - first);
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    auto at = path;
    at.append(":").append(std::to_string(number));
    if (std::ranges::any_of(line, is_control))
      throw Error(Code::invalid, at + ": this line is not text; write TIME, PATTERN=TIME or NAME()=TIME");
    try {
      read_one(std::string(line), option);
    } catch (const Error& error) {
      throw Error(Code::invalid, at + ": " + error.what());
    }
  }
}

void check_no_functions(const CoreTimeOption& option) {
  if (option.times.functions.empty()) return;
  refuse(
      option.times.functions.begin()->first + "()",
      "a recording does not attribute misses to functions; give the times of functions where it is made (terrace "
      "simulate --misses)");
}

CoreTimeOption read_core_times(const std::vector<std::string>& texts) {
  CoreTimeOption option;
  for (const auto& text : texts) {
    if (text.starts_with('@'))
      parse_core_times(content_of(text, text.substr(1)), text.substr(1), option);
    else
      read_one(text, option);
  }
  return option;
}

}  // namespace terrace::cli
