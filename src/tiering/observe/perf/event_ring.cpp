// SPDX-License-Identifier: Apache-2.0
// Opens perf events and maps their rings, for the memory sampler and the function probes. See event_ring.hpp.
#include "observe/perf/event_ring.hpp"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/errno_scope.hpp"
#include "observe/perf/perf_records.hpp"

namespace terrace::observe {

namespace {

// Data pages of a ring: some hundred samples. Fewer where the limit of locked memory is lower.
constexpr std::size_t k_max_ring_pages = 16;
// Bytes of the AUX buffer: some thousand accesses of Arm's SPE.
constexpr std::size_t k_max_aux = 1U << 20U, k_min_aux = 1U << 16U;

std::size_t page_of_system() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// A raw system call: the program's mmap may be interposed.
std::span<std::byte> map_event(int file, std::size_t size, std::size_t offset) noexcept {
  const auto at =
      syscall(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<long>(offset));
  if (at == -1) return {};
  return {reinterpret_cast<std::byte*>(at), size};  // NOLINT(performance-no-int-to-ptr)
}

class EventFile {
 public:
  explicit EventFile(int file) noexcept : file_(file) {}
  ~EventFile() {
    const ErrnoScope errno_scope;
    if (file_ >= 0) syscall(SYS_close, file_);
  }
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  EventFile(EventFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  [[nodiscard]] int fd() const noexcept { return file_; }

 private:
  int file_;
};

// Returns the arguments of perf_event_open(2) for an event.
perf_event_attr event_attributes(const PerfEvent& event, std::uint64_t period) noexcept {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = event.type;
  wanted.config = event.config;
  wanted.config1 = event.config1;
  wanted.config2 = event.config2;
  wanted.sample_period = period;
  wanted.bp_type = event.breakpoint;
  wanted.sample_type = event.sample_type;
  wanted.disabled = 1;  // until its ring is mapped
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  wanted.sample_id_all = 1;
  wanted.use_clockid = 1;
  wanted.clockid = CLOCK_MONOTONIC;
  // The kernel writes an AUX record at this fill level; by default not before the buffer is half full.
  if (event.format == AccessFormat::spe) wanted.aux_watermark = k_min_aux / 2;
  return wanted;
}

// Opens the event with what the kernel supports: falls back to less precise instruction addresses, and, for AMD
// events of older kernels, to events that include the kernel.
EventFile open_event(const PerfEvent& event, std::uint64_t period, int tid, int processor, int leader,
                     bool& includes_kernel) noexcept {
  for (const bool with_kernel : {false, true}) {
    for (unsigned precise = event.precise;; --precise) {
      auto wanted = event_attributes(event, period);
      wanted.precise_ip = precise & 3U;
      wanted.exclude_kernel = with_kernel ? 0 : 1;
      if (with_kernel) wanted.exclude_hv = 0;
      const auto file = syscall(SYS_perf_event_open, &wanted, tid, processor, leader, PERF_FLAG_FD_CLOEXEC);
      includes_kernel = with_kernel;
      if (file >= 0) return EventFile(static_cast<int>(file));
      // Sampled loads require precise_ip of at least 1.
      if (precise <= 1 || (errno != EINVAL && errno != EOPNOTSUPP)) break;
    }
    if (errno != EINVAL) break;
  }
  return EventFile(-1);
}

}  // namespace

std::optional<EventRing> EventRing::open(const PerfEvent& event, std::uint64_t period, int tid, int processor,
                                         int& error, const char*& call) noexcept {
  const auto refused = [&](const char* what) {
    error = errno;
    call = what;
    return std::nullopt;
  };
  if ((event.sample_type & ~k_readable_fields) != 0) {
    errno = EINVAL;
    return refused("a sample field that cannot be decoded");
  }
  EventRing opened(tid, processor, period);
  const auto page = page_of_system();
  std::optional<EventFile> leader;
  int leader_fd = -1;
  if (event.has_leader) {
    auto wanted = event_attributes(event, 0);
    wanted.config = event.leader_config;
    wanted.config1 = wanted.config2 = 0;
    wanted.sample_type = 0;
    const auto file = syscall(SYS_perf_event_open, &wanted, tid, processor, -1, PERF_FLAG_FD_CLOEXEC);
    leader.emplace(static_cast<int>(file));
    leader_fd = leader->fd();
    if (leader_fd < 0) return refused("perf_event_open of the leader");
    // The mapping keeps the leader alive without its descriptor.
    const auto mapped = map_event(leader_fd, page, 0);
    if (mapped.empty()) return refused("mmap of the leader");
    opened.mappings_[opened.mapped_++] = mapped;
  }
  const EventFile file = open_event(event, period, tid, processor, leader_fd, opened.includes_kernel_);
  if (file.fd() < 0) return refused("perf_event_open");
  std::span<std::byte> ring;
  for (auto pages = k_max_ring_pages; pages > 0 && ring.empty(); pages /= 2)
    ring = map_event(file.fd(), (1 + pages) * page, 0);
  if (ring.empty()) return refused("mmap of the ring (perf_event_mlock_kb, RLIMIT_MEMLOCK)");
  opened.mappings_[opened.mapped_++] = ring;
  auto* const head = reinterpret_cast<perf_event_mmap_page*>(ring.data());
  std::span<std::byte> aux;
  if (event.format == AccessFormat::spe) {
    for (auto size = k_max_aux; size >= k_min_aux && aux.empty(); size /= 2) {
      head->aux_offset = ring.size();
      head->aux_size = size;
      aux = map_event(file.fd(), size, ring.size());
    }
    if (aux.empty()) return refused("mmap of the buffer (perf_event_mlock_kb, RLIMIT_MEMLOCK)");
    opened.mappings_[opened.mapped_++] = aux;
  }
  opened.ring_ = PerfRing(head, ring.subspan(page), aux);
  if (ioctl(leader ? leader_fd : file.fd(), PERF_EVENT_IOC_ENABLE, 0) != 0 ||
      ioctl(file.fd(), PERF_EVENT_IOC_ENABLE, 0) != 0)
    return refused("ioctl(PERF_EVENT_IOC_ENABLE)");
  return opened;
}

void EventRing::close() noexcept {
  // In reverse order: the AUX buffer belongs to the ring.
  for (auto i = mappings_.size(); i-- > 0;)
    if (i < mapped_) syscall(SYS_munmap, mappings_[i].data(), mappings_[i].size());
  mapped_ = 0;
}

EventRing::~EventRing() { close(); }

EventRing::EventRing(EventRing&& other) noexcept
    : packets(other.packets),
      tid_(other.tid_),
      processor_(other.processor_),
      period_(other.period_),
      includes_kernel_(other.includes_kernel_),
      ring_(std::exchange(other.ring_, PerfRing())),
      last_(other.last_),
      mappings_(other.mappings_),
      mapped_(std::exchange(other.mapped_, 0)) {}

EventRing& EventRing::operator=(EventRing&& other) noexcept {
  if (this == &other) return *this;
  close();
  packets = other.packets;
  tid_ = other.tid_;
  processor_ = other.processor_;
  period_ = other.period_;
  includes_kernel_ = other.includes_kernel_;
  ring_ = std::exchange(other.ring_, PerfRing());
  last_ = other.last_;
  mappings_ = other.mappings_;
  mapped_ = std::exchange(other.mapped_, 0);
  return *this;
}

double EventRing::counting_share() noexcept {
  const auto now = ring_.time();
  const auto enabled = now.enabled - last_.enabled, running = now.running - last_.running;
  last_ = now;
  return enabled == 0 || running == 0 || running > enabled
             ? 1.0
             : static_cast<double>(running) / static_cast<double>(enabled);
}

}  // namespace terrace::observe
