// Device sim prepares matrices as the device does that its cluster describes.
#include "tests/prepared_matrices.hpp"

#include "tests/sim/sim_support.hpp"

namespace strobe {
namespace {

using namespace prepared_matrices;

std::unique_ptr<Device> device_of_cluster(bool transpose, std::int64_t narrow_bytes, bool values) {
  Cluster cluster = sim_test::round_cluster();
  cluster.gpu.stores_transpose = transpose;
  cluster.gpu.narrow_bytes = narrow_bytes;
  DeviceRequest request = sim_test::request_for(cluster, 1, values).device;
  return DeviceRegistry::instance().find("sim").value(request);
}

TEST(SimPreparedMatrices, FollowTheCluster) {
  const DrawnMatrix drawn({{40, 40, 40}, 0, true}, 1);
  const auto forms = [&](bool transpose, std::int64_t narrow_bytes, bool values) {
    const auto device = device_of_cluster(transpose, narrow_bytes, values);
    return forms_of(prepared(*device, drawn, lasting_use(4)));
  };
  EXPECT_EQ(forms(false, 0, true), "");
  EXPECT_EQ(forms(true, 0, true), "transpose");
  EXPECT_EQ(forms(false, 32, true), "pairs");
  EXPECT_EQ(forms(true, 32, true), "pairs transposed-pairs");
  EXPECT_EQ(forms(true, 16, true), "lengths transposed-lengths");
  EXPECT_EQ(forms(true, 4, true), "transpose");
}

/// Without entries nothing says how much steps overlap.
TEST(SimPreparedMatrices, RowsByLengthStandForPairsOfACountedMatrix) {
  const DrawnMatrix drawn({{40, 40, 40}, 0, true}, 1);
  HostCsr outline;
  outline.step_rows = drawn.host.step_rows;
  const auto device = device_of_cluster(true, 32, false);
  EXPECT_FALSE(device->entries_decide(lasting_use(4)));
  SparseMatrix a = drawn.on(*device);
  device->prepare(a, outline, lasting_use(4));
  EXPECT_EQ(forms_of(a), "lengths transposed-lengths");
  EXPECT_TRUE(a.by_length->narrow);
}

TEST(SimPreparedMatrices, OnceOnlyEntriesWithGradientsGetATranspose) {
  const DrawnMatrix drawn({{40, 40, 40}, 0, true}, 1);
  MatrixUse use = lasting_use(4);
  use.lasting = false;
  for (const bool transpose : {true, false}) {
    const auto device = device_of_cluster(transpose, 64, true);
    use.reads_entries = false;
    EXPECT_EQ(forms_of(prepared(*device, drawn, use)), "");
    use.reads_entries = true;
    EXPECT_EQ(forms_of(prepared(*device, drawn, use)), transpose ? "transpose" : "");
  }
}

TEST(SimPreparedMatrices, ProductsAreThoseOfPlainRows) {
  for (const std::int64_t narrow_bytes : {0, 32}) {
    const auto device = device_of_cluster(true, narrow_bytes, true);
    expect_products_of_all_uses(*device, {1, 4, 6, 33});
  }
}

}  // namespace
}  // namespace strobe
