// SPDX-License-Identifier: Apache-2.0
// Writes traces of warps (*.warps) block by block, through a temporary file. `terrace lab gpu` and the GPU
// experiments store the traces of GPU programs so. See warp_file.hpp.
#include <unistd.h>
#include <zstd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/blob.hpp"
#include "core/error.hpp"
#include "gpu_sim/trace/warp_file.hpp"
#include "sim/recording/recording_codec.hpp"

namespace terrace::gpu_sim {

namespace fs = std::filesystem;

namespace {

constexpr int k_level = 3;                       // zstd's default
constexpr std::size_t k_block_bytes = 4U << 20;  // of CTAs, before compression

// Encodes the steps and line parts of one warp; WarpFileWriter calls it for each warp of a CTA.
void put_warp(std::vector<std::byte>& out, const Cta& cta, const WarpSteps& warp) {
  sim::put_number(out, warp.steps);
  sim::put_number(out, warp.after);
  auto line = warp.first_line;
  std::uint64_t last = 0;
  for (auto i = warp.first_step; i < warp.first_step + warp.steps; ++i) {
    const auto& step = cta.steps[i];
    sim::put_number(out, std::uint64_t{step.before} * k_step_kinds + static_cast<std::uint8_t>(step.kind));
    if (step.kind == StepKind::use) sim::put_number(out, step.back);
    if (!is_access(step.kind)) continue;
    sim::put_byte(out, step.lanes);
    sim::put_byte(out, step.lines);
    for (std::uint32_t k = 0; k < step.lines; ++k, ++line) {
      const auto part = cta.lines[line];
      sim::put_number(out, (sim::zigzag(static_cast<std::int64_t>(part.line() - last)) << 4) | part.sectors());
      last = part.line();
    }
  }
}

// Returns whether an existing file may be replaced.
bool is_empty_or_trace(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::array<char, k_warps_magic.size()> magic{};
  in.read(magic.data(), magic.size());
  return in.gcount() == 0 ||
         std::string_view(magic.data(), static_cast<std::size_t>(in.gcount())) == k_warps_magic;
}

}  // namespace

struct WarpFileWriter::Compressor {
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  std::vector<std::byte> out;
  Compressor() = default;
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  ~Compressor() { ZSTD_freeCCtx(zstd); }
};

WarpFileWriter::WarpFileWriter(const std::filesystem::path& path)
    : path_(path), target_(path), compressor_(std::make_unique<Compressor>()) {
  std::error_code problem;
  const auto status = fs::status(path, problem);
  bool is_replaced = !fs::exists(status);
  if (fs::is_regular_file(status)) {
    if (!is_empty_or_trace(path))
      throw Error(Code::invalid,
                  path_.string() +
                      ": this file exists and is not a trace of warps, so it is not overwritten; name another");
    // A symbolic link stays one. A file without a name, such as /proc/self/fd/5 may be, is written directly.
    const auto found = fs::canonical(path, problem);
    is_replaced = !problem;
    if (is_replaced) target_ = found;
  }
  temporary_ = target_;
  if (is_replaced) temporary_ += "." + std::to_string(::getpid()) + ".part";
  file_ = std::fopen(temporary_.c_str(), "wbe");
  if (file_ == nullptr) throw Error(Code::failed, path_.string() + ": " + std::strerror(errno));
  write(k_warps_magic.data(), k_warps_magic.size());
  write(&k_warps_version, sizeof k_warps_version);
}

WarpFileWriter::~WarpFileWriter() {
  if (file_ != nullptr) static_cast<void>(std::fclose(file_));
  std::error_code ignored;
  if (temporary_ != target_) fs::remove(temporary_, ignored);
}

void WarpFileWriter::add(const Allocation& allocation) {
  flush_ctas();
  std::vector<std::byte> out;
  sim::put_text(out, allocation.name);
  sim::put_number(out, allocation.address);
  sim::put_number(out, allocation.bytes);
  write_block(k_allocation_block, out, out.size());
}

void WarpFileWriter::begin(const Kernel& kernel) {
  flush_ctas();
  std::vector<std::byte> out;
  sim::put_text(out, kernel.name);
  for (const auto number : {kernel.ctas, kernel.threads, kernel.registers, kernel.shared_bytes})
    sim::put_number(out, number);
  write_block(k_kernel_block, out, out.size());
}

void WarpFileWriter::add(const Cta& cta) {
  sim::put_number(ctas_, cta.warps.size());
  for (const auto& warp : cta.warps) put_warp(ctas_, cta, warp);
  ++written_ctas_;
  if (ctas_.size() >= k_block_bytes) flush_ctas();
}

void WarpFileWriter::finish() {
  flush_ctas();
  std::vector<std::byte> out;
  sim::put_number(out, written_ctas_);
  write_block(k_end_block, out, out.size());
  auto* file = std::exchange(file_, nullptr);
  if (std::fclose(file) != 0) throw Error(Code::failed, path_.string() + ": " + std::strerror(errno));
  if (temporary_ == target_) return;
  std::error_code problem;
  fs::rename(temporary_, target_, problem);
  if (problem) throw Error(Code::failed, path_.string() + ": " + problem.message());
  temporary_ = target_;
}

void WarpFileWriter::flush_ctas() {
  if (ctas_.empty()) return;
  if (ctas_.size() > k_max_block_bytes)
    throw Error(Code::failed, path_.string() + ": a CTA of " + std::to_string(ctas_.size()) +
                                  " bytes is too large for a trace of warps: launch smaller CTAs");
  auto& out = compressor_->out;
  out.resize(ZSTD_compressBound(ctas_.size()));
  const auto size =
      ZSTD_compressCCtx(compressor_->zstd, out.data(), out.size(), ctas_.data(), ctas_.size(), k_level);
  if (ZSTD_isError(size) != 0) throw Error(Code::failed, path_.string() + ": " + ZSTD_getErrorName(size));
  out.resize(size);
  write_block(k_ctas_block, out, ctas_.size());
  ctas_.clear();
}

void WarpFileWriter::write_block(std::uint32_t kind, const std::vector<std::byte>& stored, std::size_t size) {
  const std::array<std::uint32_t, 3> head{kind, static_cast<std::uint32_t>(stored.size()),
                                          static_cast<std::uint32_t>(size)};
  const auto sum = crc32c(stored, crc32c(std::as_bytes(std::span(head))));
  write(head.data(), sizeof head);
  write(&sum, sizeof sum);
  write(stored.data(), stored.size());
}

void WarpFileWriter::write(const void* bytes, std::size_t size) {
  if (std::fwrite(bytes, 1, size, file_) != size)
    throw Error(Code::failed, path_.string() + ": " + std::strerror(errno));
}

}  // namespace terrace::gpu_sim
