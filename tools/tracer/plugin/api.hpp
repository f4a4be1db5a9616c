// SPDX-License-Identifier: Apache-2.0
// Declares the part of QEMU's plug-in interface that the tracer uses: version 1 (QEMU 4.2 and later;
// docs/devel/tcg-plugins of its documentation). Distributions do not package the header, so the declarations are
// ours; names and types are QEMU's.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using qemu_plugin_id_t = std::uint64_t;
using qemu_plugin_meminfo_t = std::uint32_t;

struct qemu_plugin_tb;    // a block of translated instructions
struct qemu_plugin_insn;  // one of them

struct qemu_version {
  int min;
  int cur;
};

struct qemu_system {
  int smp_vcpus;
  int max_vcpus;
};

struct qemu_info_t {
  const char* target_name;  // the instruction set
  qemu_version version;     // of the interface
  bool system_emulation;
  qemu_system system;
};

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };

// Tells the thread that an instruction reads or writes; a vCPU is a thread of the traced program.
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, unsigned vcpu));
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, unsigned vcpu));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, void* data), void* data);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, qemu_plugin_tb*));
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn* instruction,
                                      void (*call)(unsigned vcpu, qemu_plugin_meminfo_t about,
                                                   std::uint64_t address, void* data),
                                      qemu_plugin_cb_flags flags, qemu_plugin_mem_rw direction, void* data);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id,
                                          void (*call)(qemu_plugin_id_t, unsigned vcpu, std::int64_t number,
                                                       std::uint64_t a1, std::uint64_t a2, std::uint64_t a3,
                                                       std::uint64_t a4, std::uint64_t a5, std::uint64_t a6,
                                                       std::uint64_t a7, std::uint64_t a8));
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id,
                                              void (*call)(qemu_plugin_id_t, unsigned vcpu, std::int64_t number,
                                                           std::int64_t result));

std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* block);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb* block, std::size_t index);
std::uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn* instruction);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t about);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t about);

// Path and code range of the executable; known from the first translation on.
const char* qemu_plugin_path_to_binary();
std::uint64_t qemu_plugin_start_code();
std::uint64_t qemu_plugin_end_code();

}  // extern "C"
