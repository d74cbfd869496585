// Deep Q-learning over batch sizes (Mnih et al., Nature 518, 2015; DynaHB, VLDB'24, section 5.1). The state is the loss
// reduction of the last stretch, and an action is a size.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "core/random.hpp"
#include "harness/hybrid_batches/adjusters/adjuster.hpp"

namespace strobe {

/// Q values of every action in a state: relu(w1 s + b1) [hidden], then w2 h + b2 [actions].
struct QNetwork {
  Eigen::VectorXd w1, b1;  // [hidden]
  Eigen::MatrixXd w2;      // [actions, hidden]
  Eigen::VectorXd b2;      // [actions]

  QNetwork(std::int64_t hidden, std::int64_t actions, const RandomStream& random);
  Eigen::VectorXd values(double state) const;
  /// A step of gradient descent on (values(state)[action] - target)^2 / 2.
  void descend(double state, std::int64_t action, double target, double rate);
  std::vector<double> numbers() const;
  void assign(const std::vector<double>& numbers, std::size_t from);
};

/// The result of one choice.
struct Experience {
  double state = 0;
  std::int64_t action = 0;
  double reward = 0, next_state = 0;
};

class DeepQ {
 public:
  DeepQ(std::int64_t actions, std::uint64_t seed, const DqnConstants& constants = {});

  /// A random action with the probability of exploring, which falls with every call; else the action with the largest
  /// value.
  std::int64_t act(double state);
  /// Keeps the experience, and learns from a random sample of the kept ones.
  void learn(const Experience& experience);
  /// One pass over the given experiences. The target network gives the targets: reward + discount max
  /// values(next_state).
  void learn_from(const std::vector<Experience>& experiences);
  const QNetwork& network() const { return network_; }
  double exploration() const { return exploration_; }

  std::vector<double> state() const;
  void restore(const std::vector<double>& state);

 private:
  DqnConstants constants_;
  RandomStream random_;
  std::int64_t actions_;
  QNetwork network_, target_;
  std::vector<Experience> replay_;  // a ring
  double exploration_;
  std::uint64_t drawn_ = 0, learnt_ = 0, kept_ = 0;
};

std::unique_ptr<BatchAdjuster> dqn_adjuster(const AdjusterSetting& setting);

}  // namespace strobe
