// The branching form of a Hawkes process. Exponential waiting times have no memory, so any of the waiting events is
// equally likely to be the next, at a rate in proportion to their number. No parent need be looked for.
// Cost: three random numbers for an event that another set off, four for a spontaneous one.
// Source: Hawkes and Oakes, "A cluster process representation of a self-exciting process", Journal of Applied
// Probability 11 (1974).
#include "workloads/generators/bursty_arrivals.hpp"

#include <algorithm>
#include <cmath>

#include "workloads/generators/bursty_channels.hpp"
#include "workloads/generators/weighted_choice.hpp"

namespace strobe {
namespace {

/// A source for every event that no other set off: drawn by activity, or named in turn.
class OwnSources {
 public:
  OwnSources(const BurstyParameters& parameters, std::uint64_t seed)
      : order_(static_cast<std::uint64_t>(parameters.source_count()), generator_stream(seed, bursty_activity)),
        choice_(ranked_weights(order_, parameters.skew), std::vector{static_cast<std::size_t>(order_.size())}),
        turns_(introduction_turns(static_cast<double>(parameters.events) * (1 - parameters.burst), order_.size()),
               KeyedPermutation(order_.size(), generator_stream(seed, bursty_source_turns))) {}

  VertexId by_activity(std::uint64_t bits) const { return static_cast<VertexId>(choice_.draw(0, bits)); }
  VertexId next(std::uint64_t bits) {
    const std::int64_t named = turns_.next();
    return named >= 0 ? static_cast<VertexId>(named) : by_activity(bits);
  }

 private:
  KeyedPermutation order_;
  WeightedChoice choice_;
  Introductions turns_;
};

/// Events that wait until another event sets them off, by their source.
class Waiting {
 public:
  Waiting(const BurstyParameters& parameters, std::uint64_t seed, const OwnSources& sources)
      : none_(std::exp(-parameters.burst)), mean_(parameters.burst) {
    const RandomStream random = generator_stream(seed, bursty_waiting);
    bag_.resize(std::llround(parameters.waiting()));
    for (std::size_t i = 0; i < bag_.size(); ++i) bag_[i] = sources.by_activity(random.bits(i));
  }

  double count() const { return static_cast<double>(bag_.size()); }
  /// One of them, by a number in [0, 1).
  VertexId take(double uniform) {
    VertexId& taken = bag_[std::min(static_cast<std::size_t>(uniform * count()), bag_.size() - 1)];
    const VertexId source = taken;
    taken = bag_.back();
    bag_.pop_back();
    return source;
  }
  /// A Poisson number of events of `source`, by inversion.
  void add(VertexId source, double uniform) {
    double probability = none_;
    for (int k = 1; uniform >= probability && probability > 0; ++k) {
      uniform -= probability;
      probability *= mean_ / k;
      bag_.push_back(source);
    }
  }

 private:
  double none_, mean_;
  std::vector<VertexId> bag_;
};

/// Probability of label 1 for an event of its own, and for one that was set off.
struct LabelOdds {
  double own = 0, set_off = 0;

  explicit LabelOdds(const BurstyParameters& parameters) {
    const double share = parameters.labels, burst = parameters.burst;
    const double apart = share > 0 ? std::min(1.0, (1 / share - 1) / (1 - burst)) : 0;
    own = share * (1 - burst * apart);
    set_off = share * (1 + (1 - burst) * apart);
  }
};

/// From the first event at 0 to the last at the span, rounded to decimals.
void stretch(std::vector<double>& time, const BurstyParameters& parameters) {
  const double begin = time.front(), length = time.back() - begin, unit = std::pow(10.0, time_decimals(parameters));
  const double factor = length > 0 ? parameters.span * unit / length : 0;
  for (double& t : time) t = std::round((t - begin) * factor) / unit;
}

}  // namespace

int time_decimals(const BurstyParameters& parameters) {
  constexpr int most_decimals = 9;
  constexpr double units_a_gap = 1000, most_units = 4e15;  // doubles count to 9e15
  const double gap = parameters.span / static_cast<double>(parameters.events);
  int decimals = 0;
  for (double unit = 1; decimals < most_decimals && gap * unit < units_a_gap; ++decimals, unit *= 10)
    if (parameters.span * unit * 10 > most_units) break;
  return decimals;
}

Arrivals draw_arrivals(const BurstyParameters& parameters, std::uint64_t seed) {
  const std::size_t events = parameters.events;
  const double own_rate = static_cast<double>(parameters.events) / parameters.span * (1 - parameters.burst);
  const LabelOdds odds(parameters);
  const RandomStream random = generator_stream(seed, bursty_arrival), labelling = generator_stream(seed, bursty_label);
  OwnSources sources(parameters, seed);
  Waiting waiting(parameters, seed, sources);
  Arrivals arrivals;
  arrivals.time.resize(events);
  arrivals.source.resize(events);
  arrivals.label.resize(parameters.labels > 0 ? events : 0);
  double now = 0;
  for (std::size_t e = 0; e < events; ++e) {
    const double set_off_rate = waiting.count() / parameters.decay(), rate = own_rate + set_off_rate;
    now -= std::log(1 - random.uniform(4 * e)) / rate;
    const double which = random.uniform(4 * e + 1) * rate;
    const bool own = which >= set_off_rate;
    const VertexId source = own ? sources.next(random.bits(4 * e + 3)) : waiting.take(which / set_off_rate);
    waiting.add(source, random.uniform(4 * e + 2));
    arrivals.time[e] = now;
    arrivals.source[e] = source;
    if (parameters.labels > 0) arrivals.label[e] = labelling.uniform(e) < (own ? odds.own : odds.set_off);
  }
  stretch(arrivals.time, parameters);
  return arrivals;
}

}  // namespace strobe
