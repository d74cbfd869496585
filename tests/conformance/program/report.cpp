// The matrix in words and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/fields.hpp"
#include "tests/conformance/program/matrix.hpp"

namespace strobe::conformance {
namespace {

constexpr std::size_t widest_name = 31;

/// "2/3": two of three variants are right. "-": the device has no kernel of the operation.
std::string shown(const Cell& cell) {
  return cell.variants.empty() ? "-" : fmt::format("{}/{}", cell.right(), cell.variants.size());
}

/// "plain 3 cases, vector 17".
std::string choices(const Cell& cell) {
  std::string text;
  for (const auto& [variant, cases] : cell.chosen)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", variant, cases.size());
  return text;
}

std::string table(const Matrix& matrix) {
  std::string text = fmt::format("{:<{}} {:<9}", "operation", widest_name, "precision");
  for (const std::string& device : matrix.devices) text += fmt::format(" {:<12}", device);
  text += " chosen by itself, and for how many cases";
  std::string last, chosen;
  for (const Cell& cell : matrix.cells) {
    const std::string row = fmt::format("\n{:<{}} {:<9}", cell.operation, widest_name, name_of(cell.precision));
    if (row != last) text += last = row;
    text += fmt::format(" {:<12}", shown(cell));
    chosen += (matrix.devices.size() > 1 ? " " + cell.device + ": " : " ") + choices(cell);
    if (cell.device == matrix.devices.back()) text += std::exchange(chosen, "");
  }
  return text + "\n";
}

std::string unjudged(const Matrix& matrix) {
  std::string text;
  for (const Cell& cell : matrix.cells) {
    for (const Verdict& one : cell.variants) {
      if (one.cases == 0)
        text += fmt::format("not judged: {}/{} on {} in {}, which supports none of the cases\n", cell.operation,
                            one.variant, cell.device, name_of(cell.precision));
    }
  }
  return text;
}

Json cell_json(const Cell& cell) {
  Json variants = Json::array();
  for (const Verdict& one : cell.variants)
    variants.push_back({{"variant", one.variant}, {"cases", one.cases}, {"right", one.right()}, {"wrong", one.wrong}});
  Json chosen = Json::object();
  for (const auto& [variant, cases] : cell.chosen) chosen[variant] = cases;
  return {{"operation", cell.operation},
          {"precision", name_of(cell.precision)},
          {"device", cell.device},
          {"variants", variants},
          {"chosen", chosen}};
}

}  // namespace

std::string text_of(const Matrix& matrix) {
  std::string text = matrix.cells.empty() ? "" : table(matrix);
  for (const SuiteVerdict& suite : matrix.suites)
    text += fmt::format("{} on {}: {} of {} cases right\n", suite.suite, suite.device, suite.cases - suite.wrong.size(),
                        suite.cases);
  std::set<std::string> reasons;  // devices of one GPU share theirs
  for (const auto& [device, reason] : matrix.absent) reasons.insert(reason);
  for (const std::string& reason : reasons) text += fmt::format("not there: {}\n", reason);
  text += unjudged(matrix);
  for (const std::string& wrong : matrix.wrong()) text += "wrong: " + wrong + "\n";
  return text;
}

std::string json_of(const Matrix& matrix) {
  Json json{
      {"devices", matrix.devices}, {"absent", matrix.absent}, {"operations", Json::array()}, {"suites", Json::array()}};
  for (const Cell& cell : matrix.cells) json["operations"].push_back(cell_json(cell));
  for (const SuiteVerdict& one : matrix.suites)
    json["suites"].push_back(
        {{"suite", one.suite}, {"device", one.device}, {"cases", one.cases}, {"wrong", one.wrong}});
  return json.dump(2) + "\n";
}

}  // namespace strobe::conformance
