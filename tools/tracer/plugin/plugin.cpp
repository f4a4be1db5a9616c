// SPDX-License-Identifier: Apache-2.0
// Implements the tracer, a plug-in for QEMU's user mode that writes what the traced program loads and stores as a
// trace (tracer/trace.hpp). `terrace lab trace` runs QEMU with it. It knows nothing of how Terrace's hooks see a
// program, which is what makes it a check on them, and it takes any executable of any instruction set that QEMU
// runs.
//
//   qemu-x86_64 -plugin libterrace_qemu.so,out=FILE[,limit=BYTES][,only=loop] PROGRAM ...
//
// limit: bytes of the trace after which the rest of the run goes untraced (default 4 GiB); only=loop: accesses of
// the main loop alone, from its first phase to its end. Records of all threads are in the order in which they
// happened: one lock orders them.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracer/plugin/api.hpp"
#include "tracer/plugin/inside.h"
#include "tracer/plugin/system_calls.hpp"
#include "tracer/trace_writer.hpp"

namespace terrace::tracer {

namespace {

constexpr std::uint64_t k_default_limit = std::uint64_t{4} << 30;
constexpr std::uint64_t k_map_anonymous = 0x20;  // of Linux's generic flags
constexpr std::uint64_t k_map_grows_down = 0x100;
constexpr std::uint64_t k_map_stack = 0x20000;
constexpr std::uint64_t k_no_file = ~std::uint64_t{0};

// An instruction that was translated, with a site for each size and direction that it is met with.
struct Instruction {
  std::uint64_t pc = 0;
  std::array<std::unique_ptr<TraceSite>, 16> sites;
};

// A call that is under way in a thread.
struct Call {
  std::array<std::uint64_t, 6> arguments{};
};

class Tracer {
 public:
  Tracer(std::string isa, int file, std::uint64_t limit, bool loop_only)
      : calls_(memory_calls(isa)), isa_(std::move(isa)), file_(file), limit_(limit), recording_(!loop_only) {}

  void thread_began(unsigned vcpu);
  void thread_ended(unsigned vcpu);
  void translated(qemu_plugin_tb* block);
  void accessed(unsigned vcpu, qemu_plugin_meminfo_t about, std::uint64_t address, Instruction& instruction);
  void called(unsigned vcpu, std::int64_t number, const std::array<std::uint64_t, 6>& arguments);
  void returned(unsigned vcpu, std::int64_t number, std::int64_t result);
  void ended();
  // Around fork: the child is not traced.
  void before_fork() { lock_.lock(); }
  void after_fork(bool child) {
    if (child) tracing_ = false;
    lock_.unlock();
  }

 private:
  void begin();
  bool write(std::span<const std::byte> bytes);
  void put(TraceKind kind, std::uint32_t thread, std::uint64_t address = 0, std::uint64_t size = 0,
           std::string_view text = {}, bool flag = false, std::uint64_t pc = 0);
  void told(std::uint32_t thread, const std::array<std::uint64_t, 6>& arguments);
  void stop_at_limit();
  [[nodiscard]] std::uint32_t thread_of(unsigned vcpu) const {
    return vcpu < threads_.size() ? threads_[vcpu] : 0;
  }

  const MemoryCalls* calls_;
  std::string isa_;
  int file_;
  std::uint64_t limit_;
  std::mutex lock_;
  bool tracing_ = true;
  bool recording_;  // accesses are wanted now
  bool in_loop_ = false;
  std::optional<TraceWriter> writer_;
  std::vector<std::uint32_t> threads_;  // by vCPU, whose numbers are used again
  std::uint32_t threads_begun_ = 0;
  std::vector<Call> under_way_;  // by vCPU
  std::unordered_map<std::uint64_t, std::unique_ptr<Instruction>> instructions_;
};

Tracer* g_tracer = nullptr;

void say(const std::string& text) { std::fprintf(stderr, "terrace: %s\n", text.c_str()); }

// Returns the traced program's arguments, which follow QEMU's own in this process.
std::vector<std::string> arguments_after(std::string_view program) {
  std::vector<std::string> arguments;
  bool found = false;
  if (std::FILE* file = std::fopen("/proc/self/cmdline", "re")) {
    std::string text;
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
      if (c != '\0') {
        text.push_back(static_cast<char>(c));
        continue;
      }
      if (found) arguments.push_back(text);
      found = found || text == program;
      text.clear();
    }
    std::fclose(file);
  }
  return arguments;
}

// Returns the path of an open file of the program, whose descriptors are QEMU's.
std::string path_of(std::uint64_t descriptor) {
  char path[4096];
  const auto link = "/proc/self/fd/" + std::to_string(static_cast<int>(descriptor));
  const auto length = readlink(link.c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

// QEMU calls it when a thread of the program begins.
void Tracer::thread_began(unsigned vcpu) {
  const std::lock_guard lock(lock_);
  if (vcpu >= threads_.size()) threads_.resize(vcpu + 1);
  if (vcpu >= under_way_.size()) under_way_.resize(vcpu + 1);
  threads_[vcpu] = threads_begun_++;
  if (writer_) put(TraceKind::thread_begin, threads_[vcpu]);
}

void Tracer::thread_ended(unsigned vcpu) {
  const std::lock_guard lock(lock_);
  put(TraceKind::thread_end, thread_of(vcpu));
}

// Begins the trace with its header. Called when the first code is translated: QEMU has loaded the program then.
void Tracer::begin() {
  TraceHeader header;
  header.isa = isa_;
  if (const char* path = qemu_plugin_path_to_binary()) header.program = path;
  header.arguments = arguments_after(header.program);
  header.page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  header.code_low = qemu_plugin_start_code();
  header.code_high = qemu_plugin_end_code();
  try {
    writer_.emplace(header, [this](std::span<const std::byte> bytes) { return write(bytes); });
    for (std::uint32_t thread = 0; thread < threads_begun_; ++thread) put(TraceKind::thread_begin, thread);
  } catch (const std::exception& error) {
    tracing_ = false;
    say(std::string("the program runs untraced: ") + error.what());
  }
}

bool Tracer::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(file_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      say(std::string("the trace ends here, the program goes on: ") + std::strerror(errno));
      tracing_ = false;
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

// Writes a record other than an access.
void Tracer::put(TraceKind kind, std::uint32_t thread, std::uint64_t address, std::uint64_t size,
                 std::string_view text, bool flag, std::uint64_t pc) {
  if (!tracing_ || !writer_) return;
  TraceRecord record;
  record.kind = kind;
  record.flag = flag;
  record.thread = thread;
  record.address = address;
  record.size = size;
  record.pc = pc;
  record.text = text;
  writer_->put(record);
}

// QEMU calls it for each block of code that it translates; registers accessed() for each instruction.
void Tracer::translated(qemu_plugin_tb* block) {
  const std::lock_guard lock(lock_);
  if (!writer_ && tracing_) begin();
  if (!tracing_) return;
  const auto count = qemu_plugin_tb_n_insns(block);
  for (std::size_t i = 0; i < count; ++i) {
    auto* const translated = qemu_plugin_tb_get_insn(block, i);
    const auto pc = qemu_plugin_insn_vaddr(translated);
    auto& instruction = instructions_[pc];
    if (!instruction) {
      instruction = std::make_unique<Instruction>();
      instruction->pc = pc;
    }
    qemu_plugin_register_vcpu_mem_cb(
        translated,
        [](unsigned vcpu, qemu_plugin_meminfo_t about, std::uint64_t address, void* data) {
          g_tracer->accessed(vcpu, about, address, *static_cast<Instruction*>(data));
        },
        QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, instruction.get());
  }
}

// QEMU calls it at each load and store.
void Tracer::accessed(unsigned vcpu, qemu_plugin_meminfo_t about, std::uint64_t address,
                      Instruction& instruction) {
  const std::lock_guard lock(lock_);
  if (!recording_ || !tracing_) return;
  const auto shift = qemu_plugin_mem_size_shift(about) & 7;
  const bool store = qemu_plugin_mem_is_store(about);
  auto& site = instruction.sites[shift * 2 + (store ? 1 : 0)];
  if (!site) site = std::make_unique<TraceSite>(TraceSite{instruction.pc, 1u << shift, store});
  writer_->access(*site, thread_of(vcpu), address);
  if (writer_->bytes() >= limit_) stop_at_limit();
}

void Tracer::stop_at_limit() {
  put(TraceKind::end, 0, 0, 0, {}, true);
  writer_->flush();
  tracing_ = false;
  say("the trace has reached its limit of " + std::to_string(limit_ >> 20) +
      " MiB (--limit) and ends; the program goes on");
}

// QEMU calls it before each system call of the program.
void Tracer::called(unsigned vcpu, std::int64_t number, const std::array<std::uint64_t, 6>& arguments) {
  const std::lock_guard lock(lock_);
  if (number == TERRACE_TRACE_CALL) return told(thread_of(vcpu), arguments);
  // Flush before execve: if it succeeds, the tracer sees no later events.
  if (calls_ && number == calls_->execve && writer_ && tracing_) writer_->flush();
  if (vcpu < under_way_.size()) under_way_[vcpu].arguments = arguments;
}

// Records what the part of the tracer inside the program (inside.c) reports.
void Tracer::told(std::uint32_t thread, const std::array<std::uint64_t, 6>& arguments) {
  const char* const text = reinterpret_cast<const char*>(&arguments[1]);
  const std::string_view name(text, strnlen(text, TERRACE_TRACE_NAME));
  switch (arguments[0]) {
    case TERRACE_TRACE_ALLOCATE:
      return put(TraceKind::allocate, thread, arguments[1], arguments[2], {}, false, arguments[3]);
    case TERRACE_TRACE_RELEASE:
      return put(TraceKind::release, thread, arguments[1]);
    case TERRACE_TRACE_MEMORY_FUNCTIONS:
      return put(TraceKind::code, thread, arguments[1], arguments[2], "memory functions");
    case TERRACE_TRACE_LOOP_BEGIN:
      in_loop_ = true;
      return put(TraceKind::loop_begin, thread, 0, 0, name);
    case TERRACE_TRACE_PHASE:
      recording_ = recording_ || in_loop_;
      return put(TraceKind::phase, thread, 0, 0, name);
    case TERRACE_TRACE_LOOP_END:
      in_loop_ = false;
      return put(TraceKind::loop_end, thread);
    default:
      return;
  }
}

// QEMU calls it after each system call; records those that change the program's memory.
void Tracer::returned(unsigned vcpu, std::int64_t number, std::int64_t result) {
  const std::lock_guard lock(lock_);
  // Results from -4095 on are errors.
  if (!calls_ || vcpu >= under_way_.size() || (result < 0 && result > -4096)) return;
  const auto& arguments = under_way_[vcpu].arguments;
  const auto address = static_cast<std::uint64_t>(result);
  const auto thread = thread_of(vcpu);
  if (number == calls_->mmap) {
    const auto flags = arguments[3];
    const bool anonymous = (flags & k_map_anonymous) != 0 || arguments[4] == k_no_file;
    put(TraceKind::map, thread, address, arguments[1], anonymous ? std::string() : path_of(arguments[4]),
        (flags & (k_map_stack | k_map_grows_down)) != 0);
  } else if (number == calls_->munmap) {
    put(TraceKind::unmap, thread, arguments[0], arguments[1]);
  } else if (number == calls_->mremap) {
    put(TraceKind::unmap, thread, arguments[0], arguments[1]);
    put(TraceKind::map, thread, address, arguments[2]);
  } else if (number == calls_->brk) {
    put(TraceKind::program_break, thread, address);
  }
}

void Tracer::ended() {
  const std::lock_guard lock(lock_);
  put(TraceKind::end, 0);
  if (writer_ && tracing_) writer_->flush();
  tracing_ = false;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Parses the plug-in's arguments, and registers its callbacks. Returns 0, or 1 after it has printed an error.
int install(qemu_plugin_id_t id, const qemu_info_t& info, int argc, char** argv) {
  std::string out;
  std::uint64_t limit = k_default_limit;
  bool loop_only = false;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word(argv[i]);
    const auto value = word.substr(word.find('=') + 1);
    if (word.starts_with("out=")) {
      out = value;
    } else if (word == "only=loop") {
      loop_only = true;
    } else if (const auto bytes = number_in(value); word.starts_with("limit=") && bytes) {
      limit = *bytes;
    } else {
      say("the tracer does not know '" + std::string(word) + "'; it takes out=FILE, limit=BYTES, only=loop");
      return 1;
    }
  }
  if (info.system_emulation || out.empty()) {
    say(out.empty() ? "the tracer needs out=FILE" : "the tracer is for QEMU's user mode");
    return 1;
  }
  const int file = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) {
    say("the tracer's out=" + out + ": the file cannot be created: " + std::strerror(errno));
    return 1;
  }
  g_tracer = new Tracer(info.target_name, file, limit, loop_only);
  pthread_atfork([] { g_tracer->before_fork(); }, [] { g_tracer->after_fork(false); },
                 [] { g_tracer->after_fork(true); });
  qemu_plugin_register_vcpu_init_cb(id, [](qemu_plugin_id_t, unsigned vcpu) { g_tracer->thread_began(vcpu); });
  qemu_plugin_register_vcpu_exit_cb(id, [](qemu_plugin_id_t, unsigned vcpu) { g_tracer->thread_ended(vcpu); });
  qemu_plugin_register_vcpu_tb_trans_cb(
      id, [](qemu_plugin_id_t, qemu_plugin_tb* block) { g_tracer->translated(block); });
  qemu_plugin_register_vcpu_syscall_cb(
      id,
      [](qemu_plugin_id_t, unsigned vcpu, std::int64_t number, std::uint64_t a1, std::uint64_t a2,
         std::uint64_t a3, std::uint64_t a4, std::uint64_t a5, std::uint64_t a6, std::uint64_t, std::uint64_t) {
        g_tracer->called(vcpu, number, {a1, a2, a3, a4, a5, a6});
      });
  qemu_plugin_register_vcpu_syscall_ret_cb(
      id, [](qemu_plugin_id_t, unsigned vcpu, std::int64_t number, std::int64_t result) {
        g_tracer->returned(vcpu, number, result);
      });
  qemu_plugin_register_atexit_cb(
      id, [](qemu_plugin_id_t, void*) { g_tracer->ended(); }, nullptr);
  return 0;
}

}  // namespace

}  // namespace terrace::tracer

extern "C" {

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info,
                                                               int argc, char** argv) {
  try {
    return terrace::tracer::install(id, *info, argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "terrace: the tracer cannot start: %s\n", error.what());
    return 1;
  }
}

}  // extern "C"
