// Returns shares and means over orders. An order has the printed times of one experiment that a description ranks
// against each other. Invariants: a time without a prediction is in no order; an order whose fastest printed times are
// equal has no winner. Cost: O(n^2) per order.
#include "harness/validation/published_orders.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace strobe {
namespace {

/// The times of one order, [n] each, with a printed and a predicted value. `software` may have fewer; it is then
/// ignored.
struct Ordered {
  std::vector<double> printed, predicted, baseline, software;
};

std::map<std::string, Ordered> orders_of(const PublishedPaper& paper) {
  std::map<std::string, Ordered> orders;
  for (const PublishedValue& value : paper.values) {
    if (value.quantity != "epoch_seconds" || value.order.empty() || !value.printed || !value.predicted) continue;
    Ordered& order = orders[value.experiment + " " + value.order];
    order.printed.push_back(*value.printed);
    order.predicted.push_back(*value.predicted);
    order.baseline.push_back(*value.baseline);
    if (value.software) order.software.push_back(*value.software);
  }
  return orders;
}

/// The agreement of one kind of prediction over all orders.
struct Agreement {
  Share pairs, winners;
  double tau = 0;
  int orders = 0;

  void add(const std::vector<double>& printed, const std::vector<double>& predicted) {
    if (predicted.size() != printed.size() || printed.size() < 2) return;
    const Share own = ordered_pairs(printed, predicted);
    pairs = {pairs.right + own.right, pairs.of + own.of};
    const auto fastest = std::min_element(printed.begin(), printed.end());
    if (std::count(printed.begin(), printed.end(), *fastest) == 1) {
      winners.right +=
          std::min_element(predicted.begin(), predicted.end()) - predicted.begin() == fastest - printed.begin();
      ++winners.of;
    }
    const std::optional<double> one = kendall_tau_b(printed, predicted);
    if (!one) return;
    tau += *one;
    ++orders;
  }
  std::optional<double> mean_tau() const {
    if (orders == 0) return std::nullopt;
    return tau / orders;
  }
};

}  // namespace

void take_orders(const std::vector<PublishedPaper>& papers, PublishedSummary& summary) {
  Agreement own, baseline, software;
  for (const PublishedPaper& paper : papers) {
    for (const auto& [name, order] : orders_of(paper)) {
      own.add(order.printed, order.predicted);
      baseline.add(order.printed, order.baseline);
      software.add(order.printed, order.software);
    }
  }
  summary.order = own.pairs;
  summary.winners = own.winners;
  summary.tau = own.mean_tau();
  summary.baseline_order = baseline.pairs;
  summary.baseline_winners = baseline.winners;
  summary.baseline_tau = baseline.mean_tau();
  summary.software_order = software.pairs;
  summary.software_winners = software.winners;
  summary.software_tau = software.mean_tau();
}

}  // namespace strobe
