// Tests the tables of MPI objects: the reader's messages, the classification of mappings, and the shipped tables
// against sizes that MPICH, Open MPI and UCX were measured to map.
#include "strategy/mpi_objects/mpi_objects.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.hpp"
#include "strategy/files/mpi_objects_file.hpp"

namespace terrace::strategy {
namespace {

constexpr const char* k_table = R"([library]
name = "Sample MPI"
version = "Sample MPI v2.*"
file = ["libsample*.so*"]
checked = "2.1"

[[object]]
name = "locks"
kind = "control"
mapping = "*/sample_*"
inside = "MPI_Win_allocate"
size = 40
created = "window"

[[object]]
name = "windows"
kind = "windows"
mapping = "*/sample_*"
inside = ["MPI_Win_allocate", "MPI_Win_allocate_shared"]
size = "P + total"
header = "P"
slice = "size"
count = 1
created = "window"
touched_by = "program"
bind = true

[[object]]
name = "pools"
kind = "pools"
mapping = ["sysv", "*/pool.*"]
size = "N * 1MiB + 8"
count = "2 * N"
max_message = 8192
created = "init"
touched = "inside"
bind = true

[[object]]
name = "memory"
kind = "alloc_mem"
mapping = "anonymous"
inside = "MPI_Alloc_mem"
size = "size + 16"
created = "alloc_mem"
touched_by = "program"
bind = true

[[object]]
name = "store"
kind = "control"
mapping = "/tmp/store*"
created = "init"
)";

MpiClassifier sample() { return MpiClassifier({parse_mpi_objects(k_table, "sample.toml")}); }

std::string kind_of(const MpiClassifier& classifier, const MpiMapping& mapping) {
  const auto* const object = classifier.classify(mapping);
  return object ? object->name : "";
}

std::string refusal(std::string text, const std::string& before, const std::string& after) {
  const auto at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  text.replace(at, before.size(), after);
  try {
    parse_mpi_objects(text, "t.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    return error.what();
  }
  return "accepted";
}

TEST(MpiObjectsFile, Rows_AreReadWithTheirDefaults) {
  const auto table = parse_mpi_objects(k_table, "sample.toml");
  EXPECT_EQ(table.library, "Sample MPI");
  ASSERT_EQ(table.objects.size(), 5U);
  const auto& windows = table.objects[1];
  EXPECT_EQ(windows.kind, MpiObjectKind::windows);
  EXPECT_EQ(windows.functions, (std::vector<std::string>{"MPI_Win_allocate", "MPI_Win_allocate_shared"}));
  EXPECT_EQ(windows.touched_by, MpiToucher::program);
  EXPECT_EQ(windows.touched, MpiTouch::later);
  EXPECT_TRUE(windows.may_bind);
  const auto& pools = table.objects[2];
  EXPECT_EQ(pools.max_message, 8192U);
  EXPECT_EQ(pools.touched_by, MpiToucher::owner);
  EXPECT_EQ(pools.touched, MpiTouch::inside);
  const MpiRequest request{.ranks = 4};
  EXPECT_EQ(pools.evaluate(pools.count, request), 8U);
  EXPECT_EQ(pools.evaluate(pools.size, request), 4194312U);
  EXPECT_EQ(pools.evaluate(pools.header, request), std::nullopt);
  EXPECT_FALSE(table.objects[4].size);
}

TEST(MpiObjectsFile, WrongEntry_IsRefusedWithItsLine) {
  EXPECT_EQ(refusal(k_table, "kind = \"pools\"", "kind = \"pool\""),
            "t.toml:30: object.kind: 'pool' is not known; did you mean 'pools'?");
  EXPECT_EQ(refusal(k_table, "N * 1MiB + 8", "M * 1MiB"),
            "t.toml:32: object.size: 'M' is no quantity of MPI; use N, P, size, total or rounded");
  EXPECT_EQ(refusal(k_table, "N * 1MiB + 8", "N *"),
            "t.toml:32: object.size: 'N *', column 4: it ends where a number, a name or '(' belongs; write for "
            "example 2*nnz*niter");
  EXPECT_EQ(refusal(k_table, "kind = \"windows\"", "kind = \"control\""),
            "t.toml:26: object.bind: control blocks stay where they are; remove this key");
  EXPECT_EQ(refusal(k_table, "created = \"init\"\n", "created = \"start\"\n"),
            "t.toml:35: object.created: 'start' is not known; there are init, window, alloc_mem, connection, "
            "collective");
  EXPECT_EQ(refusal(k_table, "name = \"windows\"", "name = \"locks\""),
            "t.toml:16: object.name: another object has this name; give each its own");
  EXPECT_EQ(refusal(k_table, "bind = true", "binds = true"),
            "t.toml:26: object.binds: unknown key; did you mean 'bind'?");
  EXPECT_EQ(refusal(k_table, "size = \"P + total\"\n", ""),
            "t.toml:25: object.bind: an object that may be bound needs its size, by which it is told from others; "
            "add size");
  EXPECT_EQ(refusal(k_table, "\"*/pool.*\"", "\"\""),
            "t.toml:31: object.mapping: a text here has from 1 to 1000 characters, in one line");
}

TEST(MpiClassifier, Mapping_IsRecognisedByFileFunctionAndSize) {
  const auto classifier = sample();
  const MpiRequest request{.ranks = 2, .size = 6000};
  const auto kind = [&](std::string_view name, std::uint64_t size, std::string_view function) {
    return kind_of(classifier, {.name = name, .size = size, .function = function, .request = request});
  };
  EXPECT_EQ(kind("/dev/shm/sample_1", 16384, "MPI_Win_allocate"), "windows");
  EXPECT_EQ(kind("/dev/shm/sample_1 (deleted)", 16384, "MPI_Win_allocate_shared"), "windows");
  EXPECT_EQ(kind("/dev/shm/sample_1", 16384, "MPI_Bcast"), "");
  EXPECT_EQ(kind("/dev/shm/sample_1", 4096, "MPI_Win_allocate"), "locks");
  EXPECT_EQ(kind("/SYSV00000000 (deleted)", 2101248, "MPI_Init"), "pools");
  EXPECT_EQ(kind("sysv", 2101248, "MPI_Send"), "pools");
  EXPECT_EQ(kind("sysv", 2097152, "MPI_Send"), "");
  EXPECT_EQ(kind("", 8192, "MPI_Alloc_mem"), "memory");
  EXPECT_EQ(kind("", 8192, "MPI_Init"), "");
  EXPECT_EQ(kind("/tmp/store.7", 12345 * 4096, "MPI_Init"), "store");
}

TEST(MpiClassifier, UnequalRequests_AreAcceptedFromTheOwnSizeOn) {
  const auto classifier = sample();
  MpiMapping mapping{.name = "/dev/shm/sample_1", .size = 40960, .function = "MPI_Win_allocate"};
  mapping.request = {.ranks = 4, .size = 100};  // another rank has requested more
  EXPECT_EQ(kind_of(classifier, mapping), "windows");
  mapping.request.size = 50000;
  EXPECT_EQ(kind_of(classifier, mapping), "");
  mapping.request.total = 36864;
  EXPECT_EQ(kind_of(classifier, mapping), "windows");
  mapping.request.total = 36865;  // the sum is known, and the formula exact
  EXPECT_EQ(kind_of(classifier, mapping), "");
}

TEST(MpiObjectTable, Versions_AreComparedWithSingleBlanks) {
  const auto table = parse_mpi_objects(k_table, "sample.toml");
  EXPECT_TRUE(table.describes("/opt/lib/libsample.so.12", "Sample  MPI\tv2.0.1\nmore"));
  EXPECT_FALSE(table.describes("/opt/lib/libsample.so.12", "Sample MPI v12.0"));
  EXPECT_FALSE(table.describes("/opt/libsample/libmpi.so", "Sample MPI v2.0.1"));
}

TEST(MpiObjectTable, Blob_GivesTheSameTable) {
  for (const auto& table : shipped_mpi_objects()) {
    BlobWriter out, again;
    table.to_blob(out);
    BlobReader in(out.bytes());
    MpiObjectTable::from_blob(in).to_blob(again);
    EXPECT_TRUE(in.at_end());
    EXPECT_TRUE(std::ranges::equal(out.bytes(), again.bytes())) << table.library;
    BlobReader cut(out.bytes().first(out.bytes().size() - 1));
    EXPECT_THROW(MpiObjectTable::from_blob(cut), Error);
  }
}

// Mappings that /proc/self/smaps listed on Linux 6.18 with pages of 4 KiB.
struct Measured {
  const char* version;
  const char* name;
  std::uint64_t size;
  const char* function;
  std::uint32_t ranks;
  std::uint64_t requested;
  MpiObjectKind kind;
};

std::vector<MpiObjectTable> tables_of(std::string_view version) {
  std::vector<MpiObjectTable> tables;
  const std::string_view ucx = version.ends_with("4.0.2") ? "1.13.1" : "1.20.1";
  for (auto& table : shipped_mpi_objects())
    if (table.describes("libmpi.so.40", version) ||
        (version.starts_with("MPICH") && table.describes("libucp.so.0", ucx)))
      tables.push_back(std::move(table));
  return tables;
}

TEST(ShippedMpiObjects, MeasuredMappings_HaveTheirKinds) {
  using enum MpiObjectKind;
  constexpr const char *k_mpich4 = "MPICH Version:\t4.0.2", *k_mpich5 = "MPICH Version:      5.0.2",
                       *k_openmpi4 = "Open MPI v4.1.4, package: Debian", *k_openmpi5 = "Open MPI v5.0.11, package";
  const Measured all[] = {
      {k_mpich4, "/dev/shm/mpich_shar_tmp3sZ6HO (deleted)", 4096, "MPI_Init", 2, 0, control},
      {k_mpich4, "/dev/shm/mpich_shar_tmphz1kHs", 6291456, "MPI_Win_allocate", 2, 3145728, windows},
      {k_mpich4, "/dev/shm/ucx_shm_posix_7ae2d92f", 4296704, "MPI_Init", 8, 0, pools},
      {k_mpich4, "/SYSV00000000", 4296704, "MPI_Win_create", 8, 100000, pools},
      {k_mpich4, "/SYSV00000000", 12288, "MPI_Init", 8, 0, fifos},
      {k_mpich4, "", 5246976, "MPI_Alloc_mem", 2, 5242880, alloc_mem},
      {k_mpich5, "/dev/shm/mpich_shm_77e7706b_0", 2121728, "MPI_Init", 2, 0, cells},
      {k_mpich5, "/dev/shm/mpich_shm_7abb7399_0", 4235264, "MPI_Init", 4, 0, cells},
      {k_mpich5, "/dev/shm/mpich_shm_7abb7399_0", 8466432, "MPI_Init", 8, 0, cells},
      {k_mpich5, "/dev/shm/ucx_shm_posix_5df8700f", 36864, "MPI_Init", 4, 0, fifos},
      {k_mpich5, "/dev/shm/mpich_shar_tmpUU6Hjn", 4096, "MPI_Win_allocate", 2, 4096, control},
      {k_mpich5, "/dev/shm/mpich_shar_tmpMXoc5Q", 8192, "MPI_Win_allocate", 2, 4096, windows},
      {k_mpich5, "/dev/shm/mpich_shar_tmpMXoc5Q", 425984, "MPI_Win_allocate_shared", 8, 50000, windows},
      {k_mpich5, "/dev/shm/mpich_shar_tmpySgiLi", 32768, "MPI_Win_allocate", 2, 100000, copy_buffers},
      {k_mpich5, "/dev/shm/mpich_shar_tmpePsimt", 131072, "MPI_Allreduce", 4, 0, copy_buffers},
      {k_mpich5, "/dev/shm/mpich_shar_tmpePsimt", 4096, "MPI_Bcast", 4, 0, control},
      {k_openmpi4, "/dev/shm/vader_segment.vm.0.6bf00001.1", 4198400, "MPI_Init", 2, 0, eager},
      {k_openmpi4, "/dev/shm/osc_rdma.vm.6bf00001.3", 16384, "MPI_Win_allocate", 2, 64, windows},
      {k_openmpi4, "/dev/shm/osc_rdma.vm.6bf00001.3", 3293184, "MPI_Win_allocate", 32, 100000, windows},
      {k_openmpi4, "/dev/shm/osc_rdma.vm.6bf00001.3", 12288, "MPI_Win_create_dynamic", 8, 0, control},
      {k_openmpi4, "/dev/shm/osc_sm.vm.6bf00001.0.3", 806912, "MPI_Win_allocate_shared", 8, 100000, windows},
      {k_openmpi4, "/dev/shm/osc_sm.vm.6bf00001.0.3", 434176, "MPI_Win_allocate_shared", 8, 50000, windows},
      {k_openmpi4, "/tmp/ompi.vm.0/pid.1/pmix_dstor_ds21_1/smseg-1-0", 4194304, "MPI_Init", 2, 0, control},
      {k_openmpi5, "/dev/shm/sm_segment.vm.0.b2a70001.1", 16777216, "MPI_Init", 2, 0, eager},
      {k_openmpi5, "/dev/shm/osc_sm.vm.b2a70001.0.3", 806912, "MPI_Win_allocate", 8, 100000, windows},
      {k_openmpi5, "/dev/shm/osc_sm.vm.b2a70001.0.3", 110592, "MPI_Win_allocate_shared", 2, 50000, windows},
      {k_openmpi5, "/dev/shm/osc_rdma.vm.b2a70001.3.1835", 12288, "MPI_Win_create_dynamic", 8, 0, control},
      {k_openmpi5, "/tmp/ompi.1832/hwloc.sm", 12288, "MPI_Init", 2, 0, control},
  };
  for (const auto& one : all) {
    const MpiClassifier classifier(tables_of(one.version));
    const MpiMapping mapping{.name = one.name,
                             .size = one.size,
                             .function = one.function,
                             .request = {.ranks = one.ranks, .size = one.requested}};
    const auto* const object = classifier.classify(mapping);
    ASSERT_NE(object, nullptr) << one.version << ": " << one.name << " " << one.size;
    EXPECT_EQ(name_of(object->kind), name_of(one.kind)) << one.version << ": " << one.name << " " << one.size;
    EXPECT_EQ(object->may_bind, one.kind != control) << object->name;
  }
}

TEST(ShippedMpiObjects, Libraries_HaveOneTableForAVersion) {
  for (const auto* const version :
       {"MPICH Version: 4.3.1", "MPICH Version: 5.0.2", "Open MPI v4.1.4, x", "Open MPI v5.0.11, x"})
    EXPECT_EQ(std::ranges::count_if(shipped_mpi_objects(),
                                    [&](const auto& table) { return table.describes("libmpi.so.12", version); }),
              1)
        << version;
  for (const auto* const version : {"1.13.1", "1.15.0", "1.16.0", "1.20.1"})
    EXPECT_EQ(std::ranges::count_if(shipped_mpi_objects(),
                                    [&](const auto& table) { return table.describes("libucp.so.0", version); }),
              1)
        << version;
}

}  // namespace
}  // namespace terrace::strategy
