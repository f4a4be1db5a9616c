// SPDX-License-Identifier: Apache-2.0
// Reads requests for loops from the session's folder and writes the replies. See loop_service.hpp.
#include "cli/loop_service.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <exception>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/atomic_file.hpp"
#include "observe/symbols/files/function_loops.hpp"
#include "runtime/session/loop_request.hpp"

namespace terrace::cli {

LoopService::LoopService(std::filesystem::path folder) : folder_(std::move(folder)) {
  changes_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  end_ = eventfd(0, EFD_CLOEXEC);
  if (changes_ < 0 || end_ < 0 || inotify_add_watch(changes_, folder_.c_str(), IN_MOVED_TO) < 0) return;
  // The thread that waits for the program forwards signals to it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LoopService::~LoopService() {
  if (thread_.joinable()) {
    eventfd_write(end_, 1);
    thread_.join();
  }
  for (const int one : {changes_, end_})
    if (one >= 0) close(one);
}

void LoopService::run() {
  std::array<pollfd, 2> sources{{{changes_, POLLIN, 0}, {end_, POLLIN, 0}}};
  while (poll(sources.data(), sources.size(), -1) >= 0 && sources[1].revents == 0) {
    alignas(inotify_event) std::array<char, 4096> buffer;
    const auto size = read(changes_, buffer.data(), buffer.size());
    for (std::ptrdiff_t at = 0; at < size;) {
      const auto& event = *reinterpret_cast<const inotify_event*>(buffer.data() + at);
      at += static_cast<std::ptrdiff_t>(sizeof event + event.len);
      try {
        if (event.len > 0) answer(event.name);
      } catch (const std::exception&) {  // no memory, or no space: the program gets no answer
      }
    }
  }
}

void LoopService::answer(const std::string& name) {
  if (!name.starts_with(runtime::k_loop_request_prefix) || !name.ends_with(runtime::k_loop_request_suffix)) return;
  std::ifstream file(folder_ / name);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::vector<runtime::EnclosingLoops> all;
  for (const auto& position : runtime::parse_loop_request(text)) {
    auto& loops = all.emplace_back();
    if (position.file.empty()) continue;
    auto& known = files_[position.file];
    if (!known) known = std::make_unique<observe::FunctionLoops>(position.file);
    for (const auto& one : known->around(position.address))
      loops.push_back({one.head, one.back, one.iteration, one.is_counted_by_call});
  }
  const auto base = name.substr(0, name.size() - runtime::k_loop_request_suffix.size());
  write_file_atomically(folder_ / (base + std::string(runtime::k_loop_reply_suffix)),
                        runtime::format_loop_reply(all));
  std::filesystem::remove(folder_ / name);
}

}  // namespace terrace::cli
