#include "models/tasks/task_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/errors.hpp"
#include "models/tasks/protocols/protocol.hpp"
#include "models/tasks/task.hpp"

namespace strobe {
namespace {

/// Borders are rounded down; a share as 0.29 has no exact double, and 0.29 * 100 must not become 28.
constexpr double rounding = 1e-9;

using Shares = std::array<double, 3>;

[[noreturn]] void refuse(const std::string& where, const std::string& split) {
  throw InvalidRequest(where,
                       "expected the shares of training, validation and test, which sum to 100 or to 1, such as "
                       "70/15/15, with more than 0 for training and for test; found '" +
                           split + "'");
}

std::int64_t border(double share, std::int64_t steps) {
  return static_cast<std::int64_t>(std::floor(share * static_cast<double>(steps) + rounding));
}

}  // namespace

std::array<double, 3> split_shares(const std::string& split, const std::string& where) {
  Shares shares{};
  const char* at = split.data();
  const char* const end = at + split.size();
  for (std::size_t part = 0; part < shares.size(); ++part) {
    const auto read = std::from_chars(at, end, shares[part]);
    if (read.ec != std::errc() || !std::isfinite(shares[part]) || std::signbit(shares[part])) refuse(where, split);
    at = read.ptr;
    if (part + 1 == shares.size()) break;
    if (at == end || *at != '/') refuse(where, split);
    ++at;
  }
  const double sum = shares[0] + shares[1] + shares[2];
  const double whole = sum > 50 ? 100 : 1;
  if (at != end || std::abs(sum / whole - 1) > rounding || shares[0] == 0 || shares[2] == 0) refuse(where, split);
  for (double& share : shares) share /= whole;
  return shares;
}

StepSplit split_steps(std::int64_t steps, const std::string& split, const std::string& task) {
  const Shares shares = split_shares(split, "/task/split");
  const std::int64_t validates = shares[1] > 0 ? 1 : 0;
  if (steps < 2 + validates) {
    throw InvalidRequest("/workload", fmt::format("{} with split={} needs at least {} steps, this graph has {}; take "
                                                  "narrower windows",
                                                  task, split, 2 + validates, steps));
  }
  StepSplit parts;
  parts.train = std::clamp<std::int64_t>(border(shares[0], steps), 1, steps - 1 - validates);
  if (validates != 0) {
    parts.validation =
        std::clamp<std::int64_t>(border(shares[0] + shares[1], steps) - parts.train, 1, steps - 1 - parts.train);
  }
  parts.test = steps - parts.train - parts.validation;
  return parts;
}

Json complete_task_parameters(const std::string& task, const Json& values, const std::string& pointer) {
  Json complete = TaskRegistry::instance().find(task, pointer + "/name").parameters.complete(values, pointer);
  if (complete.contains("protocol")) complete = with_protocol(values, std::move(complete), pointer);
  if (complete.value("protocol", "") == "none") complete.erase("protocol"), complete.erase("negatives_file");
  if (complete.value("negatives_file", "none").empty()) complete.erase("negatives_file");
  if (complete.value("kept_out", 1.0) == 0) complete.erase("kept_out");
  if (complete.value("self_pairs", "") == "allowed") complete.erase("self_pairs");
  complete.erase("score_with");  // has one value
  if (!complete.contains("split")) return complete;
  const std::string split = complete["split"].get<std::string>();
  if (split.empty()) {
    complete.erase("split");
    return complete;
  }
  const Shares shares = split_shares(split, pointer + "/split");
  if (values.is_object() && values.contains("train_share") &&
      std::abs(values["train_share"].get<double>() - shares[0]) > rounding) {
    throw InvalidRequest(pointer + "/train_share",
                         fmt::format("train_share={} and split={} differ in what is trained on; leave one of them out",
                                     values["train_share"].get<double>(), split));
  }
  complete.erase("train_share");
  complete["split"] = fmt::format("{:.12g}/{:.12g}/{:.12g}", 100 * shares[0], 100 * shares[1], 100 * shares[2]);
  return complete;
}

}  // namespace strobe
