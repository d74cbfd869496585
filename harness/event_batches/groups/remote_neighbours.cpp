#include "harness/event_batches/groups/remote_neighbours.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "backends/host/host_work.hpp"
#include "harness/event_batches/groups/joint_draw.hpp"

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
  JointDraw of;
  std::int64_t sequence = 0;
  EdgeId batch_first = 0;  // of the batch that the rank begins
  std::int64_t level = 0;
  Begun begun = Begun::nothing;
  DeviceEvent worked;  // the host work has ended
  // Messages that the host has made.
  ByNode<RemoteRoot> roots;
  ByNode<EdgeId> events;
  std::shared_ptr<ByNode<std::int64_t>> answers;  // for other ranks
  std::shared_ptr<ByNode<float>> features;        // for other ranks
  NodeExchange<RemoteRoot> asking;
  NodeExchange<std::int64_t> answering;
  NodeExchange<EdgeId> asking_features;
  NodeExchange<float> sending_features;
};

/// Takes pages of events before a batch out of memory. The host's work alone calls it.
struct RemoteNeighbours::Rested {
  std::shared_ptr<const EventPart> part;
  EdgeId end = 0;  // pages of events below it rest in this sweep

  void rest_before(EdgeId begin) {
    // Many events at a time, because each call looks at all pages before the batch.
    constexpr EdgeId window = EdgeId{1} << 15;
    if (begin < end) end = 0;  // a new sweep
    if (begin < end + window) return;
    part->rest_ends(begin);
    end = begin;
  }
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
      column_(std::move(column)),
      rested_(std::make_shared<Rested>(Rested{part_})) {}

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

template <class RowsOf>
std::int64_t RemoteNeighbours::asked(const Draws& draws, const RowsOf& rows_of) const {
  const std::vector<std::int64_t> rows = counts_of(draws, rows_of).sends;
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

void RemoteNeighbours::start(std::int64_t sequence, const std::vector<BatchRequest>& requests,
                             std::vector<std::shared_ptr<BatchDraw>> drawn, std::shared_ptr<WalkState> state) {
  const std::int64_t level = state->scores(sequence) ? 0 : levels_;  // else nothing asks for neighbours
  const EdgeId first = requests.empty() ? 0 : requests.front().batch_first;
  const SharedDraws draws = under_way_.emplace_back(std::make_shared<Draws>(
      Draws{JointDraw(data_, remote_, node_, rule_.sampling, std::move(state), sequence, requests, std::move(drawn)),
            sequence, first, level}));
  prepare(draws, 0, [draws] { draws->of.begin(); });
}

void RemoteNeighbours::advance() {
  for (const SharedDraws& draws : under_way_) step(draws);
  while (!under_way_.empty() && under_way_.front()->begun == Begun::nothing) under_way_.pop_front();
}

void RemoteNeighbours::finish(std::int64_t iteration) {
  for (; !under_way_.empty() && under_way_.front()->sequence <= iteration; under_way_.pop_front()) {
    while (under_way_.front()->begun != Begun::nothing) step(under_way_.front());
  }
}

void RemoteNeighbours::step(const SharedDraws& shared) {
  Draws& draws = *shared;
  const auto counts = [&](const auto& rows_of) { return counts_of(draws, rows_of).reversed(); };
  switch (draws.begun) {
    case Begun::preparing:
      device_.await(draws.worked);
      return ask(draws);
    case Begun::asking:
      return draw_neighbours(draws, draws.asking.wait(*column_));
    case Begun::drawing:
      device_.await(draws.worked);
      draws.answering.start(*column_, std::move(*draws.answers), counts([&](const RowsOfNode& rows) {
        return rows.roots_of(draws.level) + rows.slots_of(draws.level);
      }),
                            1, ElementType::i64);
      draws.begun = Begun::answering;
      return;
    case Begun::answering:
      return take_neighbours(shared, draws.answering.wait(*column_));
    case Begun::asking_features:
      return gather_features(draws, draws.asking_features.wait(*column_));
    case Begun::gathering:
      device_.await(draws.worked);
      draws.sending_features.start(*column_, std::move(*draws.features),
                                   counts([](const RowsOfNode& rows) { return rows.all_features(); }),
                                   part_->edge_width(), ElementType::f32);
      draws.begun = Begun::sending_features;
      return;
    case Begun::sending_features:
      return take_features(shared, draws.sending_features.wait(*column_));
    case Begun::placing:
      device_.await(draws.worked);
      draws.begun = Begun::nothing;
      return;
    case Begun::nothing:
      return;
  }
}

void RemoteNeighbours::on_host(Draws& draws, Begun begun, const Work& work, std::function<void()> body) {
  draws.begun = begun;
  draws.worked = {};
  if (draws.of.empty()) return body();  // there is next to nothing to do
  HostWork given;
  given.name = "draw_batch";
  given.work = work;
  given.serial = true;
  given.body = [body = std::move(body)](Workers&) { body(); };
  draws.worked = device_.run_on_host(std::move(given));
}

void RemoteNeighbours::prepare(const SharedDraws& draws, std::int64_t slots, std::function<void()> take) {
  const std::int64_t level = draws->level;
  if (level < levels_) {
    const std::int64_t roots = asked(*draws, [&](const RowsOfNode& rows) { return rows.roots_of(level); });
    return on_host(*draws, Begun::preparing, JointDraw::work(roots, slots, 0), [draws, level, take = std::move(take)] {
      take();
      draws->roots = draws->of.roots(level);
    });
  }
  const std::int64_t all = asked(*draws, [&](const RowsOfNode& rows) {
    return levels_ == 0 ? rows.all_vertices() : rows.roots_of(levels_ - 1) + rows.slots_of(levels_ - 1);
  });
  on_host(*draws, Begun::preparing, JointDraw::work(0, slots, all),
          [draws, rested = rested_, features = part_->edge_width() > 0, take = std::move(take)] {
            take();
            draws->of.finish();
            if (features) draws->events = draws->of.feature_events();
            if (!draws->of.empty()) rested->rest_before(draws->batch_first);
          });
}

void RemoteNeighbours::ask(Draws& draws) {
  if (draws.level < levels_) {
    draws.asking.start(*column_, std::move(draws.roots),
                       counts_of(draws, [&](const RowsOfNode& rows) { return rows.roots_of(draws.level); }),
                       RemoteRoot::words, ElementType::i64);
    draws.begun = Begun::asking;
  } else if (part_->edge_width() > 0) {
    draws.asking_features.start(*column_, std::move(draws.events),
                                counts_of(draws, [](const RowsOfNode& rows) { return rows.all_features(); }), 1,
                                ElementType::i64);
    draws.begun = Begun::asking_features;
  } else {
    draws.begun = Begun::nothing;
  }
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
  draws.begun = Begun::drawing;
}

void RemoteNeighbours::take_neighbours(const SharedDraws& draws, ByNode<std::int64_t> answers) {
  const std::int64_t level = draws->level++;
  const std::int64_t slots = asked(*draws, [&](const RowsOfNode& rows) { return rows.slots_of(level); });
  prepare(draws, slots,
          [draws, level, answers = std::move(answers)] { draws->of.take_neighbours(level, answers); });
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
  draws.begun = Begun::gathering;
}

void RemoteNeighbours::take_features(const SharedDraws& draws, ByNode<float> rows) {
  const std::int64_t width = part_->edge_width();
  const std::int64_t count = asked(*draws, [&](const RowsOfNode& of) {
    std::int64_t sum = of.all_mails();
    for (std::int64_t level = 0; level < levels_; ++level) sum += of.slots_of(level);
    return sum;
  });
  const double bytes = 4.0 * static_cast<double>(width * count);
  on_host(*draws, Begun::placing, {0, bytes, bytes},
          [draws, width, there = device_.has_values(), rows = std::move(rows)] {
            draws->of.take_features(rows, width, there);
          });
}

}  // namespace strobe
