#include "harness/hybrid_batches/adjusters/adjuster.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "harness/hybrid_batches/adjusters/dqn.hpp"
#include "harness/hybrid_batches/adjusters/marginal.hpp"
#include "harness/hybrid_batches/sampling/batch_sampler.hpp"

namespace strobe {
namespace {

class RandomAdjuster final : public BatchAdjuster {
 public:
  explicit RandomAdjuster(const AdjusterSetting& setting)
      : actions_(setting.actions), random_(setting.seed, random_purpose::batch_size) {}
  std::size_t choose(const StretchOutcome*) override {
    return static_cast<std::size_t>(random_.below(choices_++, actions_));
  }
  std::vector<double> state() const override { return {static_cast<double>(choices_)}; }
  void restore(const std::vector<double>& state) override { choices_ = static_cast<std::uint64_t>(state.at(0)); }

 private:
  std::size_t actions_;
  RandomStream random_;
  std::uint64_t choices_ = 0;
};

/// Loss reduction per second of each size, summed over its turns.
class Tally {
 public:
  explicit Tally(std::size_t actions) : turns_(actions, 0), gains_(actions, 0) {}

  void add(std::size_t action, const StretchOutcome& outcome) {
    if (has_loss_ && std::isfinite(outcome.loss) && outcome.stretch_seconds > 0) {
      turns_[action] += 1;
      gains_[action] += (last_loss_ - outcome.loss) / outcome.stretch_seconds;
    }
    has_loss_ = true;
    last_loss_ = outcome.loss;
  }
  double turns(std::size_t action) const { return turns_[action]; }
  double mean(std::size_t action) const { return turns_[action] > 0 ? gains_[action] / turns_[action] : 0; }
  std::size_t count() const { return turns_.size(); }
  std::size_t best() const {
    std::size_t best = 0;
    for (std::size_t a = 1; a < count(); ++a) best = mean(a) > mean(best) ? a : best;
    return best;
  }

  std::vector<double> state() const {
    std::vector<double> all = {has_loss_ ? 1.0 : 0.0, last_loss_};
    all.insert(all.end(), turns_.begin(), turns_.end());
    all.insert(all.end(), gains_.begin(), gains_.end());
    return all;
  }
  void restore(const std::vector<double>& state, std::size_t from) {
    has_loss_ = state.at(from) != 0;
    last_loss_ = state.at(from + 1);
    for (std::size_t a = 0; a < count(); ++a) {
      turns_[a] = state.at(from + 2 + a);
      gains_[a] = state.at(from + 2 + count() + a);
    }
  }

 private:
  bool has_loss_ = false;
  double last_loss_ = 0;
  std::vector<double> turns_, gains_;
};

/// Chooses by a tally; subclasses define `next`.
class TallyAdjuster : public BatchAdjuster {
 public:
  explicit TallyAdjuster(const AdjusterSetting& setting) : tally_(setting.actions), current_(setting.first) {}
  std::size_t choose(const StretchOutcome* outcome) override {
    if (outcome != nullptr) tally_.add(current_, *outcome);
    return current_ = next(tally_);
  }
  std::vector<double> state() const override {
    std::vector<double> all = {static_cast<double>(current_)};
    const std::vector<double> tally = tally_.state();
    all.insert(all.end(), tally.begin(), tally.end());
    return all;
  }
  void restore(const std::vector<double>& state) override {
    current_ = static_cast<std::size_t>(state.at(0));
    tally_.restore(state, 1);
  }

 private:
  virtual std::size_t next(const Tally& tally) const = 0;

  Tally tally_;
  std::size_t current_;
};

class BanditAdjuster final : public TallyAdjuster {
 public:
  using TallyAdjuster::TallyAdjuster;

 private:
  std::size_t next(const Tally& tally) const override {
    double least = std::numeric_limits<double>::infinity(), most = -least, turns = 0;
    for (std::size_t a = 0; a < tally.count(); ++a) {
      if (tally.turns(a) == 0) return a;
      least = std::min(least, tally.mean(a));
      most = std::max(most, tally.mean(a));
      turns += tally.turns(a);
    }
    const double range = most > least ? most - least : 1;
    const auto bound = [&](std::size_t a) {
      return (tally.mean(a) - least) / range + std::sqrt(2 * std::log(turns) / tally.turns(a));
    };
    std::size_t best = 0;
    for (std::size_t a = 1; a < tally.count(); ++a) best = bound(a) > bound(best) ? a : best;
    return best;
  }
};

class BestFixedAdjuster final : public TallyAdjuster {
 public:
  using TallyAdjuster::TallyAdjuster;

 private:
  std::size_t next(const Tally& tally) const override {
    constexpr double trials = 3;
    for (std::size_t a = 0; a < tally.count(); ++a) {
      if (tally.turns(a) < trials) return a;
    }
    return tally.best();
  }
};

class FixedAdjuster final : public BatchAdjuster {
 public:
  explicit FixedAdjuster(std::size_t action) : action_(action) {}
  std::size_t choose(const StretchOutcome*) override { return action_; }
  std::vector<double> state() const override { return {}; }
  void restore(const std::vector<double>&) override {}

 private:
  std::size_t action_;
};

}  // namespace

double reward_of(const RewardInput& input, bool printed) {
  const double time = (input.last_seconds - input.seconds) / input.last_seconds;
  const double change = input.reduction - input.last_reduction;
  if (printed) return time + change / input.reduction;
  constexpr double least = 1e-6;
  return std::clamp(time + change / std::max(std::abs(input.last_reduction), least), -1.0, 1.0);
}

std::unique_ptr<BatchAdjuster> random_adjuster(const AdjusterSetting& setting) {
  return std::make_unique<RandomAdjuster>(setting);
}
std::unique_ptr<BatchAdjuster> bandit_adjuster(const AdjusterSetting& setting) {
  return std::make_unique<BanditAdjuster>(setting);
}
std::unique_ptr<BatchAdjuster> best_fixed_adjuster(const AdjusterSetting& setting) {
  return std::make_unique<BestFixedAdjuster>(setting);
}

std::vector<double> worths(const AdjusterSetting& setting) {
  std::vector<double> all;
  for (std::size_t a = 0; a < setting.actions; ++a)
    all.push_back(std::sqrt(setting.target_cells.at(a)) / setting.cost.at(a));
  return all;
}

std::unique_ptr<BatchAdjuster> cost_adjuster(const AdjusterSetting& setting) {
  const std::vector<double> worth = worths(setting);
  return std::make_unique<FixedAdjuster>(
      static_cast<std::size_t>(std::max_element(worth.begin(), worth.end()) - worth.begin()));
}

std::unique_ptr<BatchAdjuster> make_adjuster(const AdjusterSetting& setting) {
  if (setting.kind == "none") return nullptr;
  if (setting.kind == "random") return random_adjuster(setting);
  if (setting.kind == "bandit") return bandit_adjuster(setting);
  if (setting.kind == "best_fixed") return best_fixed_adjuster(setting);
  if (setting.kind == "cost") return cost_adjuster(setting);
  if (setting.kind == "dqn") return dqn_adjuster(setting);
  if (setting.kind == "marginal") return marginal_adjuster(setting);
  throw Error("no adjuster is called " + setting.kind);
}

}  // namespace strobe
