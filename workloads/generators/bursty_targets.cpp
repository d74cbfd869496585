// The draws of an event lie in their own block of 64 numbers of the stream, so the count that one event uses changes
// nothing for the next. A new target that the source had lately is drawn again. After a few times it is drawn evenly
// among all targets, which soon ends because the history is shorter than their number. As a last resort it is searched.
#include "workloads/generators/bursty_targets.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "workloads/generators/bursty_channels.hpp"
#include "workloads/generators/weighted_choice.hpp"

namespace strobe {
namespace {

constexpr double focus = 0.8;
constexpr int block_bits = 6, popular_tries = 8, even_tries = 40;

/// The newest targets of a source.
class History {
 public:
  bool empty() const { return count_ == 0; }
  bool has(VertexId target) const {
    return std::find(last_.begin(), last_.begin() + size(), target) != last_.begin() + size();
  }
  VertexId pick(const RandomStream& random, std::uint64_t place) const {
    return last_[random.below(place, static_cast<std::uint64_t>(size()))];
  }
  void add(VertexId target) {
    last_[count_ % last_.size()] = target;
    count_ = count_ + 1 < 2 * last_.size() ? count_ + 1 : static_cast<std::uint32_t>(last_.size());
  }

 private:
  std::ptrdiff_t size() const { return static_cast<std::ptrdiff_t>(std::min<std::size_t>(count_, last_.size())); }
  std::array<VertexId, history_depth> last_{};
  std::uint32_t count_ = 0;  // number of additions; once full, that number modulo the depth
};

/// Targets by topic, and within a topic and among all by popularity.
class Popularity {
 public:
  Popularity(const BurstyParameters& parameters, const KeyedPermutation& order, const EventTopics& topics)
      : first_(static_cast<VertexId>(parameters.first_target())), topics_(topics) {
    std::vector<std::uint32_t> topic(order.size());
    for (std::size_t i = 0; i < topic.size(); ++i) topic[i] = static_cast<std::uint32_t>(topics.of_target(vertex(i)));
    std::vector<std::size_t> ends(topics.topics, 0);
    for (const std::uint32_t k : topic) ++ends[k];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<std::size_t> place(ends.size(), 0);
    std::copy(ends.begin(), ends.end() - 1, place.begin() + 1);
    const std::vector<double> weights = ranked_weights(order, parameters.skew);
    std::vector<double> grouped(weights.size());
    members_.resize(weights.size());
    for (std::size_t i = 0; i < topic.size(); ++i) {
      const std::size_t at = place[topic[i]]++;
      members_[at] = vertex(i);
      grouped[at] = weights[i];
    }
    of_topic_ = std::make_unique<WeightedChoice>(grouped, ends);
    of_all_ = std::make_unique<WeightedChoice>(weights, std::vector{weights.size()});
  }

  /// A target for `source`, by numbers `place` and `place` + 1 of the stream.
  VertexId draw(VertexId source, double time, const RandomStream& random, std::uint64_t place) const {
    const std::uint64_t bits = random.bits(place + 1);
    if (random.uniform(place) < focus) {
      const std::size_t topic = topics_.of_source(source, time);
      if (!of_topic_->empty(topic)) return members_[of_topic_->draw(topic, bits)];
    }
    return vertex(of_all_->draw(0, bits));
  }

 private:
  VertexId vertex(std::size_t i) const { return first_ + static_cast<VertexId>(i); }

  VertexId first_;
  EventTopics topics_;
  std::vector<VertexId> members_;
  std::unique_ptr<WeightedChoice> of_topic_, of_all_;
};

class Targets {
 public:
  Targets(const BurstyParameters& parameters, std::uint64_t seed)
      : parameters_(parameters),
        random_(generator_stream(seed, bursty_target)),
        order_(count(), generator_stream(seed, parameters.sides == 1 ? bursty_activity : bursty_popularity)),
        popularity_(parameters, order_, parameters.topics(seed)),
        turns_(introduction_turns(static_cast<double>(parameters.events) * (1 - parameters.repeat), count()),
               KeyedPermutation(count(), generator_stream(seed, bursty_target_turns))),
        history_(static_cast<std::size_t>(parameters.source_count())) {}

  VertexId next(std::uint64_t event, VertexId source, double time) {
    History& history = history_[source];
    const std::uint64_t place = event << block_bits;
    const bool again = !history.empty() && random_.uniform(place) < parameters_.repeat;
    const VertexId target = again ? history.pick(random_, place + 1) : other(history, source, time, place + 2);
    history.add(target);
    return target;
  }

 private:
  std::uint64_t count() const { return static_cast<std::uint64_t>(parameters_.target_count()); }

  VertexId other(const History& history, VertexId source, double time, std::uint64_t place) {
    const auto fits = [&](VertexId target) { return target != source && !history.has(target); };
    const auto first = static_cast<VertexId>(parameters_.first_target());
    if (const std::int64_t named = turns_.next(); named >= 0) {
      const VertexId target = first + static_cast<VertexId>(named);
      if (fits(target)) return target;
    }
    VertexId target = first;
    for (int i = 0; i < popular_tries; ++i, place += 2) {
      target = popularity_.draw(source, time, random_, place);
      if (fits(target)) return target;
    }
    for (int i = 0; i < even_tries; ++i, ++place) {
      target = first + static_cast<VertexId>(random_.below(place, count()));
      if (fits(target)) return target;
    }
    while (!fits(target)) target = target + 1 < parameters_.vertices ? target + 1 : first;
    return target;
  }

  const BurstyParameters& parameters_;
  RandomStream random_;
  KeyedPermutation order_;
  Popularity popularity_;
  Introductions turns_;
  std::vector<History> history_;
};

}  // namespace

std::vector<VertexId> draw_targets(const BurstyParameters& parameters, const Arrivals& arrivals, std::uint64_t seed) {
  Targets targets(parameters, seed);
  std::vector<VertexId> drawn(arrivals.source.size());
  for (std::size_t e = 0; e < drawn.size(); ++e) drawn[e] = targets.next(e, arrivals.source[e], arrivals.time[e]);
  return drawn;
}

}  // namespace strobe
