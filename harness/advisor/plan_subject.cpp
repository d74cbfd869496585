#include "harness/advisor/plan_subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "models/snapshots/model.hpp"
#include "results/answer/case_difference.hpp"

namespace strobe {
namespace {

/// The cases of the points, one for each model, in their order.
std::vector<const Case*> cases_by_model(const PlanReport& report) {
  std::vector<const Case*> cases;
  for (const PlanOutcome& outcome : report.outcomes) {
    const Case& own = outcome.point.request;
    if (std::none_of(cases.begin(), cases.end(), [&](const Case* one) { return one->model == own.model; }))
      cases.push_back(&own);
  }
  return cases;
}

/// "; sizes of the paper (dysat:preset=paper)", or that a width is one of tests; "" when the user gave every width.
std::string sizes_text(const Case& c, const std::string& request) {
  const std::string name = c.model.at("name"), preset = preset_of(c.model);
  if (preset == "paper") return fmt::format("; sizes of the paper ({}:{}=paper)", name, preset_key);
  if (preset == "small") return fmt::format("; sizes for tests ({}:{}=small), a paper's are larger", name, preset_key);
  if (!preset.empty()) return fmt::format("; sizes of {}:{}={}", name, preset_key, preset);
  std::string text;
  for (const char* width : model_widths) {
    const Json value = c.model.value(width, Json());
    if (!value.is_number() || value == 0 || request.find(width) != std::string::npos) continue;
    text +=
        fmt::format("; {}={} is a default for tests, change it with --model {}:{}=N", width, value.dump(), name, width);
  }
  return text;
}

std::string memory_text(const Case& c) {
  return c.memory_limit_gib > 0 ? fmt::format("{:.4g} GiB a GPU", c.memory_limit_gib) : "that of each GPU";
}

}  // namespace

std::string subject_text(const PlanReport& report) {
  const std::vector<const Case*> cases = cases_by_model(report);
  if (cases.empty()) return "";
  const Case& first = *cases.front();
  const std::string workload = value_at({{"workload", first.workload}}, "workload");
  std::string text = fmt::format("workload   {}\n", report.request.value("workload", workload));
  const std::string request = report.request.dump();
  for (const Case* c : cases)
    text += fmt::format("model      {}{}\n", value_at({{"model", c->model}}, "model"), sizes_text(*c, request));
  text += fmt::format("task       {}\nprecision  {}, memory {}\n", value_at({{"task", first.task}}, "task"),
                      first.precision, memory_text(first));
  if (cases.size() > 1 && report.until.empty())
    text +=
        "Epochs of different models are different work, so each model has its own front; --until compares models.\n";
  return text;
}

}  // namespace strobe
