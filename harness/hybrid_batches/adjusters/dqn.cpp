#include "harness/hybrid_batches/adjusters/dqn.hpp"

#include <algorithm>
#include <cmath>

#include "harness/hybrid_batches/sampling/batch_sampler.hpp"

namespace strobe {

QNetwork::QNetwork(std::int64_t hidden, std::int64_t actions, const RandomStream& random)
    : w1(hidden), b1(Eigen::VectorXd::Zero(hidden)), w2(actions, hidden), b2(Eigen::VectorXd::Zero(actions)) {
  std::uint64_t next = 0;
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  for (std::int64_t i = 0; i < hidden; ++i) w1[i] = 2 * random.uniform(next++) - 1;
  for (std::int64_t i = 0; i < hidden; ++i) b1[i] = 2 * random.uniform(next++) - 1;
  for (std::int64_t a = 0; a < actions; ++a) {
    for (std::int64_t i = 0; i < hidden; ++i) w2(a, i) = bound * (2 * random.uniform(next++) - 1);
  }
}

Eigen::VectorXd QNetwork::values(double state) const { return w2 * (w1 * state + b1).cwiseMax(0.0) + b2; }

void QNetwork::descend(double state, std::int64_t action, double target, double rate) {
  const Eigen::VectorXd inner = w1 * state + b1, hidden = inner.cwiseMax(0.0);
  const double off = w2.row(action).dot(hidden) + b2[action] - target;
  const Eigen::VectorXd back = (inner.array() > 0).select(off * w2.row(action).transpose(), 0.0);
  w2.row(action) -= rate * off * hidden.transpose();
  b2[action] -= rate * off;
  w1 -= rate * state * back;
  b1 -= rate * back;
}

std::vector<double> QNetwork::numbers() const {
  std::vector<double> all(w1.begin(), w1.end());
  all.insert(all.end(), b1.begin(), b1.end());
  all.insert(all.end(), w2.data(), w2.data() + w2.size());
  all.insert(all.end(), b2.begin(), b2.end());
  return all;
}

void QNetwork::assign(const std::vector<double>& numbers, std::size_t from) {
  auto next = numbers.begin() + static_cast<std::ptrdiff_t>(from);
  const auto take = [&](double* to, std::int64_t count) {
    std::copy(next, next + count, to);
    next += count;
  };
  take(w1.data(), w1.size());
  take(b1.data(), b1.size());
  take(w2.data(), w2.size());
  take(b2.data(), b2.size());
}

DeepQ::DeepQ(std::int64_t actions, std::uint64_t seed, const DqnConstants& constants)
    : constants_(constants),
      random_(seed, random_purpose::batch_size),
      actions_(actions),
      network_(constants.hidden, actions, RandomStream(seed, random_purpose::batch_size, 1)),
      target_(network_),
      exploration_(constants.exploration) {}

std::int64_t DeepQ::act(double state) {
  const bool explores = random_.uniform(drawn_++) < exploration_;
  exploration_ = std::max(constants_.least_exploration, exploration_ * constants_.exploration_decay);
  if (explores) return static_cast<std::int64_t>(random_.below(drawn_++, static_cast<std::uint64_t>(actions_)));
  Eigen::Index best = 0;
  network_.values(state).maxCoeff(&best);
  return best;
}

void DeepQ::learn(const Experience& experience) {
  const std::size_t room = constants_.replay;
  if (replay_.size() < room) {
    replay_.push_back(experience);
  } else {
    replay_[static_cast<std::size_t>(kept_) % room] = experience;
  }
  ++kept_;
  std::vector<Experience> some;
  for (std::int64_t i = 0; i < constants_.sampled; ++i)
    some.push_back(replay_[random_.below(drawn_++, replay_.size())]);
  learn_from(some);
}

void DeepQ::learn_from(const std::vector<Experience>& experiences) {
  for (const Experience& one : experiences) {
    const double target = one.reward + constants_.discount * target_.values(one.next_state).maxCoeff();
    network_.descend(one.state, one.action, target, constants_.learning_rate);
  }
  if (++learnt_ % static_cast<std::uint64_t>(constants_.target_every) == 0) target_ = network_;
}

std::vector<double> DeepQ::state() const {
  std::vector<double> all = {exploration_, static_cast<double>(drawn_), static_cast<double>(learnt_),
                             static_cast<double>(kept_)};
  for (const QNetwork* network : {&network_, &target_}) {
    const std::vector<double> numbers = network->numbers();
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  for (const Experience& one : replay_)
    all.insert(all.end(), {one.state, static_cast<double>(one.action), one.reward, one.next_state});
  return all;
}

void DeepQ::restore(const std::vector<double>& state) {
  exploration_ = state.at(0);
  drawn_ = static_cast<std::uint64_t>(state.at(1));
  learnt_ = static_cast<std::uint64_t>(state.at(2));
  kept_ = static_cast<std::uint64_t>(state.at(3));
  const std::size_t size = network_.numbers().size();
  network_.assign(state, 4);
  target_.assign(state, 4 + size);
  replay_.clear();
  for (std::size_t i = 4 + 2 * size; i + 3 < state.size(); i += 4)
    replay_.push_back({state[i], static_cast<std::int64_t>(state[i + 1]), state[i + 2], state[i + 3]});
}

namespace {

/// Judges a choice when its stretch is over, by comparing its seconds and its loss reduction with those of the previous
/// stretch.
class DqnAdjuster final : public BatchAdjuster {
 public:
  explicit DqnAdjuster(const AdjusterSetting& setting)
      : printed_(setting.printed_reward),
        action_(static_cast<std::int64_t>(setting.first)),
        learner_(static_cast<std::int64_t>(setting.actions), setting.seed, setting.dqn) {}

  std::size_t choose(const StretchOutcome* outcome) override {
    if (outcome != nullptr && std::isfinite(outcome->loss)) observe(*outcome);
    return static_cast<std::size_t>(action_ = learner_.act(reduction_));
  }

  std::vector<double> state() const override {
    std::vector<double> all = {static_cast<double>(action_), static_cast<double>(seen_), loss_, seconds_, reduction_};
    const std::vector<double> learnt = learner_.state();
    all.insert(all.end(), learnt.begin(), learnt.end());
    return all;
  }
  void restore(const std::vector<double>& state) override {
    action_ = static_cast<std::int64_t>(state.at(0));
    seen_ = static_cast<std::int64_t>(state.at(1));
    loss_ = state.at(2), seconds_ = state.at(3), reduction_ = state.at(4);
    learner_.restore({state.begin() + 5, state.end()});
  }

 private:
  void observe(const StretchOutcome& outcome) {
    const double reduction = seen_ > 0 ? loss_ - outcome.loss : 0;
    // Comparing takes two reductions, and therefore three losses.
    if (seen_ > 1 && seconds_ > 0) {
      const double reward = reward_of({seconds_, outcome.seconds, reduction_, reduction}, printed_);
      if (std::isfinite(reward)) learner_.learn({reduction_, action_, reward, reduction});
    }
    ++seen_;
    loss_ = outcome.loss, seconds_ = outcome.seconds, reduction_ = reduction;
  }

  bool printed_;
  std::int64_t action_;
  DeepQ learner_;
  std::int64_t seen_ = 0;
  double loss_ = 0, seconds_ = 0, reduction_ = 0;  // of the previous stretch
};

}  // namespace

std::unique_ptr<BatchAdjuster> dqn_adjuster(const AdjusterSetting& setting) {
  return std::make_unique<DqnAdjuster>(setting);
}

}  // namespace strobe
