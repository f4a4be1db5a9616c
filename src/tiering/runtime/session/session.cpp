// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the session file: the launcher writes it, the library inside the program reads it. See
// session.hpp.
#include "runtime/session/session.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace terrace::runtime {

namespace {

constexpr std::uint64_t k_magic = 0x4e4f495353524554;  // "TERSSION" in byte order

void put_list(BlobWriter& out, const std::vector<std::string>& list) {
  out.put(static_cast<std::uint32_t>(list.size()));
  for (const auto& text : list) out.put(text);
}

std::vector<std::string> get_list(BlobReader& in) {
  std::vector<std::string> list;
  for (auto n = in.get<std::uint32_t>(); n > 0; --n) list.push_back(in.get_string());
  return list;
}

void put_configuration(BlobWriter& out, const SessionConfiguration& configuration) {
  out.put(configuration.label);
  configuration.machine.to_blob(out);
  out.put(configuration.domain);
  out.put(configuration.cores);
  out.put(static_cast<std::uint32_t>(configuration.budget.size()));
  for (const auto bytes : configuration.budget) out.put(bytes.value);
  out.put(configuration.budget_text);
  out.put(configuration.ledger);
  out.put(configuration.planner);
  out.put(configuration.plan.has_value());
  if (configuration.plan) configuration.plan->to_blob(out);
  out.put(static_cast<std::uint32_t>(configuration.rank_plans.size()));
  for (const auto& [rank, plan] : configuration.rank_plans) {
    out.put(rank);
    plan.to_blob(out);
  }
  out.put(configuration.refine_plan);
  configuration.hints.to_blob(out);
  configuration.calibration.to_blob(out);
  out.put(configuration.core_time_fitted);
  out.put(configuration.core_time_from);
  configuration.core_times.to_blob(out);
  out.put(configuration.learn_iterations);
  out.put(configuration.record_only);
  out.put(configuration.undoes_losing_plans);
  out.put(configuration.keep_exact);
  out.put(configuration.free_moves);
  out.put(configuration.memory.value);
}

SessionConfiguration get_configuration(BlobReader& in) {
  auto label = in.get_string();
  SessionConfiguration configuration{std::move(label), machine::Machine::from_blob(in)};
  configuration.domain = in.get<DomainId>();
  configuration.cores = in.get<double>();
  for (auto n = in.get<std::uint32_t>(); n > 0; --n)
    configuration.budget.push_back(Bytes{in.get<std::uint64_t>()});
  configuration.budget_text = in.get_string();
  configuration.ledger = in.get_string();
  configuration.planner = in.get_string();
  if (in.get<bool>()) configuration.plan = Plan::from_blob(in);
  for (auto n = in.get<std::uint32_t>(); n > 0; --n) {
    const auto rank = in.get<std::uint32_t>();
    configuration.rank_plans.emplace(rank, Plan::from_blob(in));
  }
  configuration.refine_plan = in.get<bool>();
  configuration.hints = strategy::Hints::from_blob(in);
  configuration.calibration = model::Calibration::from_blob(in);
  configuration.core_time_fitted = in.get<bool>();
  configuration.core_time_from = in.get_string();
  configuration.core_times = observe::CoreTimes::from_blob(in);
  configuration.learn_iterations = in.get<std::uint32_t>();
  configuration.record_only = in.get<bool>();
  configuration.undoes_losing_plans = in.get<bool>();
  configuration.keep_exact = in.get<bool>();
  configuration.free_moves = in.get<bool>();
  configuration.memory = Bytes{in.get<std::uint64_t>()};
  return configuration;
}

[[noreturn]] void throw_errno(const std::string& path, const char* what) {
  throw Error(Code::failed, path + ": " + what + ": " + std::strerror(errno));
}

}  // namespace

void Session::to_blob(BlobWriter& out) const {
  out.put(mode);
  out.put(backend);
  out.put(directory);
  out.put(static_cast<std::uint32_t>(configurations.size()));
  for (const auto& configuration : configurations) put_configuration(out, configuration);
  put_list(out, symbol_files);
  out.put(phases.source);
  put_list(out, phases.functions);
  out.put(phases.loop);
  put_list(out, phases.found);
  out.put(sample_every);
  out.put(chunk_rule.chunks_per_object);
  out.put(chunk_rule.smallest.value);
  out.put(chunk_rule.largest.value);
  out.put(big_block.value);
  out.put(quantum_accesses);
  out.put(sample_interval.value);
  out.put(page_window.value);
  out.put(static_cast<std::uint32_t>(events.size()));
  for (const auto& event : events) event.to_blob(out);
  out.put(collector);
  out.put(progress);
  out.put(recording);
  out.put(functions);
  put_list(out, notes);
  out.put(hooks);
  out.put(spill.folder);
  out.put(spill.memory.value);
  out.put(static_cast<std::uint32_t>(spill.plan.size()));
  for (const auto& rule : spill.plan) {
    out.put(rule.object);
    out.put(rule.stays);
  }
  out.put(intent.name);
  out.put(intent.mark);
  out.put(intent.eager);
  mpi_objects.to_blob(out);
}

Session Session::from_blob(BlobReader& in) {
  Session session;
  session.mode = in.get_string();
  session.backend = in.get<Backend>();
  session.directory = in.get_string();
  for (auto n = in.get<std::uint32_t>(); n > 0; --n) session.configurations.push_back(get_configuration(in));
  session.symbol_files = get_list(in);
  session.phases.source = in.get<PhaseSource>();
  session.phases.functions = get_list(in);
  session.phases.loop = in.get_string();
  session.phases.found = get_list(in);
  session.sample_every = in.get<std::uint32_t>();
  session.chunk_rule.chunks_per_object = in.get<std::uint32_t>();
  session.chunk_rule.smallest.value = in.get<std::uint64_t>();
  session.chunk_rule.largest.value = in.get<std::uint64_t>();
  session.big_block.value = in.get<std::uint64_t>();
  session.quantum_accesses = in.get<std::uint64_t>();
  session.sample_interval.value = in.get<double>();
  session.page_window.value = in.get<double>();
  for (auto left = in.get<std::uint32_t>(); left > 0; --left)
    session.events.push_back(observe::PerfEvent::from_blob(in));
  session.collector = in.get_string();
  session.progress = in.get_string();
  session.recording = in.get_string();
  session.functions = in.get_string();
  session.notes = get_list(in);
  session.hooks = in.get<bool>();
  session.spill.folder = in.get_string();
  session.spill.memory = Bytes{in.get<std::uint64_t>()};
  for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
    auto object = in.get_string();
    session.spill.plan.push_back({std::move(object), in.get<bool>()});
  }
  session.intent.name = in.get_string();
  session.intent.mark = in.get<double>();
  session.intent.eager = in.get<bool>();
  session.mpi_objects = MpiObjectsSpec::from_blob(in);
  return session;
}

void write_session(const Session& session, const std::string& path) {
  BlobWriter body;
  session.to_blob(body);
  BlobWriter head;
  head.put(k_magic);
  head.put(k_session_version);
  head.put(crc32c(body.bytes()));
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) throw_errno(path, "cannot be created");
  for (const auto part : {head.bytes(), body.bytes()}) {
    for (std::size_t at = 0; at < part.size();) {
      const auto n = write(file, part.data() + at, part.size() - at);
      if (n < 0) {
        close(file);
        throw_errno(path, "cannot be written");
      }
      at += static_cast<std::size_t>(n);
    }
  }
  close(file);
}

Session read_session(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw_errno(path, "cannot be opened");
  struct stat status {};
  fstat(file, &status);
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const map = size > 0 ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  close(file);
  if (map == MAP_FAILED) throw_errno(path, "cannot be mapped");
  struct Unmap {
    void* map;
    std::size_t size;
    ~Unmap() { munmap(map, size); }
  } const unmap{map, size};
  const std::span bytes(static_cast<const std::byte*>(map), size);
  BlobReader head(bytes);
  if (head.get<std::uint64_t>() != k_magic || head.get<std::uint32_t>() != k_session_version)
    throw Error(Code::corrupt, path +
                                   " is not a session of this version of terrace; start the program with the "
                                   "terrace that is installed with this library");
  const auto sum = head.get<std::uint32_t>();
  const auto body = bytes.subspan(16);
  if (crc32c(body) != sum)
    throw Error(Code::corrupt, "the session file " + path + " is damaged; start the program again");
  BlobReader in(body);
  return Session::from_blob(in);
}

bool is_session_gone(const std::string& path) noexcept {
  return access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

}  // namespace terrace::runtime
