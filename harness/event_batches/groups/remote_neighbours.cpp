#include "harness/event_batches/groups/remote_neighbours.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "backends/host/host_work.hpp"

namespace strobe {
namespace {

std::int64_t packed_neighbour(VertexId vertex, std::uint32_t event) {
  return std::bit_cast<std::int64_t>(TimedNeighbour{vertex, event});
}

SamplingRule rule_of(const EventCase& c) {
  const EventModelTraits traits = c.model->traits();
  return {traits.neighbours, traits.sampling, static_cast<std::uint64_t>(c.request.seed)};
}

/// The approximate work of drawing `most` neighbours of each of `roots` roots.
Work sampling_work(std::int64_t roots, std::int64_t most, const EventPart& part) {
  const double asked = static_cast<double>(roots), of_root = static_cast<double>(most) * sizeof(TimedNeighbour);
  const double read = asked * of_root, all = static_cast<double>(part.entries()) * sizeof(TimedNeighbour);
  return {20.0 * asked, read + 8.0 * asked, 40.0 * asked * static_cast<double>(most), Gather{read, read, all, of_root}};
}

/// Counts and neighbours of the roots that one node asks for.
std::vector<std::int64_t> packed_answer(const NeighbourSample& sample) {
  std::vector<std::int64_t> answer;
  answer.reserve(sample.offsets.size() + sample.vertex.size());
  for (std::size_t r = 0; r + 1 < sample.offsets.size(); ++r)
    answer.push_back(sample.offsets[r + 1] - sample.offsets[r]);
  for (std::size_t s = 0; s < sample.vertex.size(); ++s)
    answer.push_back(packed_neighbour(sample.vertex[s], sample.event[s]));
  return answer;
}

}  // namespace

struct RemoteNeighbours::Draws {
  /// The exchange or host work that the next step waits for.
  enum class Begun { asking, drawing, answering, asking_features, gathering, sending_features, nothing };
  /// Where the features of an event are in the answers.
  struct Place {
    std::size_t node = 0, row = 0;
  };

  std::int64_t sequence = 0;
  WalkState* state = nullptr;
  std::vector<BatchDrawer> drawers;               // of each set; none if this rank begins no batch
  std::vector<std::shared_ptr<BatchDraw>> drawn;  // of each set
  Begun begun = Begun::nothing;
  std::int64_t level = 0;
  DeviceEvent worked;                          // the host work has ended
  std::vector<std::vector<RemoteRoot>> roots;  // of each set, in the level
  NodeExchange<RemoteRoot> asking;
  std::shared_ptr<ByNode<std::int64_t>> answers;  // for other ranks
  NodeExchange<std::int64_t> answering;
  std::vector<std::vector<Place>> places;            // of each set's distinct events
  std::vector<std::vector<std::uint32_t>> place_of;  // of each set (FeatureEvents)
  NodeExchange<EdgeId> asking_features;
  std::shared_ptr<ByNode<float>> features;  // for other ranks
  NodeExchange<float> sending_features;
};

RemoteNeighbours::RemoteNeighbours(const EventCase& c, const EventData& data, Device& device,
                                   std::shared_ptr<Communicator> column, std::shared_ptr<const RemoteRows> remote,
                                   std::shared_ptr<const EventPart> part)
    : data_(data),
      device_(device),
      remote_(std::move(remote)),
      part_(device.has_values() ? std::move(part)
                                : std::make_shared<const EventPart>(data, 0, remote_->nodes(), false)),
      rule_(rule_of(c)),
      levels_(c.model->traits().levels),
      rank_(device.rank()),
      node_(remote_->node_of(rank_)),
      column_(std::move(column)) {}

RemoteNeighbours::~RemoteNeighbours() = default;

template <class RowsOf>
NodeCounts RemoteNeighbours::counts_of(const Draws& draws, const RowsOf& rows_of) const {
  NodeCounts counts;
  for (std::int64_t node = 0; node < remote_->nodes(); ++node) {
    counts.sends.push_back(rows_of(remote_->rows(draws.sequence, rank_, node)));
    counts.receives.push_back(rows_of(remote_->rows(draws.sequence, remote_->agent(rank_, node), node_)));
  }
  return counts;
}

void RemoteNeighbours::start(std::int64_t sequence, const std::vector<BatchRequest>& requests,
                             std::vector<std::shared_ptr<BatchDraw>> drawn, WalkState& state) {
  Draws& draws = *under_way_.emplace_back(std::make_unique<Draws>());
  draws.sequence = sequence, draws.state = &state, draws.drawn = std::move(drawn);
  for (std::size_t set = 0; set < requests.size(); ++set) {
    draws.drawers.push_back(state.drawer.beside());
    draws.drawers.back().begin(requests[set], *draws.drawn[set]);
  }
  if (!state.scores(sequence)) draws.level = levels_;  // nothing asks for neighbours
  ask(draws);
}

void RemoteNeighbours::advance() {
  for (const std::unique_ptr<Draws>& draws : under_way_) step(*draws);
  while (!under_way_.empty() && under_way_.front()->begun == Draws::Begun::nothing) under_way_.pop_front();
}

void RemoteNeighbours::finish(std::int64_t iteration) {
  for (; !under_way_.empty() && under_way_.front()->sequence <= iteration; under_way_.pop_front()) {
    while (under_way_.front()->begun != Draws::Begun::nothing) step(*under_way_.front());
  }
}

void RemoteNeighbours::step(Draws& draws) {
  const auto counts = [&](const auto& rows_of) { return counts_of(draws, rows_of).reversed(); };
  switch (draws.begun) {
    case Draws::Begun::asking:
      return draw_neighbours(draws, draws.asking.wait(*column_));
    case Draws::Begun::drawing:
      device_.await(draws.worked);
      draws.answering.start(*column_, std::move(*draws.answers), counts([&](const RowsOfNode& rows) {
        return rows.roots_of(draws.level) + rows.slots_of(draws.level);
      }),
                            1, ElementType::i64);
      draws.begun = Draws::Begun::answering;
      return;
    case Draws::Begun::answering:
      return take_neighbours(draws, draws.answering.wait(*column_));
    case Draws::Begun::asking_features:
      return gather_features(draws, draws.asking_features.wait(*column_));
    case Draws::Begun::gathering:
      device_.await(draws.worked);
      draws.sending_features.start(*column_, std::move(*draws.features),
                                   counts([](const RowsOfNode& rows) { return rows.all_features(); }),
                                   part_->edge_width(), ElementType::f32);
      draws.begun = Draws::Begun::sending_features;
      return;
    case Draws::Begun::sending_features:
      take_features(draws, draws.sending_features.wait(*column_));
      draws.begun = Draws::Begun::nothing;
      return;
    case Draws::Begun::nothing:
      return;
  }
}

void RemoteNeighbours::ask(Draws& draws) {
  if (draws.level == levels_) {
    if (!draws.drawers.empty()) end_levels(draws);
    draws.begun = Draws::Begun::nothing;
    if (part_->edge_width() > 0) ask_features(draws);
    return;
  }
  ByNode<RemoteRoot> lists(static_cast<std::size_t>(remote_->nodes()));
  draws.roots.clear();
  for (std::size_t set = 0; set < draws.drawers.size(); ++set) {
    std::vector<RemoteRoot>& roots = draws.roots.emplace_back();
    if (!draws.drawn[set]->request.scores) continue;
    roots = remote_roots(draws.drawers[set].ask(static_cast<std::size_t>(draws.level)), rule_.sampling);
    for (const RemoteRoot& root : roots) lists[node_of(root.vertex)].push_back(root);
  }
  draws.asking.start(*column_, std::move(lists),
                     counts_of(draws, [&](const RowsOfNode& rows) { return rows.roots_of(draws.level); }),
                     RemoteRoot::words, ElementType::i64);
  draws.begun = Draws::Begun::asking;
}

void RemoteNeighbours::end_levels(Draws& draws) {
  draws.state->move_to(draws.sequence, data_);
  for (std::size_t set = 0; set < draws.drawers.size(); ++set)
    draws.drawers[set].finish(draws.state->clock, *draws.drawn[set]);
  // Many events at a time, because each call looks at all pages before the batch.
  constexpr EdgeId window = EdgeId{1} << 15;
  const EdgeId begin = draws.drawn.front()->request.batch_first;
  if (begin < rested_) rested_ = 0;  // a new sweep
  if (begin < rested_ + window) return;
  part_->rest_ends(begin);
  rested_ = begin;
}

void RemoteNeighbours::draw_neighbours(Draws& draws, ByNode<RemoteRoot> roots) {
  const NodeCounts counts = counts_of(draws, [&](const RowsOfNode& rows) { return rows.roots_of(draws.level); });
  draws.answers = std::make_shared<ByNode<std::int64_t>>(roots.size());
  HostWork work;
  work.name = "draw_batch";
  work.work = sampling_work(counts.received(), rule_.neighbours, *part_);
  work.body = [part = part_, rule = rule_, roots = std::move(roots), answers = draws.answers](Workers& workers) {
    NeighbourSample sample;
    for (std::size_t node = 0; node < roots.size(); ++node) {
      part->sample(roots[node], rule, workers, sample);
      (*answers)[node] = packed_answer(sample);
    }
  };
  draws.worked = device_.run_on_host(std::move(work));
  draws.begun = Draws::Begun::drawing;
}

void RemoteNeighbours::take_neighbours(Draws& draws, const ByNode<std::int64_t>& answers) {
  std::vector<std::size_t> root_at(answers.size(), 0), slot_at(answers.size(), 0);
  for (const std::vector<RemoteRoot>& roots : draws.roots) {
    for (const RemoteRoot& root : roots) ++slot_at[node_of(root.vertex)];  // neighbours follow the numbers
  }
  for (std::size_t set = 0; set < draws.drawers.size(); ++set) {
    if (!draws.drawn[set]->request.scores) continue;
    NeighbourSample sample;
    sample.offsets.push_back(0);
    for (std::size_t r = 0; r < draws.roots[set].size(); ++r) {
      const std::size_t node = node_of(draws.roots[set][r].vertex);
      const std::int64_t count = answers[node][root_at[node]++];
      for (std::int64_t s = 0; s < count; ++s) {
        const auto neighbour = std::bit_cast<TimedNeighbour>(answers[node][slot_at[node]++]);
        sample.vertex.push_back(neighbour.vertex);
        sample.event.push_back(neighbour.event);
        sample.slot_root.push_back(static_cast<std::int64_t>(r));
      }
      sample.offsets.push_back(static_cast<std::int64_t>(sample.vertex.size()));
    }
    draws.drawers[set].answer(static_cast<std::size_t>(draws.level), std::move(sample));
  }
  ++draws.level;
  ask(draws);
}

void RemoteNeighbours::ask_features(Draws& draws) {
  ByNode<EdgeId> lists(static_cast<std::size_t>(remote_->nodes()));
  for (const std::shared_ptr<BatchDraw>& drawn : draws.drawn) {
    std::vector<Draws::Place>& places = draws.places.emplace_back();
    FeatureEvents wanted = events_with_features(*drawn);
    for (const EdgeId event : wanted.events) {
      const auto node = static_cast<std::size_t>(remote_->holder(*data_.graph, event, node_));
      places.push_back({node, lists[node].size()});
      lists[node].push_back(event);
    }
    draws.place_of.push_back(std::move(wanted.place_of));
  }
  draws.asking_features.start(*column_, std::move(lists),
                              counts_of(draws, [](const RowsOfNode& rows) { return rows.all_features(); }), 1,
                              ElementType::i64);
  draws.begun = Draws::Begun::asking_features;
}

void RemoteNeighbours::gather_features(Draws& draws, ByNode<EdgeId> events) {
  const NodeCounts counts = counts_of(draws, [](const RowsOfNode& rows) { return rows.all_features(); });
  const double row = 4.0 * static_cast<double>(part_->edge_width()),
               bytes = row * static_cast<double>(counts.received());
  const std::int64_t held_rows = data_.whole->events() / remote_->nodes();
  const double held = row * static_cast<double>(held_rows);
  draws.features = std::make_shared<ByNode<float>>(events.size());
  HostWork work{"slice_features", {0, bytes, bytes}, 0, {}, {}};
  work.work.gather = {bytes, bytes, held, row};
  if (device_.has_values()) {
    work.body = [part = part_, events = std::move(events), features = draws.features](Workers&) {
      const std::int64_t width = part->edge_width();
      for (std::size_t node = 0; node < events.size(); ++node) {
        (*features)[node].resize(events[node].size() * static_cast<std::size_t>(width));
        float* to = (*features)[node].data();
        for (const EdgeId event : events[node]) part->put_features(event, std::exchange(to, to + width));
      }
    };
  }
  draws.worked = device_.run_on_host(std::move(work));
  draws.begun = Draws::Begun::gathering;
}

void RemoteNeighbours::take_features(Draws& draws, const ByNode<float>& rows) const {
  const std::int64_t width = part_->edge_width();
  for (std::size_t set = 0; set < draws.drawn.size(); ++set) {
    BatchDraw& drawn = *draws.drawn[set];
    auto next = draws.place_of[set].begin();
    const auto take = [&](const std::vector<EdgeId>& wanted) {
      std::vector<float>& to = drawn.edge_features.emplace_back();
      if (!device_.has_values()) return;
      to.reserve(wanted.size() * static_cast<std::size_t>(width));
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const Draws::Place& place = draws.places[set][*next++];
        const auto first = rows[place.node].begin() + static_cast<std::int64_t>(place.row) * width;
        to.insert(to.end(), first, first + width);
      }
    };
    take(drawn.mail_events);
    for (const DrawnLevel& level : drawn.levels) take(level.events);
  }
}

}  // namespace strobe
