// SPDX-License-Identifier: Apache-2.0
// Exchanges files with the launcher for the loops around call sites. See loop_requests.hpp.
#include "agent/mpi_monitor/loop_requests.hpp"

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

// Returns whether a function interprets the program.
bool interprets(const char* function) noexcept {
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
  if (!seen_.insert(address).second) return;
  queued_.push_back(address);
  if (interprets(find_symbol(process_, address - 1).site.function)) interpreters_.insert(address);
}

std::string LoopRequests::path(std::uint32_t number, std::string_view suffix) const {
  auto path = directory_;
  path.append("/").append(runtime::k_loop_request_prefix).append(std::to_string(getpid())).append(".");
  return path.append(std::to_string(number)).append(suffix);
}

void LoopRequests::send() {
  Request request{num_requests_++, std::exchange(queued_, {}), {}};
  std::vector<runtime::CodePosition> positions;
  for (const auto address : request.addresses) {
    // A return address may be behind the end of a function; the call is before it.
    const auto symbol = find_symbol(process_, address - 1);
    // The C library has what looks like a loop around main().
    const bool is_known = symbol.site.module >= 0 && !is_runtime_library(symbol.path);
    request.biases.push_back(address - 1 - symbol.site.offset);
    positions.push_back({is_known ? symbol.path : "", symbol.site.offset});
  }
  if (write_file(path(request.number, runtime::k_loop_request_suffix), runtime::format_loop_request(positions))) {
    sent_.push_back(std::move(request));
  } else {
    for (const auto address : request.addresses) known_[address];  // no loops
  }
}

bool LoopRequests::receive(const Request& request) {
  std::string text;
  const auto reply = path(request.number, runtime::k_loop_reply_suffix);
  if (!read_file(reply, text)) return false;
  unlink(reply.c_str());
  const auto answers = runtime::parse_loop_reply(text);
  for (std::size_t i = 0; i < request.addresses.size(); ++i) {
    auto& loops = known_[request.addresses[i]];
    if (i >= answers.size()) continue;
    const auto bias = request.biases[i];
    for (const auto& one : answers[i])
      loops.push_back({one.head + bias, one.back + bias, one.iteration != 0 ? one.iteration + bias : 0,
                       one.is_counted_by_call});
  }
  return true;
}

bool LoopRequests::exchange() {
  const auto before = known_.size();
  if (!queued_.empty()) send();
  std::erase_if(sent_, [this](const Request& request) { return receive(request); });
  return known_.size() > before;
}

const std::vector<LoopRequests::Loop>* LoopRequests::find(std::uint64_t address) const {
  const auto found = known_.find(address);
  return found == known_.end() ? nullptr : &found->second;
}

}  // namespace terrace::agent
