// SPDX-License-Identifier: Apache-2.0
// Runs `terrace lab calibrate` as a child and reads its JSON, for the options --native and --calibrate of record
// and simulate. See calibration.hpp.
#include "cli/calibration.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/launch.hpp"
#include "core/error.hpp"

namespace terrace::cli {

namespace {

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto got = read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

// Runs a command and returns its standard output; standard error is inherited. Throws Error unless it exits with
// 0.
std::string run_for_output(std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(Code::failed,
                std::string("the calibration cannot be started: ") + std::strerror(errno) + "; raise ulimit -n");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int problem = posix_spawnp(&child, arguments.front(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (problem != 0) {
    close(ends[0]);
    throw Error(Code::failed, "cannot start " + words.front() + ": " + std::strerror(problem) +
                                  "; name a Python that has the package terrace in TERRACE_PYTHON");
  }
  auto text = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  const bool wrong_call = WIFEXITED(status) && WEXITSTATUS(status) == 2;
  throw Error(
      wrong_call ? Code::invalid : Code::failed,
      "calibration failed, for the reason above, so the program was not run; remove the cause, or leave out "
      "--calibrate and --native");
}

}  // namespace

LaunchOptions calibrate_core_times(const LaunchOptions& options) {
  std::vector<std::string> words{python_command(), "-P", "-m", "terrace", "lab", "calibrate", "--json"};
  if (options.calibrate) words.push_back("--calibrate=" + *options.calibrate);
  if (!options.native.empty()) words.push_back("--native=" + options.native);
  if (!options.calibrate_on.empty()) words.push_back("--calibrate-on=" + options.calibrate_on);
  if (!options.calibrate_stdin.empty()) words.push_back("--calibrate-stdin=" + options.calibrate_stdin);
  if (!options.calibrate_in.empty()) words.push_back("--calibrate-in=" + options.calibrate_in);
  if (options.calibrate_status != 0)
    words.push_back("--calibrate-status=" + std::to_string(options.calibrate_status));
  words.emplace_back("--");
  words.insert(words.end(), options.command.begin(), options.command.end());
  const auto found = nlohmann::json::parse(run_for_output(std::move(words)));
  auto result = options;
  const auto apply = [&](ConfigurationOptions& configuration) {
    configuration.core_times = found.at("core_times").get<std::vector<std::string>>();
    configuration.core_time_from = found.at("said").get<std::string>();
  };
  apply(result.configuration);
  for (auto& configuration : result.configurations) apply(configuration);
  if (!options.quiet && !options.json)
    fmt::print(stderr, "terrace: {}calibrated: {}\n", found.at("calibrated").get<bool>() ? "" : "not ",
               result.configuration.core_time_from);
  return result;
}

}  // namespace terrace::cli
