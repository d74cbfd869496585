// Device cuda wants the transpose of a matrix and no forms for narrow products.
#include "tests/prepared_matrices.hpp"

#include "tests/cuda/gpu.hpp"

namespace strobe {
namespace {

using namespace prepared_matrices;

class CudaPreparedMatrices : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_gpu().empty()) GTEST_SKIP() << why_no_gpu();
  }
};

TEST_F(CudaPreparedMatrices, LastingOnesHaveATransposeWhereGradientsFlow) {
  const auto device = device_named("cuda", ElementType::f32);
  const DrawnMatrix drawn({{40, 40, 40}, 0, true}, 1);
  for (const std::int64_t columns : {2, 200}) {
    MatrixUse use = lasting_use(columns);
    EXPECT_EQ(forms_of(prepared(*device, drawn, use)), "transpose");
    use.products[0].backward = false;
    EXPECT_EQ(forms_of(prepared(*device, drawn, use)), "");
  }
}

TEST_F(CudaPreparedMatrices, OnceOnlyEntriesWithGradientsGetATranspose) {
  const auto device = device_named("cuda", ElementType::f32);
  MatrixUse use = lasting_use(2);
  use.lasting = false;
  EXPECT_EQ(forms_of(prepared(*device, DrawnMatrix({{40, 40}, 0, true}, 1), use)), "");
  use.reads_entries = true;
  EXPECT_EQ(forms_of(prepared(*device, DrawnMatrix({{40, 40}, 0, true}, 1), use)), "transpose");
  EXPECT_EQ(forms_of(prepared(*device, DrawnMatrix({{40, 40}, 9, true}, 1), use)), "");
}

TEST_F(CudaPreparedMatrices, ProductsAreThoseOfPlainRows) {
  for (const ElementType precision : {ElementType::f32, ElementType::f64}) {
    const auto device = device_named("cuda", precision);
    expect_products_of_all_uses(*device, {1, 6, 33});
  }
}

}  // namespace
}  // namespace strobe
