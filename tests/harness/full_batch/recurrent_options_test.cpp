// Every RecurrentVariant of the recurrent models keeps law 3 (fp64, five epochs, 3 ranks). It changes the loss when it
// changes the mathematics.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {
namespace {

std::vector<double> losses(const std::string& model, const Json& options, const std::string& strategy, int ranks) {
  Json request = {{"workload", {{"name", "ucsocial"}}},
                  {"model", {{"name", model}}},
                  {"epochs", 4},
                  {"warmup", 1},
                  {"optimizer", {{"name", "adam"}, {"rate", 0.01}}},
                  {"precision", "fp64"},
                  {"strategy", {{"name", strategy}}},
                  {"ranks", ranks}};
  request["model"].update(options);
  const CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << model << options.dump() << strategy << ": " << result.reason;
  return result.loss.per_epoch;
}

struct RecurrentVariant {
  std::string model;
  Json options;
  bool same_mathematics = false;
};

class RecurrentOptions : public testing::TestWithParam<RecurrentVariant> {};

TEST_P(RecurrentOptions, KeepLaw3) {
  const RecurrentVariant& subject = GetParam();
  const std::vector<double> sequential = losses(subject.model, subject.options, "sequential", 1);
  ASSERT_EQ(sequential.size(), 5u);
  for (const std::string strategy : {"snapshot", "vertex", "pss"}) {
    const std::vector<double> other = losses(subject.model, subject.options, strategy, 3);
    ASSERT_EQ(other.size(), 5u) << strategy;
    for (std::size_t e = 0; e < 5; ++e) EXPECT_NEAR(other[e] / sequential[e], 1.0, 1e-10) << strategy << " epoch " << e;
  }
  const std::vector<double> by_default = losses(subject.model, Json::object(), "sequential", 1);
  const double difference = std::abs(by_default[4] - sequential[4]);
  if (subject.same_mathematics) {
    EXPECT_LT(difference, 1e-10);
  } else {
    EXPECT_GT(difference, 1e-8);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, RecurrentOptions,
    testing::Values(
        RecurrentVariant{"t-gcn", {{"conv", "xh"}}}, RecurrentVariant{"dcrnn", {{"terms", "chebyshev"}, {"hops", 3}}},
        RecurrentVariant{"dcrnn", {{"terms", "carried"}, {"hops", 3}}},
        RecurrentVariant{"dcrnn", {{"supports", "transposed"}}}, RecurrentVariant{"dcrnn", {{"directions", "in"}}},
        RecurrentVariant{"dcrnn", {{"directions", "out"}, {"layers", 2}}}, RecurrentVariant{"dcrnn", {{"hops", 0}}},
        RecurrentVariant{"dcrnn", {{"precompute", false}}, true},
        RecurrentVariant{"dcrnn", {{"precompute", false}, {"layers", 2}}},
        RecurrentVariant{"dcrnn", {{"precompute", false}, {"terms", "carried"}, {"state", "none"}}},
        RecurrentVariant{"dcrnn", {{"state", "none"}, {"layers", 2}}},
        RecurrentVariant{"cd-gcn", {{"concat", "input"}}}, RecurrentVariant{"cd-gcn", {{"layers", 1}}},
        RecurrentVariant{"cd-gcn", {{"layers", 3}, {"hidden", 5}, {"output", 4}}},
        RecurrentVariant{"cd-gcn", {{"precompute", false}}, true},
        RecurrentVariant{"cd-gcn", {{"concat", "input"}, {"precompute", false}}},
        RecurrentVariant{"mpnn-lstm", {{"precompute", false}}, true}, RecurrentVariant{"t-gcn", {{"gcn_layers", 1}}},
        RecurrentVariant{"t-gcn", {{"gcn_layers", 3}, {"hidden", 4}}}, RecurrentVariant{"t-gcn", {{"gates", "shared"}}},
        RecurrentVariant{"t-gcn", {{"precompute", false}}, true}, RecurrentVariant{"mpnn-lstm", {{"output", "h2"}}},
        RecurrentVariant{"mpnn-lstm", {{"state", "reset"}}},
        RecurrentVariant{"mpnn-lstm", {{"state", "reset"}, {"window", 5}}},
        RecurrentVariant{"mpnn-lstm", {{"batch_norm", false}}}, RecurrentVariant{"mpnn-lstm", {{"dropout", 0.3}}}),
    [](const auto& parameter) {
      std::string name = parameter.param.model + parameter.param.options.dump();
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
      return name;
    });

TEST(ModelOptions, ThatWouldBeIgnoredAreRefusedByName) {
  const auto where = [](const std::string& model, const Json& options) -> std::string {
    try {
      ModelRegistry::instance().find(model).value(options);
    } catch (const InvalidRequest& error) {
      return error.where();
    }
    return "accepted";
  };
  EXPECT_EQ(where("t-gcn", {{"gate_bias", 0}}), "/model/gate_bias");
  EXPECT_EQ(where("t-gcn", {{"gate_bias", 0}, {"conv", "xh"}}), "accepted");
  EXPECT_EQ(where("t-gcn", {{"precompute", false}, {"conv", "xh"}}), "/model/precompute");
  EXPECT_EQ(where("mpnn-lstm", {{"window", 4}}), "/model/window");
  EXPECT_EQ(where("mpnn-lstm", {{"window", 4}, {"state", "reset"}}), "accepted");
  EXPECT_EQ(where("tm-gcn", {{"network", "linear"}, {"hidden", 9}}), "/model/hidden");
  EXPECT_EQ(where("tm-gcn", {{"network", "linear"}, {"last_activation", "none"}}), "/model/last_activation");
  EXPECT_EQ(where("tm-gcn", {{"network", "selu"}, {"last_activation", "none"}}), "/model/last_activation");
  EXPECT_EQ(where("tm-gcn", {{"network", "selu"}, {"hidden", 9}}), "accepted");
}

}  // namespace
}  // namespace strobe
