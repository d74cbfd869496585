// Who chooses the size of batches while training goes on (DynaHB, VLDB'24, section 5.1, Definitions 4 to 6).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace strobe {

/// What the updates of one choice came to.
struct StretchOutcome {
  double seconds = 0;  // of an update, from its spans
  double loss = 0;     // behind it
};

/// Definition 6 between two choices: what the last one and the current one took, and by how much they reduced the loss.
/// `printed` is Eq. 3 as it stands; else the loss's part is divided by |last reduction| and both parts together are
/// kept within [-1, 1] (decisions 5.3, D8).
struct RewardInput {
  double last_seconds = 0, seconds = 0;
  double last_reduction = 0, reduction = 0;
};
double reward_of(const RewardInput& input, bool printed);

class BatchAdjuster {
 public:
  virtual ~BatchAdjuster() = default;
  /// The size to take next, behind what the one in force came to; the first call chooses without.
  virtual std::size_t choose(const StretchOutcome* outcome) = 0;
  /// All that later choices depend on, as numbers.
  virtual std::vector<double> state() const = 0;
  virtual void restore(const std::vector<double>& state) = 0;
};

/// Of deep Q-learning. The paper's constants; behind them those that it does not state.
struct DqnConstants {
  double discount = 0.99, exploration = 1, exploration_decay = 0.95, least_exploration = 0.1, learning_rate = 0.005;
  std::int64_t hidden = 16, replay = 512, sampled = 16, target_every = 20;
};

/// What adjusters know beforehand.
struct AdjusterSetting {
  std::string kind;         // dqn | random | bandit | best_fixed | cost
  std::size_t actions = 1;  // there are
  std::size_t first = 0;    // in force until there is a choice
  std::uint64_t seed = 1;
  bool printed_reward = false;
  DqnConstants dqn;
  /// [actions] by a model of costs: work of an update, in seconds of a common unit, and its target cells.
  std::vector<double> cost, target_cells;
};

/// Null for `none`.
std::unique_ptr<BatchAdjuster> make_adjuster(const AdjusterSetting& setting);

/// Each choice by chance, evenly.
std::unique_ptr<BatchAdjuster> random_adjuster(const AdjusterSetting& setting);
/// Upper confidence bounds over the mean of what each size reduced the loss by in a second (UCB1: Auer et al., Machine
/// Learning 47, 2002), scaled to [0, 1].
std::unique_ptr<BatchAdjuster> bandit_adjuster(const AdjusterSetting& setting);
/// Every size three times in turn, then for good the one that reduced the loss most in a second.
std::unique_ptr<BatchAdjuster> best_fixed_adjuster(const AdjusterSetting& setting);
/// The size whose square root of target cells is largest for its cost: the standard error of a mean gradient falls so.
std::unique_ptr<BatchAdjuster> cost_adjuster(const AdjusterSetting& setting);

}  // namespace strobe
