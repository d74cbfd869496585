// Additions of device cpu to a matrix for a use. Products with them equal those of the plain matrix. Widths are chosen
// by the bytes of a register, for registers of any size.
#include "tests/prepared_matrices.hpp"

#include "backends/shapes_device.hpp"

namespace strobe {
namespace {

using namespace prepared_matrices;

const MatrixRecipe overlapping{{40, 40, 40}, 0, true}, apart{{40, 40, 40}, 0, false}, divided{{40, 40, 40}, 9, true};

std::string forms_on_cpu(const MatrixRecipe& recipe, const MatrixUse& use, ElementType precision = ElementType::f32) {
  const auto device = device_named("cpu", precision);
  return forms_of(prepared(*device, DrawnMatrix(recipe, 1), use));
}

/// The number of columns for which a row fills `registers`.
std::int64_t columns_in(double registers, ElementType precision = ElementType::f32) {
  const std::int64_t bytes = device_named("cpu", precision)->narrow_bytes();
  return static_cast<std::int64_t>(registers * static_cast<double>(bytes)) /
         static_cast<std::int64_t>(element_bytes(precision));
}

TEST(CpuPreparedMatrices, FormsThatLastFollowTheWidthOfProducts) {
  for (const ElementType precision : {ElementType::f32, ElementType::f64}) {
    const auto forms = [&](const MatrixRecipe& recipe, std::int64_t columns) {
      return forms_on_cpu(recipe, lasting_use(columns), precision);
    };
    const std::int64_t half = columns_in(0.5, precision), two = columns_in(2, precision);
    EXPECT_EQ(forms(overlapping, half), "pairs transposed-pairs");
    EXPECT_EQ(forms(apart, half), "lengths transposed-lengths");
    EXPECT_EQ(forms(divided, half), "lengths transposed-lengths");
    EXPECT_EQ(forms(overlapping, half + 1), "lengths transposed-lengths");
    EXPECT_EQ(forms(overlapping, two), "lengths transposed-lengths");
    EXPECT_EQ(forms(overlapping, two + 1), "transpose");
  }
}

TEST(CpuPreparedMatrices, ProductsOfSeveralWidthsEachHaveTheirForm) {
  MatrixUse use = lasting_use(columns_in(0.5));
  use.products.push_back({columns_in(2), true, {}});
  EXPECT_EQ(forms_on_cpu(overlapping, use), "pairs transposed-pairs lengths transposed-lengths");
  use.products.push_back({columns_in(2) + 1, true, {}});
  EXPECT_EQ(forms_on_cpu(overlapping, use), "transpose pairs transposed-pairs");
  EXPECT_EQ(forms_on_cpu(apart, use), "transpose lengths");
}

TEST(CpuPreparedMatrices, WithoutGradientsThereIsNoTranspose) {
  for (const std::int64_t columns : {columns_in(0.5), columns_in(2), columns_in(2) + 1}) {
    MatrixUse use = lasting_use(columns);
    use.products[0].backward = false;
    const std::string expected = columns == columns_in(0.5) ? "pairs" : columns == columns_in(2) ? "lengths" : "";
    EXPECT_EQ(forms_on_cpu(overlapping, use), expected);
  }
}

TEST(CpuPreparedMatrices, LayersThatAreComputedAgainAreServedByTheRegistersOfTheirOutputs) {
  const auto forms = [](std::int64_t columns, std::int64_t outputs, bool weight_per_step) {
    MatrixUse use = lasting_use(columns);
    use.products[0].backward = false;
    use.products[0].repeated = {2, outputs, weight_per_step};
    return forms_on_cpu(overlapping, use);
  };
  EXPECT_EQ(forms(columns_in(1.5), 100, false), "pairs");
  EXPECT_EQ(forms(columns_in(1.5) + 1, 100, false), "lengths");
  EXPECT_EQ(forms(columns_in(2) + 1, 100, false), "");
  EXPECT_EQ(forms(columns_in(0.5), columns_in(0.5), true), "pairs");
  EXPECT_EQ(forms(columns_in(0.5), columns_in(0.5) + 1, true), "lengths");
  EXPECT_EQ(forms(columns_in(0.5), columns_in(2) + 1, true), "");
}

TEST(CpuPreparedMatrices, OnceOnlyEntriesWithGradientsOfWholeSnapshotsGetATranspose) {
  MatrixUse use = lasting_use(2);
  use.lasting = false;
  EXPECT_EQ(forms_on_cpu(overlapping, use), "");
  use.reads_entries = true;
  EXPECT_EQ(forms_on_cpu(overlapping, use), "transpose");
  EXPECT_EQ(forms_on_cpu({{40, 0, 40}}, use), "transpose");
  EXPECT_EQ(forms_on_cpu(divided, use), "");
  EXPECT_EQ(forms_on_cpu({{0, 0}}, use), "");
  use.products[0].backward = false;
  EXPECT_EQ(forms_on_cpu(overlapping, use), "");
}

TEST(CpuPreparedMatrices, ReadersOfEntriesGetTheTransposeAlone) {
  MatrixUse use = lasting_use(2);
  use.reads_entries = true;
  EXPECT_EQ(forms_on_cpu(overlapping, use), "transpose");
}

TEST(CpuPreparedMatrices, ProductsAreThoseOfPlainRows) {
  for (const ElementType precision : {ElementType::f32, ElementType::f64}) {
    const auto device = device_named("cpu", precision);
    expect_products_of_all_uses(*device, {1, 2, 6, columns_in(1, precision), columns_in(2, precision) + 1});
  }
}

TEST(CpuPreparedMatrices, FormsThatLastNeedTheEntries) {
  const auto device = device_named("cpu", ElementType::f32);
  const DrawnMatrix drawn(overlapping, 1);
  SparseMatrix a = drawn.on(*device);
  HostCsr outline;
  outline.step_rows = drawn.host.step_rows;
  EXPECT_THROW(device->prepare(a, outline, lasting_use(2)), Error);
  MatrixUse once = lasting_use(2);
  once.lasting = false;
  device->prepare(a, outline, once);
  EXPECT_EQ(forms_of(a), "");
}

DeviceRequest without_values() {
  DeviceRequest request;
  request.values = false;
  return request;
}

TEST(PreparedMatrices, ADeviceThatSaysNothingAddsNothing) {
  ShapesDevice device(without_values());
  const std::uint64_t before = device.live_bytes();
  const DrawnMatrix drawn(overlapping, 1);
  const SparseMatrix a = prepared(device, drawn, lasting_use(2));
  EXPECT_EQ(forms_of(a), "");
  EXPECT_EQ(device.live_bytes() - before, a.bytes() + a.step_rows.bytes() + a.step_halo.bytes());
}

TEST(CpuPreparedMatrices, AStandInTakesTheSameBytes) {
  const auto device = device_named("cpu", ElementType::f32);
  for (const MatrixRecipe& recipe : {overlapping, apart, divided}) {
    for (const std::int64_t columns : {columns_in(0.5), columns_in(2), columns_in(2) + 1}) {
      const DrawnMatrix drawn(recipe, 1);
      SparseMatrix a = drawn.on(*device);
      const std::uint64_t before = device->live_bytes();
      device->prepare(a, drawn.of(ElementType::f32), lasting_use(columns));
      ShapesDevice stand_in(without_values());
      SparseMatrix b = drawn.on(stand_in);
      const std::uint64_t empty = stand_in.live_bytes();
      EXPECT_TRUE(device->entries_decide(lasting_use(columns)));
      device->prepare_in(stand_in, b, drawn.of(ElementType::f32), lasting_use(columns));
      EXPECT_EQ(stand_in.live_bytes() - empty, device->live_bytes() - before) << forms_of(a);
      EXPECT_EQ(forms_of(b), forms_of(a));
    }
  }
}

}  // namespace
}  // namespace strobe
