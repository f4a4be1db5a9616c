// SPDX-License-Identifier: Apache-2.0
// Answers the requests of programs for the loops around their call sites (runtime/session/loop_request.hpp), while
// the launcher waits for them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>

namespace terrace::observe {
class FunctionLoops;
}

namespace terrace::cli {

class LoopService {
 public:
  // Starts a thread that sleeps until a request is written into the folder. Does nothing where the system refuses
  // (inotify(7)): programs then get no answer, and have no loops.
  explicit LoopService(std::filesystem::path folder);
  ~LoopService();
  LoopService(const LoopService&) = delete;
  LoopService& operator=(const LoopService&) = delete;

 private:
  void run();
  void answer(const std::string& name);

  std::filesystem::path folder_;
  int changes_ = -1;  // of the folder; a descriptor of inotify(7)
  int end_ = -1;      // readable when the thread is to end; a descriptor of eventfd(2)
  std::map<std::string, std::unique_ptr<observe::FunctionLoops>> files_;
  std::thread thread_;
};

}  // namespace terrace::cli
