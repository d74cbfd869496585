#include "models/tape/tape.hpp"

#include <algorithm>

namespace strobe {

Var Tape::record(Tensor value, const std::vector<Var>& inputs, std::function<void(const Variable&)> backward) {
  const bool needs =
      recording_ && std::any_of(inputs.begin(), inputs.end(), [](const Var& input) { return input->needs_gradient; });
  Var result = std::make_shared<Variable>(Variable{std::move(value), {}, needs});
  if (needs) records_.push_back({result, std::move(backward)});
  return result;
}

Var Tape::record_collective(Tensor value, std::function<void(const Variable&)> backward) {
  Var result = std::make_shared<Variable>(Variable{std::move(value), {}, recording_});
  if (recording_) records_.push_back({result, std::move(backward), true});
  return result;
}

void Tape::on_backward(std::function<void()> reached) {
  if (!recording_) return;
  records_.push_back({nullptr, [call = std::move(reached)](const Variable&) { call(); }});
}

GradientTarget Tape::target(const Var& input) {
  if (input->gradient.defined()) return {input->gradient, true};
  const PartScope part(device_, input->value.part());  // the gradient of rows that are exchanged is exchanged too
  input->gradient = device_.allocate(input->value.rows(), input->value.columns(), input->value.type());
  return {input->gradient, false};
}

Tensor Tape::added_gradient(const Var& input) {
  if (!input->needs_gradient) return {};
  const GradientTarget gradient = target(input);
  if (!gradient.accumulate) device_.run(Fill{gradient.tensor, 0.0});
  return gradient.tensor;
}

void Tape::add_gradient(const Var& result, const Tensor& gradient) {
  if (!result->needs_gradient) return;
  if (!result->gradient.defined()) {
    result->gradient = gradient;
  } else {
    device_.run(AddScaled{gradient, result->gradient, 1.0});
  }
}

void Tape::backward() {
  while (!records_.empty()) {
    Record record = std::move(records_.back());
    records_.pop_back();
    if (record.result == nullptr) {
      record.backward(Variable());
      continue;
    }
    if (record.collective && !record.result->gradient.defined()) added_gradient(record.result);
    if (record.result->gradient.defined()) record.backward(*record.result);
    record.result->gradient = Tensor();
  }
}

}  // namespace strobe
