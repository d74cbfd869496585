// The law of generated events whose best possible prediction is known: sources with hidden states that decide whom they
// hit and when.
//
// A source has a state, one of K communities. It waits an exponential time, whose rate belongs to the state, and hits a
// target: with probability `noise` any target, otherwise one of its state's community, uniformly. Then, with
// probability `drift`, its state becomes the next community, K - 1 followed by 0. States begin uniform at time 0.
// Sources are independent of each other, given the communities of targets. So the posterior of a source's state follows
// from its own events alone, by the forward recursion of a hidden Markov model (Rabiner, Proceedings of the IEEE 77
// (1989), section III.A).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/ids.hpp"

namespace strobe {

struct PlantedLinks {
  std::int64_t communities = 0;  // K; 0 = the law of the events is not known
  VertexId first_target = 0;     // sources are [0, first_target)
  std::int64_t targets = 0;      // [first_target, first_target + targets)
  double drift = 0, noise = 0;   // probabilities
  double rate = 1, tempo = 1;    // events a second of a source in an even state, and how much faster odd ones are

  std::int64_t community_of(VertexId target) const { return (target - first_target) % communities; }
  /// The number of targets of `community`.
  std::int64_t size_of(std::int64_t community) const {
    return targets / communities + (community < targets % communities ? 1 : 0);
  }
  double rate_of(std::int64_t state) const { return state % 2 == 0 ? rate : rate * tempo; }
  friend bool operator==(const PlantedLinks&, const PlantedLinks&) = default;
};

/// The posterior of the states of all sources. O(K) an event.
class PlantedFilter {
 public:
  explicit PlantedFilter(const PlantedLinks& law) : law_(law), share_(static_cast<std::size_t>(law.communities)) {}

  /// Looks at the next event of `source`, which happens at `time`, not yet at its target.
  void look(VertexId source, double time);
  /// The probability of the event's target to be `target`, given all earlier events of the source and its time.
  double probability(VertexId target) const;
  /// The posterior of the source's state during the event, before the target is known [K].
  const std::vector<double>& states() const { return share_; }
  /// Learns the event's target.
  void learn(VertexId target);

 private:
  struct Known {
    std::vector<double> share;  // [K] posterior of the state after the newest event
    double time = 0;            // of that event
  };

  PlantedLinks law_;
  std::unordered_map<VertexId, Known> known_;
  VertexId source_ = 0;
  double time_ = 0;
  std::vector<double> share_;
};

}  // namespace strobe
