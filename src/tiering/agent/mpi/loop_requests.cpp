// SPDX-License-Identifier: Apache-2.0
// Exchanges files with the launcher for the loops around call sites. See loop_requests.hpp.
#include "agent/mpi/loop_requests.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "agent/lifecycle/modules.hpp"
#include "runtime/session/loop_request.hpp"

namespace terrace::agent {

namespace {

// Functions of CPython that interpret the program: their loops are not the program's.
bool is_interpreter(const char* function) noexcept {
  return function && std::string_view(function).starts_with("_PyEval_");
}

// Reads a whole file. Returns false if it cannot be opened.
bool read_file(const std::string& path, std::string& text) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char buffer[4096];
  for (ssize_t size; (size = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(size));
  close(fd);
  return true;
}

// Writes a file under another name first, so that the launcher reads it as a whole. Returns whether it succeeded.
bool write_file(const std::string& path, std::string_view text) {
  const auto draft = path + ".tmp";
  const int fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const auto size = write(fd, text.data(), text.size());
  close(fd);
  if (size == static_cast<ssize_t>(text.size()) && std::rename(draft.c_str(), path.c_str()) == 0) return true;
  unlink(draft.c_str());
  return false;
}

}  // namespace

void LoopRequests::add(std::uint64_t address) {
  if (known_.contains(address) || std::ranges::find(queued_, address) != queued_.end() ||
      std::ranges::find(sent_, address) != sent_.end())
    return;
  queued_.push_back(address);
}

std::string LoopRequests::path(std::string_view suffix) const {
  auto path = directory_;
  path.append("/").append(runtime::k_loop_request_prefix).append(std::to_string(getpid())).append(".");
  return path.append(std::to_string(number_)).append(suffix);
}

void LoopRequests::send() {
  std::vector<runtime::CodePosition> positions;
  sent_ = std::exchange(queued_, {});
  biases_.clear();
  for (const auto address : sent_) {
    // A return address may be behind the end of a function; the call is before it.
    const auto symbol = find_symbol(process_, address - 1);
    const bool is_known = symbol.site.module >= 0 && !is_interpreter(symbol.site.function);
    biases_.push_back(address - 1 - symbol.site.offset);
    positions.push_back({is_known ? symbol.path : "", symbol.site.offset});
  }
  ++number_;
  if (!write_file(path(runtime::k_loop_request_suffix), runtime::format_loop_request(positions)))
    for (const auto address : std::exchange(sent_, {})) known_[address];
}

bool LoopRequests::exchange() {
  if (sent_.empty()) {
    if (queued_.empty()) return false;
    send();
    return sent_.empty();
  }
  std::string text;
  const auto reply = path(runtime::k_loop_reply_suffix);
  if (!read_file(reply, text)) return false;
  unlink(reply.c_str());
  const auto answers = runtime::parse_loop_reply(text);
  for (std::size_t i = 0; i < sent_.size(); ++i) {
    auto& loops = known_[sent_[i]];
    if (i >= answers.size()) continue;
    for (const auto& [head, back] : answers[i]) loops.push_back({head + biases_[i], back + biases_[i]});
  }
  sent_.clear();
  return true;
}

const std::vector<LoopRequests::Loop>* LoopRequests::find(std::uint64_t address) const {
  const auto found = known_.find(address);
  return found == known_.end() ? nullptr : &found->second;
}

}  // namespace terrace::agent
