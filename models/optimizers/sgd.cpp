// Stochastic gradient descent as PyTorch defines it: g += weight_decay p; v = momentum v + g; p -= rate v, or with
// Nesterov's momentum p -= rate (g + momentum v).
#include "core/errors.hpp"
#include "core/searched_values.hpp"
#include "models/optimizers/optimizer.hpp"

namespace strobe {
namespace {

struct SgdParameters {
  double rate = 0.01;
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

const FieldTable& sgd_fields() {
  static const FieldTable table =
      make_fields<SgdParameters>()
          .real("rate", &SgdParameters::rate, "", "learning rate", 0.0, 1e6)
          .searched(searched_plain_rates)
          .real("momentum", &SgdParameters::momentum, "", "momentum", 0.0, 1.0)
          .searched(searched_momentums)
          .real("weight_decay", &SgdParameters::weight_decay, "", "times the weights, added to the gradient (L2)", 0.0,
                1e6)
          .boolean("nesterov", &SgdParameters::nesterov, "step along the gradient at the place that momentum leads to");
  return table;
}

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const SgdParameters& parameters) : p_(parameters) {
    if (p_.nesterov && p_.momentum == 0)
      throw InvalidRequest("/optimizer/nesterov", "needs a momentum above 0, such as momentum=0.9");
  }

  void step(Device& device, const Parameters& parameters) override {
    prepare(device, parameters);
    const Tensor &values = parameters.values(), &gradients = parameters.gradients();
    if (p_.weight_decay > 0) device.run(AddScaled{values, gradients, p_.weight_decay});
    if (!p_.nesterov) {
      device.run(SgdStep{values, gradients, velocity_, p_.rate, p_.momentum});
      return;
    }
    device.run(SgdStep{values, gradients, velocity_, 0.0, p_.momentum});  // at rate 0 the velocity alone moves
    device.run(AddScaled{velocity_, gradients, p_.momentum});
    device.run(SgdStep{values, gradients, Tensor(), p_.rate, 0.0});
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
    "gradient descent with optional momentum, Nesterov's too",
    "Robbins and Monro, 1951; momentum: Polyak, 1964; Nesterov's: Sutskever et al., ICML'13",
    sgd_fields(),
    [](const Json& parameters) -> std::unique_ptr<Optimizer> {
      return std::make_unique<Sgd>(from_json<SgdParameters>(sgd_fields(), parameters, "/optimizer"));
    },
    {},
}};

}  // namespace
}  // namespace strobe
