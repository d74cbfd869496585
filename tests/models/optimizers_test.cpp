// Optimisers against PyTorch's definitions, written out in double over several steps.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "models/optimizers/optimizer.hpp"
#include "tests/models/differences.hpp"

namespace strobe {
namespace {

using Numbers = std::vector<double>;

constexpr int update_count = 3;
const Numbers start_weights = {0.5, -1.25, 2.0, 0.0, -0.75};
const std::vector<Numbers> made_gradients = {
    {0.1, -0.2, 0.3, 0.0, 1.5}, {-0.4, 0.25, 0.3, 0.125, -0.5}, {0.05, 0.0, -1.0, 0.7, 0.9}};

/// The weights after `update_count` steps along `made_gradients`.
Numbers stepped(const Json& optimizer) {
  DeviceRequest request;
  request.precision = ElementType::f64;
  const auto device = DeviceRegistry::instance().find("cpu").value(request);
  const Parameters parameters(*device, {{"a", 1, 2}, {"b", 3, 1}}, 1, start_weights);
  const auto made = OptimizerRegistry::instance().find(optimizer.at("name")).value(optimizer);
  for (int s = 0; s < update_count; ++s) {
    double* gradient = parameters.gradients().data<double>();
    for (std::size_t i = 0; i < start_weights.size(); ++i) gradient[i] = made_gradients[s][i];
    made->step(*device, parameters);
  }
  const double* values = parameters.values().data<double>();
  return {values, values + start_weights.size()};
}

/// One weight's way: step(p, g, t) changes p in step t, counted from 1.
Numbers by_hand(const std::function<std::function<void(double&, double, int)>()>& make_step) {
  Numbers weights = start_weights;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto step = make_step();  // with separate moments
    for (int s = 0; s < update_count; ++s) step(weights[i], made_gradients[s][i], s + 1);
  }
  return weights;
}

void expect_weights(const Numbers& got, const Numbers& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-14) << what << " weight " << i;
}

/// torch.optim.SGD: d_p = g + decay p; buf = momentum buf + d_p; d_p = nesterov ? d_p + momentum buf : buf; p -= lr
/// d_p.
Numbers sgd_weights(double rate, double momentum, double decay, bool nesterov) {
  return by_hand([=] {
    return [=, buffer = 0.0](double& p, double g, int) mutable {
      double d = g + decay * p;
      if (momentum != 0) {
        buffer = momentum * buffer + d;
        d = nesterov ? d + momentum * buffer : buffer;
      }
      p -= rate * d;
    };
  });
}

/// torch.optim.Adam (decay into the gradient) and AdamW (p *= 1 - lr decay first).
Numbers adam_weights(double rate, double decay, bool decoupled) {
  constexpr double beta1 = 0.8, beta2 = 0.95, epsilon = 1e-3;
  return by_hand([=] {
    return [=, m = 0.0, v = 0.0](double& p, double g, int t) mutable {
      if (decoupled) p *= 1 - rate * decay;
      const double d = decoupled ? g : g + decay * p;
      m = beta1 * m + (1 - beta1) * d;
      v = beta2 * v + (1 - beta2) * d * d;
      p -= rate * (m / (1 - std::pow(beta1, t))) / (std::sqrt(v / (1 - std::pow(beta2, t))) + epsilon);
    };
  });
}

TEST(Optimizers, GradientDescentIsPyTorchs) {
  for (const double momentum : {0.0, 0.9}) {
    for (const double decay : {0.0, 0.05}) {
      const Json plain = {{"name", "sgd"}, {"rate", 0.1}, {"momentum", momentum}, {"weight_decay", decay}};
      expect_weights(stepped(plain), sgd_weights(0.1, momentum, decay, false), plain.dump());
      if (momentum == 0) continue;
      Json nesterov = plain;
      nesterov["nesterov"] = true;
      expect_weights(stepped(nesterov), sgd_weights(0.1, momentum, decay, true), nesterov.dump());
      EXPECT_GT(std::abs(stepped(nesterov)[0] - stepped(plain)[0]), 1e-3);
    }
  }
}

TEST(Optimizers, AdamsDecayGoesThroughTheMomentsAndAdamWsDoesNot) {
  for (const double decay : {0.0, 0.2}) {
    for (const std::string name : {"adam", "adamw"}) {
      const Json optimizer = {{"name", name},  {"rate", 0.1},     {"beta1", 0.8},
                              {"beta2", 0.95}, {"epsilon", 1e-3}, {"weight_decay", decay}};
      expect_weights(stepped(optimizer), adam_weights(0.1, decay, name == "adamw"), optimizer.dump());
    }
  }
  const Json without = {{"name", "adamw"}, {"rate", 0.1}, {"beta1", 0.8}, {"beta2", 0.95}, {"epsilon", 1e-3}};
  expect_weights(stepped(without), adam_weights(0.1, 0.01, true), "PyTorch's default decay of AdamW is 0.01");
}

TEST(Optimizers, NesterovNeedsAMomentum) {
  const Json optimizer = {{"name", "sgd"}, {"nesterov", true}};
  EXPECT_THROW(OptimizerRegistry::instance().find("sgd").value(optimizer), InvalidRequest);
}

}  // namespace
}  // namespace strobe
