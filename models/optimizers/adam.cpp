// Adam (Kingma and Ba, ICLR'15, Algorithm 1).
#include "models/optimizer.hpp"

namespace strobe {
namespace {

struct AdamParameters {
  double rate = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

const FieldTable& adam_fields() {
  static const FieldTable table =
      make_fields<AdamParameters>()
          .real("rate", &AdamParameters::rate, "", "learning rate", 0.0, 1e6)
          .real("beta1", &AdamParameters::beta1, "", "decay of the first moment", 0.0, 0.9999999)
          .real("beta2", &AdamParameters::beta2, "", "decay of the second moment", 0.0, 0.9999999)
          .real("epsilon", &AdamParameters::epsilon, "", "added to the root of the second moment", 0.0, 1.0);
  return table;
}

class Adam final : public Optimizer {
 public:
  explicit Adam(const AdamParameters& parameters) : p_(parameters) {}

  void step(Device& device, const Parameters& parameters) override {
    prepare(device, parameters);
    device.run(AdamStep{parameters.values(), parameters.gradients(), first_, second_, p_.rate, p_.beta1, p_.beta2,
                        p_.epsilon, ++steps_});
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
  Tensor first_, second_;
  std::int64_t steps_ = 0;
};

const Register<OptimizerTag> adam_registered{{
    "adam",
    "adaptive moment estimation",
    "Kingma and Ba, Adam: a method for stochastic optimization, ICLR'15",
    adam_fields(),
    [](const Json& parameters) -> std::unique_ptr<Optimizer> {
      return std::make_unique<Adam>(from_json<AdamParameters>(adam_fields(), parameters, "/optimizer"));
    },
    {},
}};

}  // namespace
}  // namespace strobe
