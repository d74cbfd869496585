// Simulated points that several searches of one test share.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/advisor/plan_search.hpp"

namespace strobe::test {

/// Simulates 10 epochs of each point once, however often points are asked for: virtual time is the same each time. Give
/// it to searches with std::ref.
class Simulations {
 public:
  std::vector<PlanOutcome> operator()(const std::vector<PlanPoint>& points) {
    std::vector<PlanPoint> unknown;
    for (const PlanPoint& point : points)
      if (!outcomes_.contains(point.id)) unknown.push_back(point);
    for (PlanOutcome& outcome : evaluate(unknown, 10, 2)) {
      const std::string id = outcome.point.id;
      outcomes_.emplace(id, std::move(outcome));
    }
    std::vector<PlanOutcome> asked;
    for (const PlanPoint& point : points) {
      asked.push_back(outcomes_.at(point.id));
      asked.back().point = point;
    }
    return asked;
  }

  /// Points simulated so far.
  std::size_t size() const { return outcomes_.size(); }

 private:
  std::map<std::string, PlanOutcome> outcomes_;
};

}  // namespace strobe::test
