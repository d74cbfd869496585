// Adjusters, which choose the size of batches during training (DynaHB, VLDB'24, section 5.1, Definitions 4 to 6).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace strobe {

/// The outcome of a stretch, which is the updates between two choices.
struct StretchOutcome {
  double seconds = 0;          // of an update, from its spans
  double loss = 0;             // of the updates' batches, or of a fixed batch after them
  double stretch_seconds = 0;  // of all updates
};

/// Definition 6, for two consecutive choices: the seconds of the last and the current one, and how much they reduced
/// the loss. With `printed` it is Eq. 3 as printed. Otherwise the loss's part is divided by |last reduction|, and the
/// sum is kept within [-1, 1] (decisions 5.3, D8).
struct RewardInput {
  double last_seconds = 0, seconds = 0;
  double last_reduction = 0, reduction = 0;
};
double reward_of(const RewardInput& input, bool printed);

class BatchAdjuster {
 public:
  virtual ~BatchAdjuster() = default;
  /// The size to take next. `outcome` is that of the current size; null at the first call.
  virtual std::size_t choose(const StretchOutcome* outcome) = 0;
  /// All numbers on which later choices depend.
  virtual std::vector<double> state() const = 0;
  virtual void restore(const std::vector<double>& state) = 0;
};

/// Constants of deep Q-learning. The first line holds the paper's, the second line those that it does not state.
struct DqnConstants {
  double discount = 0.99, exploration = 1, exploration_decay = 0.95, least_exploration = 0.1, learning_rate = 0.005;
  std::int64_t hidden = 16, replay = 512, sampled = 16, target_every = 20;
};

/// The facts that adjusters know before training.
struct AdjusterSetting {
  std::string kind;         // dqn | random | bandit | best_fixed | cost | marginal
  std::size_t actions = 1;  // number of sizes
  std::size_t first = 0;    // used until there is a choice
  std::uint64_t seed = 1;
  bool printed_reward = false;
  DqnConstants dqn;
  /// [actions] by a cost model: the cost of an update, in seconds or an arbitrary unit, and its target cells.
  std::vector<double> cost, target_cells;
};

/// Null for `none`.
std::unique_ptr<BatchAdjuster> make_adjuster(const AdjusterSetting& setting);

/// Random choices, all equally likely.
std::unique_ptr<BatchAdjuster> random_adjuster(const AdjusterSetting& setting);
/// Upper confidence bounds over the mean loss reduction per second of each size (UCB1: Auer et al., Machine Learning
/// 47, 2002), scaled to [0, 1].
std::unique_ptr<BatchAdjuster> bandit_adjuster(const AdjusterSetting& setting);
/// Tries every size three times in turn, then keeps the one that reduced the loss most per second.
std::unique_ptr<BatchAdjuster> best_fixed_adjuster(const AdjusterSetting& setting);
/// The square root of target cells per cost, by size [actions]. The standard error of a mean gradient falls with
/// this root.
std::vector<double> worths(const AdjusterSetting& setting);
/// The size that is worth most.
std::unique_ptr<BatchAdjuster> cost_adjuster(const AdjusterSetting& setting);

}  // namespace strobe
