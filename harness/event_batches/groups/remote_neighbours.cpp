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
  Draws(JointDraw draws, std::int64_t iteration, std::int64_t first_level)
      : of(std::move(draws)), sequence(iteration), level(first_level) {}

  JointDraw of;
  std::int64_t sequence, level;
  Begun begun = Begun::nothing;
  DeviceEvent worked;  // the host work has ended
  // Messages that the host has made.
  ByNode<RemoteRoot> roots;
  ByNode<std::int64_t> vertices;
  ByNode<EdgeId> events;
  std::shared_ptr<ByNode<std::int64_t>> answers;  // for other ranks
  std::shared_ptr<ByNode<VertexTimes>> times;     // the same
  std::shared_ptr<ByNode<float>> features;        // the same, of vertices or events
  NodeExchange<RemoteRoot> asking;
  NodeExchange<std::int64_t> answering, asking_vertices;
  NodeExchange<VertexTimes> sending_times;
  NodeExchange<float> sending_rows;
  NodeExchange<EdgeId> asking_features;
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

std::int64_t joint_draw_steps(const EventCase& c, const EventData& data) {
  const EventModelTraits traits = c.model->traits();
  const bool asks_vertices = traits.memory > 0 || data.widths.vertex > 0, asks_events = data.widths.edge > 0;
  return 4 * traits.levels + 1 + (asks_vertices ? 4 : 1) + (asks_events ? 4 : 0);
}

RemoteNeighbours::RemoteNeighbours(const EventCase& c, const EventData& data, Device& device,
                                   std::shared_ptr<Communicator> column, std::shared_ptr<const RemoteRows> remote,
                                   std::shared_ptr<const EventPart> part, std::shared_ptr<const MemoryMoments> moments)
    : case_(c),
      data_(data),
      device_(device),
      remote_(std::move(remote)),
      part_(device.has_values() ? std::move(part)
                                : std::make_shared<const EventPart>(data, 0, remote_->nodes(), false)),
      moments_(std::move(moments)),
      rule_(rule_of(c)),
      levels_(c.model->traits().levels),
      vertex_width_(data.widths.vertex),
      has_memory_(c.model->traits().memory > 0),
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
                             std::vector<std::shared_ptr<BatchDraw>> drawn) {
  const std::int64_t level = moments_->scores(sequence) ? 0 : levels_;  // else nothing asks for neighbours
  const SharedDraws draws = under_way_.emplace_back(
      std::make_shared<Draws>(JointDraw(case_, data_, remote_, node_, requests, std::move(drawn)), sequence, level));
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
  device_.await(std::exchange(draws.worked, {}));
  switch (draws.begun) {
    case Begun::preparing:
      return ask(shared);
    case Begun::asking:
      return draw_neighbours(draws, draws.asking.wait(*column_));
    case Begun::drawing:
      return send_neighbours(draws);
    case Begun::answering:
      return take_neighbours(shared, draws.answering.wait(*column_));
    case Begun::asking_vertices:
      return gather_vertices(draws, draws.asking_vertices.wait(*column_));
    case Begun::gathering_vertices:
      return send_vertices(draws);
    case Begun::sending_vertices: {
      ByNode<VertexTimes> times = has_memory_ ? draws.sending_times.wait(*column_) : ByNode<VertexTimes>();
      ByNode<float> rows = vertex_width_ > 0 ? draws.sending_rows.wait(*column_) : ByNode<float>();
      return end_levels(shared, std::move(times), std::move(rows));
    }
    case Begun::finishing:
      return ask_features(draws);
    case Begun::asking_features:
      return gather_features(draws, draws.asking_features.wait(*column_));
    case Begun::gathering:
      return send_features(draws);
    case Begun::sending_features:
      return take_features(shared, draws.sending_rows.wait(*column_));
    case Begun::placing:
    case Begun::nothing:
      draws.begun = Begun::nothing;
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
  const std::int64_t roots =
      level < levels_ ? asked(*draws, [&](const RowsOfNode& rows) { return rows.roots_of(level); }) : 0;
  on_host(*draws, Begun::preparing, JointDraw::work(roots, slots, 0),
          [draws, level, more = level < levels_, take = std::move(take)] {
            take();
            if (more)
              draws->roots = draws->of.roots(level);
            else
              draws->vertices = draws->of.vertices();
          });
}

void RemoteNeighbours::ask(const SharedDraws& shared) {
  Draws& draws = *shared;
  if (draws.level == levels_ && !asks_vertices()) return end_levels(shared, {}, {});
  if (draws.level < levels_) {
    draws.asking.start(*column_, std::move(draws.roots),
                       counts_of(draws, [&](const RowsOfNode& rows) { return rows.roots_of(draws.level); }),
                       RemoteRoot::words, ElementType::i64);
    draws.begun = Begun::asking;
    return;
  }
  draws.asking_vertices.start(*column_, std::move(draws.vertices),
                              counts_of(draws, [](const RowsOfNode& rows) { return rows.all_distinct(); }), 1,
                              ElementType::i64);
  draws.begun = Begun::asking_vertices;
}

void RemoteNeighbours::end_levels(const SharedDraws& draws, ByNode<VertexTimes> times, ByNode<float> rows) {
  const std::int64_t all = asked(*draws, [&](const RowsOfNode& of) {
    return levels_ == 0 ? of.all_vertices() : of.roots_of(levels_ - 1) + of.slots_of(levels_ - 1);
  });
  const std::int64_t features = asked(*draws, [](const RowsOfNode& of) { return of.all_vertices(); }) * vertex_width_;
  Work work = JointDraw::work(0, 0, all);
  work.bytes_read += sizeof(float) * static_cast<double>(features);
  work.bytes_written += sizeof(float) * static_cast<double>(features);
  on_host(*draws, Begun::finishing, work,
          [draws, rested = rested_, events = asks_events(), there = has_memory_, width = vertex_width_,
           given = device_.has_values(), times = std::move(times), rows = std::move(rows)] {
            draws->of.finish(times, there);
            if (width > 0) draws->of.take_vertex_features(rows, width, given);
            if (events) draws->events = draws->of.feature_events();
            if (!draws->of.empty()) rested->rest_before(draws->of.batch_first());
          });
}

void RemoteNeighbours::ask_features(Draws& draws) {
  draws.begun = Begun::nothing;
  if (!asks_events()) return;
  draws.asking_features.start(*column_, std::move(draws.events),
                              counts_of(draws, [](const RowsOfNode& rows) { return rows.all_features(); }), 1,
                              ElementType::i64);
  draws.begun = Begun::asking_features;
}

void RemoteNeighbours::gather_vertices(Draws& draws, ByNode<std::int64_t> vertices) {
  const std::int64_t count = counts_of(draws, [](const RowsOfNode& rows) { return rows.all_distinct(); }).received();
  const double row = sizeof(float) * static_cast<double>(vertex_width_), asked = static_cast<double>(count);
  const std::int64_t held_rows = data_.graph->vertices / remote_->nodes();
  const double held = row * static_cast<double>(held_rows);
  const double times_bytes = has_memory_ ? asked * sizeof(VertexTimes) : 0;
  draws.times = std::make_shared<ByNode<VertexTimes>>(vertices.size());
  draws.features = std::make_shared<ByNode<float>>(vertices.size());
  HostWork work{"slice_features", {0, asked * row + times_bytes, asked * row + times_bytes}, 0, {}, {}};
  if (vertex_width_ > 0) work.work.gather = {asked * row, asked * row, held, row};
  work.body = [part = part_, moments = moments_, vertices = std::move(vertices), sequence = draws.sequence,
               times = draws.times, rows = draws.features, has_memory = has_memory_,
               width = device_.has_values() ? vertex_width_ : 0](Workers&) {
    const TakenEvents taken = has_memory ? moments->taken(sequence) : TakenEvents{};
    for (std::size_t node = 0; node < vertices.size(); ++node) {
      (*rows)[node].resize(vertices[node].size() * static_cast<std::size_t>(width));
      float* to = (*rows)[node].data();
      for (const std::int64_t v : vertices[node]) {
        if (has_memory) (*times)[node].push_back(part->times(static_cast<VertexId>(v), taken, *moments));
        if (width > 0) part->put_vertex(static_cast<VertexId>(v), std::exchange(to, to + width));
      }
    }
  };
  draws.worked = device_.run_on_host(std::move(work));
  draws.begun = Begun::gathering_vertices;
}

void RemoteNeighbours::send_vertices(Draws& draws) {
  const NodeCounts counts = counts_of(draws, [](const RowsOfNode& rows) { return rows.all_distinct(); }).reversed();
  if (has_memory_)
    draws.sending_times.start(*column_, std::move(*draws.times), counts, VertexTimes::words, ElementType::i64);
  if (vertex_width_ > 0)
    draws.sending_rows.start(*column_, std::move(*draws.features), counts, vertex_width_, ElementType::f32);
  draws.begun = Begun::sending_vertices;
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

void RemoteNeighbours::send_neighbours(Draws& draws) {
  const NodeCounts counts =
      counts_of(draws, [&](const RowsOfNode& rows) { return rows.roots_of(draws.level) + rows.slots_of(draws.level); });
  draws.answering.start(*column_, std::move(*draws.answers), counts.reversed(), 1, ElementType::i64);
  draws.begun = Begun::answering;
}

void RemoteNeighbours::take_neighbours(const SharedDraws& draws, ByNode<std::int64_t> answers) {
  const std::int64_t level = draws->level++;
  const std::int64_t slots = asked(*draws, [&](const RowsOfNode& rows) { return rows.slots_of(level); });
  prepare(draws, slots, [draws, level, answers = std::move(answers)] { draws->of.take_neighbours(level, answers); });
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

void RemoteNeighbours::send_features(Draws& draws) {
  const NodeCounts counts = counts_of(draws, [](const RowsOfNode& rows) { return rows.all_features(); });
  draws.sending_rows.start(*column_, std::move(*draws.features), counts.reversed(), part_->edge_width(),
                           ElementType::f32);
  draws.begun = Begun::sending_features;
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
