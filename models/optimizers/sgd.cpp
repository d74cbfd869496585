// Stochastic gradient descent with optional momentum: v = momentum v + g; p -= rate v.
#include "models/optimizer.hpp"

namespace strobe {
namespace {

struct SgdParameters {
  double rate = 0.01;
  double momentum = 0;
};

const FieldTable& sgd_fields() {
  static const FieldTable table = make_fields<SgdParameters>()
                                      .real("rate", &SgdParameters::rate, "", "learning rate", 0.0, 1e6)
                                      .real("momentum", &SgdParameters::momentum, "", "momentum", 0.0, 1.0);
  return table;
}

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const SgdParameters& parameters) : p_(parameters) {}

  void step(Device& device, const Parameters& parameters) override {
    prepare(device, parameters);
    device.run(SgdStep{parameters.values(), parameters.gradients(), velocity_, p_.rate, p_.momentum});
  }

  std::vector<OptimizerVector> vectors(Device& device, const Parameters& parameters) override {
    prepare(device, parameters);
    if (!velocity_.defined()) return {};
    return {{"velocity", velocity_}};
  }

 private:
  void prepare(Device& device, const Parameters& parameters) {
    if (p_.momentum == 0 || velocity_.defined()) return;
    velocity_ = device.allocate(parameters.count(), 1);
    device.run(Fill{velocity_, 0.0});
  }

  SgdParameters p_;
  Tensor velocity_;
};

const Register<OptimizerTag> sgd_registered{{
    "sgd",
    "gradient descent with optional momentum",
    "Robbins and Monro, 1951; momentum: Polyak, 1964",
    sgd_fields(),
    [](const Json& parameters) -> std::unique_ptr<Optimizer> {
      return std::make_unique<Sgd>(from_json<SgdParameters>(sgd_fields(), parameters, "/optimizer"));
    },
    {},
}};

}  // namespace
}  // namespace strobe
