// Which kernels of device cuda are chosen, as an H100 would choose: on other GPUs those for tensor cores are not. What
// is chosen depends on shapes and on how many multiprocessors there are, so the emulation knows it.
#include <gtest/gtest.h>

#include <utility>

#include "backends/cuda/emulated/size.hpp"
#include "tests/cpu/conformance_settings.hpp"

namespace strobe {
namespace {

/// What the products of the benchmark spmm/.../width:6 choose, whose matrix is larger than any case's: 64 steps of
/// 16384 vertices, 16.3 million entries. Choosing reads no entry, so there is none.
std::set<std::string> chosen_by_benchmarks() {
  const std::unique_ptr<Device> device = DeviceRegistry::instance().find("cuda").value({});
  SparseMatrix a;
  a.steps = 64;
  a.rows = a.columns = a.halo_begin = a.steps * 16384;
  a.nonzeros = 16'300'000;
  a.step_rows = device->allocate(a.steps + 1, 1, ElementType::i64);
  a.transposed_offsets = device->allocate(1, 1, ElementType::i64);
  const Tensor x = device->allocate(a.columns, 6), y = device->allocate(a.rows, 6);
  const auto name = [](const auto& op) {
    return std::string(op.name) + "/" + Kernels<std::decay_t<decltype(op)>>::choose(Numerics::cuda, op, "").variant;
  };
  return {name(Spmm{a, x, y, false}), name(SpmmTransposed{a, y, x, false})};
}

TEST(EmulatedChoice, EveryVariantIsChosenBySomeCaseOrBenchmark) {
  const int before = std::exchange(cuda::emulated::multiprocessors, 132);
  expect_chosen_kernels(Numerics::cuda, "cuda", chosen_by_benchmarks());
  cuda::emulated::multiprocessors = before;
}

}  // namespace
}  // namespace strobe
