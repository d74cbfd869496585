// Which kernels of device cuda are chosen, as an H100 would choose: on other GPUs those for tensor cores are not. What
// is chosen depends on shapes alone, so the emulation knows it.
#include <gtest/gtest.h>

#include "tests/cpu/conformance_settings.hpp"

namespace strobe {
namespace {

TEST(EmulatedChoice, EveryVariantIsChosenBySomeCase) { expect_chosen_kernels(Numerics::cuda, "cuda", {}); }

}  // namespace
}  // namespace strobe
