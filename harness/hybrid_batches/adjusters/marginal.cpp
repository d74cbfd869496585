#include "harness/hybrid_batches/adjusters/marginal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace strobe {

MarginalRates::MarginalRates(std::vector<double> worth, const MarginalConstants& constants)
    : constants_(constants),
      worth_(std::move(worth)),
      turns_(worth_.size(), 0),
      sums_(worth_.size(), 0),
      squares_(worth_.size(), 0) {}

void MarginalRates::add(std::size_t action, double rate) {
  for (std::vector<double>* kept : {&turns_, &sums_, &squares_})
    for (double& value : *kept) value *= constants_.discount;
  turns_.at(action) += 1;
  sums_[action] += rate;
  squares_[action] += rate * rate;
}

double MarginalRates::scale() const {
  double expected = 0;
  for (std::size_t a = 0; a < worth_.size(); ++a) expected += turns_[a] * worth_[a];
  // When the loss rose, the law says nothing about the order of sizes.
  return expected > 0 ? std::max(0.0, std::accumulate(sums_.begin(), sums_.end(), 0.0) / expected) : 0;
}

double MarginalRates::estimate(std::size_t action) const {
  const double prior = constants_.prior_turns;
  return (sums_[action] + prior * scale() * worth_[action]) / (turns_[action] + prior);
}

double MarginalRates::deviation() const {
  double squares = 0, turns = 0;
  for (std::size_t a = 0; a < worth_.size(); ++a) {
    const double mean = estimate(a);
    squares += squares_[a] - 2 * mean * sums_[a] + turns_[a] * mean * mean;
    turns += turns_[a];
  }
  double mean = 0, spread = 0;
  const auto sizes = static_cast<double>(worth_.size());
  for (const double worth : worth_) mean += worth / sizes;
  for (const double worth : worth_) spread += (worth - mean) * (worth - mean) / std::max(1.0, sizes - 1);
  const double expected = scale() * std::sqrt(spread);
  return std::max(expected, turns > 0 ? std::sqrt(std::max(0.0, squares / turns)) : 0);
}

double MarginalRates::bound(std::size_t action) const {
  const double turns = std::accumulate(turns_.begin(), turns_.end(), 0.0);
  const double wide = 4 * constants_.confidence * std::log1p(turns) / (turns_[action] + constants_.prior_turns);
  return estimate(action) + deviation() * std::sqrt(wide);
}

std::size_t MarginalRates::best() const {
  const bool none = std::all_of(turns_.begin(), turns_.end(), [](double turns) { return turns == 0; });
  std::vector<double> all = worth_;
  for (std::size_t a = 0; !none && a < all.size(); ++a) all[a] = bound(a);
  return static_cast<std::size_t>(std::max_element(all.begin(), all.end()) - all.begin());
}

std::vector<double> MarginalRates::state() const {
  std::vector<double> all = turns_;
  all.insert(all.end(), sums_.begin(), sums_.end());
  all.insert(all.end(), squares_.begin(), squares_.end());
  return all;
}

void MarginalRates::restore(const std::vector<double>& state) {
  auto next = state.begin();
  for (std::vector<double>* kept : {&turns_, &sums_, &squares_}) {
    std::copy(next, next + static_cast<std::ptrdiff_t>(kept->size()), kept->begin());
    next += static_cast<std::ptrdiff_t>(kept->size());
  }
}

namespace {

class MarginalAdjuster final : public BatchAdjuster {
 public:
  explicit MarginalAdjuster(const AdjusterSetting& setting) : rates_(worths(setting)), current_(setting.first) {}

  std::size_t choose(const StretchOutcome* outcome) override {
    if (outcome != nullptr && std::isfinite(outcome->loss)) observe(*outcome);
    return current_ = rates_.best();
  }

  std::vector<double> state() const override {
    std::vector<double> all = {static_cast<double>(current_), seconds_, loss_};
    const std::vector<double> rates = rates_.state();
    all.insert(all.end(), rates.begin(), rates.end());
    return all;
  }
  void restore(const std::vector<double>& state) override {
    current_ = static_cast<std::size_t>(state.at(0));
    seconds_ = state.at(1), loss_ = state.at(2);
    rates_.restore({state.begin() + 3, state.end()});
  }

 private:
  void observe(const StretchOutcome& outcome) {
    const double seconds = seconds_ + outcome.stretch_seconds;
    // The loss before the first turn is not known.
    if (seconds_ > 0 && seconds > seconds_ && loss_ > 0 && outcome.loss > 0)
      rates_.add(current_, std::log(loss_ / outcome.loss) / std::log(seconds / seconds_));
    seconds_ = seconds, loss_ = outcome.loss;
  }

  MarginalRates rates_;
  std::size_t current_;
  double seconds_ = 0;  // of all turns
  double loss_ = 0;     // after the last one
};

}  // namespace

std::unique_ptr<BatchAdjuster> marginal_adjuster(const AdjusterSetting& setting) {
  return std::make_unique<MarginalAdjuster>(setting);
}

}  // namespace strobe
