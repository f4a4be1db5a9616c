// SPDX-License-Identifier: Apache-2.0
// Tests the part of a session that concerns MPI's objects.
#include "runtime/session/mpi_objects_spec.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "strategy/files/mpi_objects_file.hpp"

namespace terrace::runtime {
namespace {

using strategy::MpiObjectKind;

MpiObjectsSpec sample() {
  MpiObjectsSpec spec;
  spec.tables = strategy::shipped_mpi_objects();
  spec.places = {{"hbm1", "hbm", 3, 5}, {"ddr0", "ddr", 0, 0}, {"hbm0", "hbm", 2, 4}};
  spec.placed[static_cast<std::size_t>(MpiObjectKind::cells)] = 2;
  return spec;
}

MpiObjectsSpec decoded(const MpiObjectsSpec& spec) {
  BlobWriter out;
  spec.to_blob(out);
  BlobReader in(out.bytes());
  return MpiObjectsSpec::from_blob(in);
}

TEST(MpiObjectsSpec, Blob_IsDecodedAsEncoded) {
  const auto spec = decoded(sample());
  ASSERT_EQ(spec.tables.size(), sample().tables.size());
  EXPECT_EQ(spec.tables.front().library, sample().tables.front().library);
  ASSERT_EQ(spec.places.size(), 3u);
  EXPECT_EQ(spec.places[2].name, "hbm0");
  EXPECT_EQ(spec.places[2].kind, "hbm");
  EXPECT_EQ(spec.places[2].id, 2);
  EXPECT_EQ(spec.places[2].node, 4);
  EXPECT_EQ(spec.placed, sample().placed);
  EXPECT_TRUE(spec.is_observed());
  EXPECT_TRUE(spec.is_wanted());
  EXPECT_FALSE(decoded({}).is_observed());
  EXPECT_FALSE(decoded({}).is_wanted());
}

TEST(MpiObjectsSpec, PlaceThatDoesNotExist_IsCorrupt) {
  auto spec = sample();
  spec.places.pop_back();
  EXPECT_THROW(decoded(spec), Error);
}

TEST(MpiObjectsSpec, FindPlace_NameComesBeforeKind) {
  auto spec = sample();
  EXPECT_EQ(spec.find_place("hbm0"), 2u);
  EXPECT_EQ(spec.find_place("hbm"), 0u);  // the first of the kind: that of the process's domain
  EXPECT_EQ(spec.find_place("nvm"), std::nullopt);
  spec.places[1].name = "hbm";
  EXPECT_EQ(spec.find_place("hbm"), 1u);
}

}  // namespace
}  // namespace terrace::runtime
