// Reading of --core-time. See core_time_option.hpp.
#include "cli/core_time_option.hpp"

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

}  // namespace

CoreTimeOption read_core_times(const std::vector<std::string>& texts) {
  CoreTimeOption option;
  for (const auto& text : texts) {
    const auto equals = text.rfind('=');  // names may have one, times have none
    if (equals == std::string::npos) {
      const auto time = read_time(text, text);
      if (option.program) refuse(text, "the program's time was given already; a phase's is 'PHASE=" + text + "'");
      option.program = time;
    } else {
      if (equals == 0) refuse(text, "there is no phase before the '='; a pattern for all of them is '*'");
      option.phases.phases.push_back({text.substr(0, equals), read_time(text, text.substr(equals + 1))});
    }
  }
  return option;
}

}  // namespace terrace::cli
