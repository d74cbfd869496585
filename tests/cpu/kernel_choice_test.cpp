// Which kernel of an operation is taken, on kernels of an operation of the test's own.
#include <gtest/gtest.h>

#include "backends/kernel.hpp"

namespace strobe {
namespace {

struct Sized {
  static constexpr std::string_view name = "sized";
  int size = 0;
};

bool is_even(const Sized& op) { return op.size % 2 == 0; }
bool is_large(const Sized& op) { return op.size >= 100; }

const RegisterKernel<Sized> plain{"sized", {"plain", 0}};
const RegisterKernel<Sized> even{"sized", {"even", 10, is_even}};
const RegisterKernel<Sized> large{"sized", {"large", 20, is_even, nullptr, is_large}};

std::string chosen(int size, const std::string& variant) {
  return Kernels<Sized>::choose("sized", Sized{size}, variant).variant;
}

TEST(KernelChoice, TheHighestPriorityThatSupportsTheCallAndIsWorthIt) {
  EXPECT_EQ(chosen(3, ""), "plain");
  EXPECT_EQ(chosen(4, ""), "even");
  EXPECT_EQ(chosen(101, ""), "plain");
  EXPECT_EQ(chosen(102, ""), "large");
}

TEST(KernelChoice, ANamedVariantIsTakenWhereItIsSupportedWorthItOrNot) {
  EXPECT_EQ(chosen(4, "large"), "large") << "so that every variant is judged on small shapes";
  EXPECT_EQ(chosen(3, "large"), "plain") << "not supported: as without a name";
  EXPECT_EQ(chosen(102, "even"), "even");
  EXPECT_EQ(chosen(102, "nobody's"), "large");
}

}  // namespace
}  // namespace strobe
