// SPDX-License-Identifier: Apache-2.0
// Writes and reads traces of warps as files (*.warps), for `terrace lab gpu` and the GPU experiments. A trace of
// gpu_sim/simt is stored once; each machine and policy is a replay of it.
//
// Layout, little-endian: "TERWARPS", u32 version; then blocks. A block: u32 kind (1 allocation, 2 kernel, 3 CTAs,
// 4 end), u32 size as stored, u32 size, u32 CRC-32C of these and of the stored bytes; blocks of CTAs are zstd
// frames. Numbers in blocks are LEB128, names are printable ASCII. Every complete file ends with a block of kind
// 4, which holds the number of CTAs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_sim/trace/warp_trace.hpp"

namespace terrace::gpu_sim {

// Constants of the format.
inline constexpr std::string_view k_warps_magic = "TERWARPS";
inline constexpr std::uint32_t k_warps_version = 1;
inline constexpr std::uint32_t k_allocation_block = 1;
inline constexpr std::uint32_t k_kernel_block = 2;
inline constexpr std::uint32_t k_ctas_block = 3;
inline constexpr std::uint32_t k_end_block = 4;
inline constexpr std::uint32_t k_max_block_bytes = 64U << 20;  // larger ones are rejected

class WarpFileWriter final : public TraceSink {
 public:
  // Writes to a temporary file beside `path`, which finish() renames; a device is written directly. Throws
  // Error{failed} if it cannot be written, here and later, and Error{invalid} if the existing file is no trace of
  // warps.
  explicit WarpFileWriter(const std::filesystem::path& path);
  ~WarpFileWriter() override;
  WarpFileWriter(const WarpFileWriter&) = delete;
  WarpFileWriter& operator=(const WarpFileWriter&) = delete;

  void add(const Allocation& allocation) override;
  void begin(const Kernel& kernel) override;
  void add(const Cta& cta) override;
  // Writes the end block and renames the file. Without it no file is left.
  void finish();

 private:
  void flush_ctas();
  void write_block(std::uint32_t kind, const std::vector<std::byte>& stored, std::size_t size);
  void write(const void* bytes, std::size_t size);

  struct Compressor;
  std::filesystem::path path_;       // as given
  std::filesystem::path target_;     // with links resolved
  std::filesystem::path temporary_;  // the temporary file; equals target_ for a device
  std::FILE* file_ = nullptr;
  std::unique_ptr<Compressor> compressor_;
  std::vector<std::byte> ctas_;
  std::uint64_t written_ctas_ = 0;
};

class WarpFileReader final : public TraceSource {
 public:
  // Throws Error{corrupt} with the file's name and the offset of the violation, here and later; Error{not_found}
  // if there is no such file.
  explicit WarpFileReader(const std::filesystem::path& path);
  ~WarpFileReader() override;
  WarpFileReader(const WarpFileReader&) = delete;
  WarpFileReader& operator=(const WarpFileReader&) = delete;

  bool next(TraceEvent& event) override;
  bool next_cta(Cta& cta) override;

 private:
  struct Block {
    std::uint32_t kind = 0;
    std::uint32_t size = 0;
  };
  Block read_block();
  void decompress(std::uint32_t size);
  void read_cta(Cta& cta);
  [[noreturn]] void fail(const std::string& what) const;

  struct State;
  std::filesystem::path path_;
  std::unique_ptr<State> state_;
};

}  // namespace terrace::gpu_sim
