// Options of stale halos: the policy that they ask for, its text, and the parameters that mean something.
#include "harness/placement/staleness.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"

namespace strobe {
namespace {

TEST(StaleOptionsOfAStrategy, BecomeThePolicyThatTheyAskFor) {
  StaleOptions options;
  EXPECT_EQ(text_of(staleness_of(options)), "none");
  EXPECT_FALSE(staleness_of(options).reuses());
  EXPECT_TRUE(staleness_of(options).distances_on_host);
  options.stale = "static", options.stale_theta = 0.25;
  EXPECT_EQ(text_of(staleness_of(options)), "static, stale_theta=0.25, stale_gradient=fresh");
  EXPECT_TRUE(staleness_of(options).reuses());
  options.stale_theta = 0;
  EXPECT_FALSE(staleness_of(options).reuses()) << "the exact exchange";
  options.stale = "adaptive";
  EXPECT_EQ(text_of(staleness_of(options)), "adaptive, stale_sign=text, stale_gradient=fresh");
  EXPECT_TRUE(staleness_of(options).reuses());
  options.stale_sign = "printed", options.stale_gradient = "always", options.distances = "device";
  options.sent_share = 0.5;
  EXPECT_EQ(text_of(staleness_of(options)), "adaptive, stale_sign=printed, stale_gradient=always");
  EXPECT_FALSE(staleness_of(options).distances_on_host);
  EXPECT_EQ(staleness_of(options).sent_share, 0.5);
}

TEST(StaleOptionsOfAStrategy, AreLeftOutOfParametersWhereTheyMeanNothing) {
  const Json all{{"nb", 2},
                 {"stale", "none"},
                 {"stale_theta", 0.3},
                 {"stale_sign", "text"},
                 {"stale_gradient", "fresh"},
                 {"distances", "host"},
                 {"sent_share", 0.2},
                 {"servers", 0}};
  const auto of_kind = [&](const char* stale) {
    Json parameters = all;
    parameters["stale"] = stale;
    std::vector<std::string> left;
    const Json rest = without_idle_stale_options(parameters);
    for (const auto& [key, value] : rest.items()) left.push_back(key);
    return left;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(of_kind("none"), (Names{"nb"}));
  EXPECT_EQ(of_kind("static"), (Names{"nb", "stale", "stale_theta", "stale_gradient", "distances", "sent_share"}));
  EXPECT_EQ(of_kind("adaptive"), (Names{"nb", "stale", "stale_sign", "stale_gradient", "distances", "sent_share"}));
  EXPECT_EQ(without_idle_stale_options({{"nb", 2}, {"stale_theta", 1}}), (Json{{"nb", 2}, {"stale_theta", 1}}));
  EXPECT_EQ(without_idle_stale_options({{"stale", "none"}, {"servers", 2}}), (Json{{"servers", 2}}));
}

TEST(StaleOptionsOfAStrategy, OfOneWithoutHalosMayOnlyBeNone) {
  struct Plain {
    std::int64_t nb = 1;
  };
  struct Halos : StaleOptions {};
  const FieldTable plain = make_fields<Plain>().integer("nb", &Plain::nb, "", "blocks", 1, 9),
                   halos = with_stale_fields(make_fields<Halos>());
  EXPECT_FALSE(has_stale_fields(plain));
  EXPECT_TRUE(has_stale_fields(halos));
  const std::vector<std::string> others = {"vertex", "hybrid", "chunks"};
  const auto rest = [&](const FieldTable& fields, const Json& values) {
    return without_foreign_stale(fields, "snapshot", others, values, "/strategy");
  };
  EXPECT_EQ(rest(plain, {{"nb", 2}, {"stale", "none"}}), (Json{{"nb", 2}}));
  EXPECT_EQ(rest(plain, {{"nb", 2}}), (Json{{"nb", 2}}));
  EXPECT_EQ(rest(plain, {{"nb", 2}, {"servers", 0}}), (Json{{"nb", 2}}));
  EXPECT_EQ(rest(plain, "text"), Json("text")) << "someone else refuses what is no object";
  EXPECT_EQ(rest(halos, {{"stale", "static"}}), (Json{{"stale", "static"}}));
  try {
    rest(plain, {{"stale", "static"}});
    FAIL() << "accepted";
  } catch (const InvalidRequest& refusal) {
    EXPECT_EQ(refusal.where(), "/strategy/stale");
    EXPECT_NE(refusal.message().find("snapshot has no halos"), std::string::npos);
    EXPECT_NE(refusal.message().find("use vertex, hybrid or chunks"), std::string::npos) << refusal.message();
  }
}

}  // namespace
}  // namespace strobe
