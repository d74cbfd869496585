// Adam (Kingma and Ba, ICLR'15, Algorithm 1), and AdamW, whose weight decay does not pass through the moments
// (Loshchilov and Hutter, ICLR'19, Algorithm 2). As in PyTorch, the decay is scaled by the rate.
#include "core/searched_values.hpp"
#include "models/optimizers/optimizer.hpp"

namespace strobe {
namespace {

struct AdamParameters {
  double rate = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};

struct AdamWParameters : AdamParameters {
  AdamWParameters() { weight_decay = 0.01; }
};

template <class P>
FieldTable adam_fields(const char* decay) {
  return make_fields<P>()
      .real("rate", &P::rate, "", "learning rate", 0.0, 1e6)
      .searched(searched_adaptive_rates)
      .real("beta1", &P::beta1, "", "decay of the first moment", 0.0, 0.9999999)
      .real("beta2", &P::beta2, "", "decay of the second moment", 0.0, 0.9999999)
      .real("epsilon", &P::epsilon, "", "added to the root of the second moment", 0.0, 1.0)
      .real("weight_decay", &P::weight_decay, "", decay, 0.0, 1e6);
}

const FieldTable& coupled_fields() {
  static const FieldTable table = adam_fields<AdamParameters>("times the weights, added to the gradient (L2)");
  return table;
}

const FieldTable& decoupled_fields() {
  static const FieldTable table =
      adam_fields<AdamWParameters>("share of the weights, times the rate, taken off before the step");
  return table;
}

class Adam final : public Optimizer {
 public:
  Adam(const AdamParameters& parameters, bool decoupled) : p_(parameters), decoupled_(decoupled) {}

  void step(Device& device, const Parameters& parameters) override {
    prepare(device, parameters);
    const Tensor &values = parameters.values(), &gradients = parameters.gradients();
    if (p_.weight_decay > 0 && decoupled_) device.run(AddScaled{values, values, -p_.rate * p_.weight_decay});
    if (p_.weight_decay > 0 && !decoupled_) device.run(AddScaled{values, gradients, p_.weight_decay});
    device.run(AdamStep{values, gradients, first_, second_, p_.rate, p_.beta1, p_.beta2, p_.epsilon, ++steps_});
  }

  std::vector<OptimizerVector> vectors(Device& device, const Parameters& parameters) override {
    prepare(device, parameters);
    return {{"first_moment", first_}, {"second_moment", second_}};
  }

  std::int64_t steps() const override { return steps_; }
  void set_steps(std::int64_t steps) override { steps_ = steps; }

 private:
  void prepare(Device& device, const Parameters& parameters) {
    if (first_.defined()) return;
    first_ = device.allocate(parameters.count(), 1);
    second_ = device.allocate(parameters.count(), 1);
    device.run(Fill{first_, 0.0});
    device.run(Fill{second_, 0.0});
  }

  AdamParameters p_;
  bool decoupled_;
  Tensor first_, second_;
  std::int64_t steps_ = 0;
};

const Register<OptimizerTag> adam_registered{{
    "adam",
    "adaptive moment estimation",
    "Kingma and Ba, Adam: a method for stochastic optimization, ICLR'15",
    coupled_fields(),
    [](const Json& parameters) -> std::unique_ptr<Optimizer> {
      return std::make_unique<Adam>(from_json<AdamParameters>(coupled_fields(), parameters, "/optimizer"), false);
    },
    {},
}};

const Register<OptimizerTag> adamw_registered{{
    "adamw",
    "Adam with decoupled weight decay",
    "Loshchilov and Hutter, Decoupled weight decay regularization, ICLR'19",
    decoupled_fields(),
    [](const Json& parameters) -> std::unique_ptr<Optimizer> {
      return std::make_unique<Adam>(from_json<AdamWParameters>(decoupled_fields(), parameters, "/optimizer"), true);
    },
    {},
}};

}  // namespace
}  // namespace strobe
