// Tests the text and JSON of a machine: every place, initiator and path appears, and JSON has the numbers.
#include "machine/describe/describe.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "example.hpp"

namespace terrace::machine {
namespace {

Measurement example_measurement() {
  Measurement measured{"2026-01-02T03:04:05Z", "a processor", 5, {"a note"}, {}, {}, {}, {}};
  measured.bandwidths.push_back({0, 1, 8, "triad", {101.5e9, 0.25e9, 101.75e9}});
  measured.latencies.push_back({1, 4, "huge", {101e-9, 2e-9, 100e-9}});
  measured.copiers.push_back({"numa_swap", "move", "small", {512u << 10}, {40e-6, 1.5e-6, 39e-6}});
  return measured;
}

TEST(Describe, Text_ShowsTreeAndPaths) {
  auto parts = example_parts();
  parts.fingerprint = "f00d";
  parts.initiators[1].tlb = {1536, 12, {4096}, {2.5e-9}};
  set_geometry(parts, 3);
  const auto measured = example_measurement();
  const auto text = describe(Machine(parts), &measured);
  for (const char* line : {
           "Machine example\n",
           "|- hbm0  hbm, 16GiB in pages of 4KiB, domain socket0\n",
           "|- hbm1  hbm, 4GiB in pages of 4KiB, domain socket1, 2 devices x 8 banks x 16 subarrays x 1024 rows",
           " x 1024 rows x 131072 columns\n",
           "`- ddr1  ddr, 64GiB in pages of 4KiB, domain socket1, NUMA node 1\n",
           "TLBs\n  initiator  entries  ways  pages   walk\n  cores1        1536    12   4KiB  2.5ns\n\n",
           "  from    to        read     write  latency\n",
           "  cores0  hbm0   400GB/s   200GB/s    120ns\n",
           "  cores1  cxl0  12.5GB/s  6.25GB/s    380ns\n",
           "Measured 2026-01-02T03:04:05Z on a processor (fingerprint f00d), the best of 5 rounds or more\n",
           "  cores0  ddr0  triad         8  102GB/s  102GB/s  250MB/s\n",
           "  numa_swap  move  small  512KiB  39us    40us   1.5us\n",
           "  note: a note\n",
       }) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\nin\n" << text;
  }
  EXPECT_EQ(text.find(" \n"), std::string::npos) << "no line ends in blanks";
}

TEST(Describe, Text_ShowsGpus) {
  auto parts = example_parts();
  EXPECT_EQ(describe(Machine(parts)).find("GPU"), std::string::npos);
  auto& gpu = parts.gpus.emplace_back();
  gpu.initiator = 1;
  gpu.hertz = 1.4e9;
  gpu.processors = 15;
  gpu.warps = 48;
  gpu.page_bytes = 4096;
  gpu.l1.bytes = 16U << 10;
  gpu.l2.bytes = 128U << 10;
  gpu.memories.resize(2);
  gpu.memories[0].place = 3;
  gpu.memories[0].channels = 8;
  gpu.memories[0].bytes_per_second = 200e9;
  gpu.memories[1].place = 4;
  gpu.memories[1].channels = 4;
  gpu.memories[1].bytes_per_second = 80e9;
  gpu.memories[1].link_bytes_per_second = 12e9;
  gpu.memories[1].link_latency = 700;
  const auto text = describe(Machine(parts));
  const auto at = text.find(
      "GPUs in virtual time\n"
      "  GPU     SMs   clock  warps of an SM     L1  L2 slice  page\n"
      "  cores1   15  1.4GHz              48  16KiB    128KiB  4KiB\n"
      "  GPU     memory  channels  bandwidth    link  link's latency\n"
      "  cores1  hbm1           8    200GB/s       -               -\n"
      "  cores1  ddr1           4     80GB/s  12GB/s           500ns\n\n");
  EXPECT_NE(at, std::string::npos) << text;
}

TEST(Describe, Numbers_HaveNoTrailingZeros) {
  auto parts = example_parts();
  parts.initiators[0].mlp = 12.25;
  parts.initiators[0].prefetch_mlp = 30;
  parts.initiators[1].mlp = 1e300;
  const auto text = describe(Machine(parts));
  EXPECT_NE(text.find("12.2  "), std::string::npos) << text;  // ties round to even
  EXPECT_NE(text.find("  30\n"), std::string::npos) << text;
}

TEST(DescribeJson, Numbers_AreInPlainUnits) {
  auto parts = example_parts();
  parts.initiators[0].library[static_cast<std::size_t>(LibraryFunction::sincosf)] = {4e-9};
  parts.initiators[0].tlb = {1536, 12, {4096}, {2.5e-9}};
  parts.fingerprint = "f00d";
  set_geometry(parts, 3);
  const auto measured = example_measurement();
  const auto json = nlohmann::json::parse(describe_json(Machine(parts), &measured));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["places"].size(), 5u);
  EXPECT_EQ(json["places"][0]["capacity"], 16ull << 30);
  EXPECT_TRUE(json["places"][0]["numa_node"].is_null());
  EXPECT_EQ(json["places"][4]["numa_node"], 1);
  EXPECT_EQ(
      json["places"][3]["geometry"],
      (nlohmann::json{{"devices", 2}, {"banks", 8}, {"subarrays", 16}, {"rows", 1024}, {"columns", 131072}}));
  EXPECT_TRUE(json["places"][4]["geometry"].is_null());
  EXPECT_EQ(json["paths"].size(), 10u);
  EXPECT_EQ(json["paths"][0]["read"], 400e9);
  EXPECT_EQ(json["domains"][0]["fastest_first"], (std::vector<std::string>{"hbm0", "ddr0", "cxl0"}));
  EXPECT_EQ(json["domains"][0]["home"], "cxl0");
  EXPECT_EQ(json["initiators"][0]["caches"][1]["shared"], true);
  EXPECT_EQ(json["initiators"][0]["tlb"],
            (nlohmann::json{{"entries", 1536}, {"ways", 12}, {"page", 4096}, {"walk", 2.5e-9}}));
  EXPECT_TRUE(json["initiators"][1]["tlb"].is_null());
  EXPECT_EQ(json["initiators"][0]["library"].size(), k_library_functions);
  EXPECT_EQ(json["initiators"][0]["library"]["sincosf"], 4e-9);
  EXPECT_EQ(json["initiators"][1]["library"]["pow"],
            k_library[static_cast<std::size_t>(LibraryFunction::pow)].cycles / 2.4e9);
  EXPECT_EQ(json["measured"]["bandwidths"][0]["median"], 101.5e9);
  EXPECT_EQ(json["measured"]["copiers"][0]["size"], 512u << 10);
  EXPECT_EQ(json["measured"]["copiers"][0]["median"], 40e-6);
  EXPECT_TRUE(nlohmann::json::parse(describe_json(Machine(parts)))["measured"].is_null());
}

TEST(DescribeJson, InvalidUtf8Description_IsReplaced) {
  auto parts = example_parts();
  parts.description = "\xff\xfe\x01";
  const auto json = nlohmann::json::parse(describe_json(Machine(parts)));
  EXPECT_EQ(json["name"], "example");
}

// Collapses the blanks between columns.
std::string squeezed(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' || out.empty() || out.back() != ' ') out += c;
  return out;
}

TEST(DescribeOrderings, Text_ShowsRanksTiesAndReasons) {
  auto parts = example_parts();
  parts.paths[0].latency_source = Source::firmware;
  parts.orderings = {{"scratch", InitiatorId{0}, {{{"cxl0"}, false}, {{"hbm0", "ddr1"}, true}}}};
  const auto text = squeezed(describe_orderings(Machine(parts)));
  for (const char* line : {
           "Orderings of example\n",
           "cores0 (domain socket0)\n",
           " bandwidth 1 hbm0 70.3GB/s of 400GB/s",
           " latency 1 ddr0 100ns machine file\n",
           " 2 hbm0 120ns firmware (HMAT by hwloc)\n",
           " capacity 1 cxl0 128GiB size of the place\n",
           " 2 ddr0 = ddr1 64GiB size of the place\n",
           " normal 1 ddr0 100ns machine file; own ordinary memory\n",
           " scratch 1 cxl0 - stated in the machine file\n",
           " 2 hbm0 = ddr1 - stated in the machine file\n",
           " 3 ddr0 100ns machine file; own ordinary memory; not named: as by normal\n",
       }) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\nin\n" << text;
  }
  EXPECT_EQ(text.find(" \n"), std::string::npos) << "no line ends in blanks";
}

TEST(DescribeOrderings, UnequalPlacesOfATie_HaveOwnLines) {
  auto parts = example_parts();
  parts.paths[0].latency = {102e-9};
  set_geometry(parts, 2);
  std::erase_if(parts.paths, [](const Path& path) { return path.initiator == 0 && path.place == 3; });
  const auto text = squeezed(describe_orderings(Machine(parts)));
  EXPECT_NE(text.find(" latency 1 ddr0 100ns machine file\n"
                      " = hbm0 102ns machine file\n"
                      " 2 ddr1 180ns machine file\n"
                      " 3 cxl0 300ns machine file; computes: behind the others\n"
                      " 4 hbm1 - no path is known: behind all others\n"),
            std::string::npos)
      << text;
}

TEST(DescribeOrderings, Json_HasSchema) {
  auto parts = example_parts();
  parts.orderings = {{"scratch", InitiatorId{0}, {{{"cxl0"}, false}, {{"hbm0", "ddr1"}, true}}}};
  const auto json = nlohmann::json::parse(orderings_json(Machine(parts)));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["machine"], "example");
  EXPECT_EQ(json["tie"], 0.05);
  ASSERT_EQ(json["orderings"].size(), 10u);  // two initiators, five intents
  const auto& latency = json["orderings"][1];
  EXPECT_EQ(latency["initiator"], "cores0");
  EXPECT_EQ(latency["domain"], "socket0");
  EXPECT_EQ(latency["intent"], "latency");
  EXPECT_EQ(latency["stated"], false);
  EXPECT_EQ(latency["ranks"][0][0]["place"], "ddr0");
  EXPECT_EQ(latency["ranks"][0][0]["value"], 100e-9);
  EXPECT_EQ(latency["ranks"][0][0]["source"], "file");
  EXPECT_EQ(latency["ranks"][0][0]["numa_node"], 0);
  const auto& scratch = json["orderings"][4];
  EXPECT_EQ(scratch["stated"], true);
  EXPECT_EQ(scratch["ranks"][1].size(), 2u);
  EXPECT_EQ(scratch["ranks"][0][0]["basis"], "stated");
  EXPECT_TRUE(scratch["ranks"][0][0]["value"].is_null());
}

}  // namespace
}  // namespace terrace::machine
