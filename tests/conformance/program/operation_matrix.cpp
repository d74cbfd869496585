// A named variant serves the cases that its kernel supports; for others a device takes its best kernel, which is judged
// under its own name. So a first pass notes which kernel a case would begin with, and runs none.
#include <fmt/format.h>

#include <algorithm>

#include "core/errors.hpp"
#include "tests/conformance/program/matrix.hpp"

namespace strobe::conformance {
namespace {

constexpr std::size_t enough_wrong = 3;  // of one variant: more tell nothing new

void judge_case(const OperationCase& one, const std::string& device, ElementType precision, Verdict& verdict) {
  const bool on_host = DeviceRegistry::instance().find(device).value.on_host;
  ++verdict.cases;
  if (verdict.wrong.size() >= enough_wrong) return;
  std::vector<std::string> wrong;
  try {
    wrong = check(one, device, precision, verdict.variant, on_host ? std::vector<int>{1, 2} : std::vector<int>{1});
  } catch (const std::exception& error) {
    wrong = {fmt::format("{}/{} {}: {}", one.operation, verdict.variant, one.name, error.what())};
  }
  for (const std::string& text : wrong)
    verdict.wrong.push_back(fmt::format("{} {}: {}", device, name_of(precision), text));
}

Cell judge(const OperationFamily& family, const std::string& device, ElementType precision) {
  const Numerics numerics = DeviceRegistry::instance().find(device).value.numerics;
  Cell cell{family.operation, device, precision, {}, {}};
  for (const auto& [name, variant] : variants_of_cases(family, numerics, device, precision, ""))
    cell.chosen[variant].push_back(name);
  for (const auto& [variant, priority] : family.priorities(numerics)) {
    Verdict verdict;
    verdict.variant = variant;
    const std::map<std::string, std::string> kernels = variants_of_cases(family, numerics, device, precision, variant);
    for (const OperationCase& one : *family.cases) {
      const auto kernel = kernels.find(one.name);
      if (kernel != kernels.end() && kernel->second == variant) judge_case(one, device, precision, verdict);
    }
    cell.variants.push_back(std::move(verdict));
  }
  return cell;
}

}  // namespace

std::size_t Cell::right() const {
  return static_cast<std::size_t>(
      std::count_if(variants.begin(), variants.end(), [](const Verdict& one) { return one.right(); }));
}

std::vector<std::string> Matrix::wrong() const {
  std::vector<std::string> all;
  for (const Cell& cell : cells) {
    for (const Verdict& verdict : cell.variants) all.insert(all.end(), verdict.wrong.begin(), verdict.wrong.end());
  }
  for (const SuiteVerdict& suite : suites) all.insert(all.end(), suite.wrong.begin(), suite.wrong.end());
  return all;
}

const char* name_of(ElementType precision) { return precision == ElementType::f32 ? "fp32" : "fp64"; }

Matrix matrix_of(const std::vector<std::string>& wanted) {
  Matrix matrix;
  const DeviceRegistry& known = DeviceRegistry::instance();
  for (const std::string& name : wanted.empty() ? known.names() : wanted) {
    if (known.find(name, "--device").value.needs_cluster()) {
      if (wanted.empty()) continue;
      throw InvalidRequest("--device",
                           fmt::format("{} runs on a described cluster and has no kernels of its own", name));
    }
    try {
      known.find(name).value(DeviceRequest{});
      matrix.devices.push_back(name);
    } catch (const Unavailable& reason) {
      if (!wanted.empty()) throw;
      matrix.absent[name] = reason.what();
    }
  }
  return matrix;
}

void judge_operations(Matrix& matrix, const std::vector<std::string>& wanted) {
  const std::vector<OperationFamily> families = operation_families();
  std::vector<std::string> names;
  for (const OperationFamily& family : families) names.push_back(family.operation);
  for (const std::string& name : wanted) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw InvalidRequest("--operation", unknown_name_message("operation", name, names));
  }
  for (const OperationFamily& family : families) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), family.operation) == wanted.end()) continue;
    for (const ElementType precision : {ElementType::f32, ElementType::f64}) {
      for (const std::string& device : matrix.devices) matrix.cells.push_back(judge(family, device, precision));
    }
  }
}

}  // namespace strobe::conformance
