// SPDX-License-Identifier: Apache-2.0
// Records each chain that its inner executor runs, and writes the plans to the file of plans=FILE when the program
// ends. The engine puts it around its executor. See recorded.hpp.
#include "stencil/record/recorded.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/atomic_file.hpp"
#include "core/error.hpp"

namespace terrace::stencil {
namespace {

// Returns whether an existing file may be replaced: it has plans, or is empty.
bool is_ours(const std::string& file) {
  std::string head(64, '\0');
  std::ifstream there(file, std::ios::binary);
  there.read(head.data(), static_cast<std::streamsize>(head.size()));
  return there.gcount() == 0 || head.starts_with("{\"kind\":\"" + std::string(PlanRecord::k_kind) + "\"");
}

}  // namespace

Recorded::Recorded(std::unique_ptr<Executor> executor, const Options& options, std::string file)
    : ExecutorDecorator(std::move(executor)), record_(options), file_(std::move(file)) {
  std::error_code ignored;
  if (const auto there = std::filesystem::status(file_, ignored);
      std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    // A device such as /dev/stdout receives only the document.
    if (std::filesystem::is_directory(there) || access(file_.c_str(), W_OK) != 0)
      throw Error(Code::failed, "plans=" + file_ + ": it cannot be written: " +
                                    std::strerror(std::filesystem::is_directory(there) ? EISDIR : errno) +
                                    ": name another file");
    return;
  }
  if (!is_ours(file_))
    throw Error(
        Code::invalid,
        "plans=" + file_ + ": a file is there that has no plans, and is not overwritten: name another file");
  // Check now, not after everything has been computed.
  if (const auto failed = write_file_atomically(file_, record_.text()); !failed.empty())
    throw Error(Code::failed, "plans=" + file_ + ": it cannot be written: " + failed + ": name another file");
}

Recorded::~Recorded() {
  end_inner();  // transfers stop here
  std::string failed;
  try {
    failed = write_file_atomically(file_, record_.text());
  } catch (const std::exception& error) {
    failed = error.what();
  }
  if (!failed.empty())
    std::fprintf(stderr, "terrace: plans=%s: it cannot be written: %s\n", file_.c_str(), failed.c_str());
}

void Recorded::add_block(BlockId block, const std::string& name, const Range& range) {
  ExecutorDecorator::add_block(block, name, range);
  record_.add_block(name, range);
}

void Recorded::add(const DatasetInfo& info) {
  ExecutorDecorator::add(info);
  record_.add(info);
}

void Recorded::run(std::span<const Loop> chain, Reductions& reductions) {
  const auto start = std::chrono::steady_clock::now();
  ExecutorDecorator::run(chain, reductions);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  record_.add_run(chain, cut(), seconds.count());
}

}  // namespace terrace::stencil
