// Runs code in a child process, which may be killed by a signal and have limits of its own.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <iterator>
#include <optional>
#include <string>

namespace terrace::stencil::test {

// Runs the action in a child; returns its result, or nothing if a signal ended the child.
inline std::optional<std::string> in_child(const std::function<std::string()>& action) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return std::nullopt;
  const auto child = fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const auto text = action();
    const auto sent = ::write(ends[1], text.data(), text.size());
    _exit(sent == std::ssize(text) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 256> piece{};
  for (ssize_t count = 0; (count = ::read(ends[0], piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? std::optional(text) : std::nullopt;
}

}  // namespace terrace::stencil::test
