// Fields in which two cases differ.
#include "results/answer/case_difference.hpp"

#include <gtest/gtest.h>

#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

TEST(CaseDifference, FieldsAreNamedAsTheyAreTyped) {
  Json a = testing_results::case_json(2, "vertex"), b = a;
  EXPECT_TRUE(differences_of(a, b).empty());
  b["model"]["hidden"] = 12;
  b["ranks"] = 4;
  const std::vector<FieldDifference> found = differences_of(a, b);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].field, "model.hidden");
  EXPECT_EQ(found[0].a + " " + found[0].b, "6 12");
  EXPECT_EQ(found[1].field, "ranks");
  b["model"] = {{"name", "dysat"}, {"heads", 8}};
  EXPECT_EQ(differences_of(a, b)[0].field, "model") << "another model has other parameters";
  EXPECT_EQ(value_at(a, "model"), "tm-gcn:hidden=6");
  EXPECT_EQ(value_at(a, "model", false), "tm-gcn");
  EXPECT_EQ(value_at(b, "model.hidden"), "-");
  EXPECT_FALSE(without_field(a, "model.hidden")["model"].contains("hidden"));
}

}  // namespace
}  // namespace strobe
