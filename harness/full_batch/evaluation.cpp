#include "harness/full_batch/evaluation.hpp"

#include <algorithm>
#include <iterator>

namespace strobe {

Evaluation::Evaluation(const FullBatchPlan& plan, Device& device, Communicator& communicator)
    : plan_(plan), device_(device), communicator_(communicator) {
  parts_.push_back(part("", plan.evaluation.test, plan.evaluation.test_steps, plan.data.samples->test));
  if (!plan.evaluation.validation_steps.empty())
    parts_.push_back(part(validation_prefix, plan.evaluation.validation, plan.evaluation.validation_steps,
                          plan.data.samples->validation));
  std::set_union(plan.evaluation.test_steps.begin(), plan.evaluation.test_steps.end(),
                 plan.evaluation.validation_steps.begin(), plan.evaluation.validation_steps.end(),
                 std::back_inserter(steps_));
}

Evaluation::Part Evaluation::part(const char* prefix, const PlacedSamples& placed, const std::vector<Step>& steps,
                                  const Samples& samples) {
  const LocalSamples& own = placed.ranks[device_.rank()];
  return {prefix, placed, steps, samples, Exchange(device_, placed.halo, Traffic::halo), move_in(device_, own, true)};
}

std::vector<double> Evaluation::outputs(const Part& part, const Parameters& parameters, const KeptRows& embeddings) {
  Tape tape(device_, false);
  const Var fixed = Tape::constant(embeddings.rows(part.steps));
  const Var read = part.halo.apply(tape, communicator_, fixed);
  const Tensor outputs = plan_.model.task->head(tape, parameters, read, part.own.rows, part.own.count)->value;
  const SharedPeers& rows = part.placed.gathered;
  const PartScope gathered(device_, MemoryPart::buffers);
  const Tensor all = device_.allocate(rows->totals().rows, outputs.columns(), outputs.type());
  communicator_.all_gather_v(outputs, all, rows, Traffic::other);
  const std::vector<double> values = host_values(device_, all);
  if (!all.has_values()) return {};
  return in_task_order(values, part.samples, part.placed, plan_.strategy.spatial, outputs.columns());
}

std::map<std::string, double> Evaluation::metrics(const Parameters& parameters, const KeptRows& embeddings) {
  std::map<std::string, double> all;
  for (const Part& part : parts_) {
    const std::vector<double> values = outputs(part, parameters, embeddings);
    if (!device_.has_values()) continue;
    if (&part == &parts_.front()) equal_outputs_ = all_equal(values, plan_.model.task->classes());
    for (const auto& [name, value] : plan_.model.task->metrics(values, part.samples)) all[part.prefix + name] = value;
  }
  if (device_.has_values()) all.insert(plan_.data.samples->rules.begin(), plan_.data.samples->rules.end());
  return all;
}

std::vector<SavedMatrix> Evaluation::scores(const Parameters& parameters, const KeptRows& embeddings) {
  std::vector<SavedMatrix> all;
  for (const Part& part : parts_) {
    const std::vector<double> values = outputs(part, parameters, embeddings);
    if (!device_.has_values()) continue;
    all.push_back({part.prefix, 0, 0, plan_.model.task->scores(values, part.samples)});
  }
  return all;
}

}  // namespace strobe
