#include "harness/advisor/plan_subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "results/answer/case_difference.hpp"

namespace strobe {
namespace {

/// The widths of a model that decide its cost.
constexpr const char* widths[] = {"hidden", "memory", "embedding"};

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

/// "; hidden=6 is a default for tests, set model.hidden"; "" when the user gave every width.
std::string defaults_text(const Case& c, const std::string& request) {
  std::string text;
  for (const char* width : widths) {
    if (!c.model.contains(width) || request.find(width) != std::string::npos) continue;
    text += fmt::format("; {}={} is a default for tests, give --model {}:{}=N", width, c.model.at(width).dump(),
                        c.model.at("name").get<std::string>(), width);
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
    text += fmt::format("model      {}{}\n", value_at({{"model", c->model}}, "model"), defaults_text(*c, request));
  text += fmt::format("task       {}\nprecision  {}, memory {}\n", value_at({{"task", first.task}}, "task"),
                      first.precision, memory_text(first));
  if (cases.size() > 1 && report.until.empty())
    text += "Epochs of different models are other work, so each model has a front of its own; --until compares them.\n";
  return text;
}

}  // namespace strobe
