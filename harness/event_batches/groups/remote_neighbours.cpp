#include "harness/event_batches/groups/remote_neighbours.hpp"

#include <algorithm>
#include <bit>
#include <utility>

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

}  // namespace

RemoteNeighbours::RemoteNeighbours(const EventCase& c, Device& device, Communicator& communicator,
                                   std::shared_ptr<const RemoteRows> remote, std::shared_ptr<const EventPart> part)
    : device_(device),
      remote_(std::move(remote)),
      part_(device.has_values() ? std::move(part)
                                : std::make_shared<const EventPart>(c.training, 0, remote_->nodes(), false)),
      rule_(rule_of(c)),
      levels_(c.model->traits().levels),
      graph_(c.training.graph),
      rank_(communicator.rank()),
      node_(remote_->node_of(rank_)),
      column_(communicator.split(remote_->columns())) {}

template <class RowsOf>
RemoteNeighbours::Counts RemoteNeighbours::counts_of(const RowsOf& rows_of) const {
  Counts counts;
  for (std::int64_t node = 0; node < remote_->nodes(); ++node) {
    counts.asked.push_back(rows_of(remote_->rows(sequence_, rank_, node)));
    counts.given.push_back(rows_of(remote_->rows(sequence_, remote_->agent(rank_, node), node_)));
  }
  return counts;
}

template <class T>
RemoteNeighbours::ByNode<T> RemoteNeighbours::exchange(const ByNode<T>& own, const Counts& counts, Way way,
                                                       std::int64_t columns, ElementType type) {
  const std::vector<std::int64_t>& sends = way == Way::ask ? counts.asked : counts.given;
  const std::vector<std::int64_t>& receives = way == Way::ask ? counts.given : counts.asked;
  const std::size_t of_row = static_cast<std::size_t>(columns) * element_bytes(type) / sizeof(T);
  std::vector<PeerRows> send_rows, receive_rows;
  std::vector<T> values;
  std::int64_t sent = 0, received = 0;
  for (std::size_t node = 0; node < own.size(); ++node) {
    const bool other = static_cast<std::int64_t>(node) != node_;
    send_rows.push_back({sent, other ? sends[node] : 0});
    receive_rows.push_back({received, other ? receives[node] : 0});
    sent += send_rows.back().count, received += receive_rows.back().count;
    if (other) values.insert(values.end(), own[node].begin(), own[node].end());
  }
  const PartScope part(device_, MemoryPart::buffers);
  const bool full = sent > 0 && values.size() == static_cast<std::size_t>(sent) * of_row;
  if (sent > 0 && !full && device_.has_values()) throw Error("a node has other rows to send than were planned");
  const Tensor send =
      full ? device_.move_in(values.data(), sent, columns, type) : device_.allocate(sent, columns, type);
  const Tensor receive = device_.allocate(received, columns, type);
  column_->all_to_all_v(send, std::move(send_rows), receive, receive_rows, Traffic::memory);
  ByNode<T> lists(own.size());
  lists[node_] = own[node_];
  values.resize(static_cast<std::size_t>(received) * of_row);
  if (received > 0 && !device_.move_out(receive, values.data())) return lists;
  for (std::size_t node = 0; node < lists.size(); ++node) {
    if (static_cast<std::int64_t>(node) == node_) continue;
    const auto first = values.begin() + receive_rows[node].first * static_cast<std::int64_t>(of_row);
    lists[node].assign(first, first + receive_rows[node].count * static_cast<std::int64_t>(of_row));
  }
  return lists;
}

RemoteNeighbours::ByNode<std::int64_t> RemoteNeighbours::give(const ByNode<RemoteRoot>& roots, const Counts& counts) {
  std::int64_t asked = 0;
  for (std::size_t node = 0; node < roots.size(); ++node) asked += counts.given[node];
  ByNode<std::int64_t> answers(roots.size());
  HostWork work;
  work.name = "draw_batch";
  work.work = sampling_work(asked, rule_.neighbours, *part_);
  work.body = [&](Workers& workers) {
    NeighbourSample sample;
    for (std::size_t node = 0; node < roots.size(); ++node) {
      part_->sample(roots[node], rule_, workers, sample);
      std::vector<std::int64_t>& answer = answers[node];
      for (std::size_t r = 0; r < roots[node].size(); ++r) answer.push_back(sample.offsets[r + 1] - sample.offsets[r]);
      for (std::size_t s = 0; s < sample.vertex.size(); ++s)
        answer.push_back(packed_neighbour(sample.vertex[s], sample.event[s]));
    }
  };
  device_.await(device_.run_on_host(std::move(work)));
  return answers;
}

NeighbourSample RemoteNeighbours::assemble(const std::vector<RemoteRoot>& roots,
                                           const ByNode<std::int64_t>& answers) const {
  std::vector<std::size_t> root_at(answers.size(), 0), slot_at(answers.size(), 0);
  for (const RemoteRoot& root : roots) ++slot_at[node_of(root.vertex)];  // neighbours follow the numbers
  NeighbourSample sample;
  sample.offsets.push_back(0);
  for (std::size_t r = 0; r < roots.size(); ++r) {
    const std::size_t node = node_of(roots[r].vertex);
    const std::int64_t count = answers[node][root_at[node]++];
    for (std::int64_t s = 0; s < count; ++s) {
      const auto neighbour = std::bit_cast<TimedNeighbour>(answers[node][slot_at[node]++]);
      sample.vertex.push_back(neighbour.vertex);
      sample.event.push_back(neighbour.event);
      sample.slot_root.push_back(static_cast<std::int64_t>(r));
    }
    sample.offsets.push_back(static_cast<std::int64_t>(sample.vertex.size()));
  }
  return sample;
}

NeighbourSample RemoteNeighbours::sample(const std::vector<RemoteRoot>& roots, std::size_t at) {
  const Counts asked = counts_of([&](const RowsOfNode& rows) { return rows.roots[at]; });
  const Counts answered = counts_of([&](const RowsOfNode& rows) { return rows.roots[at] + rows.slots[at]; });
  ByNode<RemoteRoot> lists(static_cast<std::size_t>(remote_->nodes()));
  for (const RemoteRoot& root : roots) lists[node_of(root.vertex)].push_back(root);
  // Without values no roots come, so this rank draws for its own; the exchanges have their sizes all the same.
  const ByNode<RemoteRoot> came = exchange(lists, asked, Way::ask, RemoteRoot::words, ElementType::i64);
  const ByNode<std::int64_t> answers = give(device_.has_values() ? came : lists, asked);
  const ByNode<std::int64_t> got = exchange(answers, answered, Way::answer, 1, ElementType::i64);
  return assemble(roots, device_.has_values() ? got : answers);
}

void RemoteNeighbours::fetch_features(std::size_t set, BatchDraw& drawn) {
  const std::int64_t width = part_->edge_width();
  const Counts counts = counts_of([&](const RowsOfNode& rows) { return rows.features[set]; });
  ByNode<EdgeId> lists(static_cast<std::size_t>(remote_->nodes()));
  const std::vector<EdgeId> events = events_with_features(drawn);
  struct Place {
    std::size_t node = 0, row = 0;
  };
  std::vector<Place> places;  // of each event, in the answers
  for (const EdgeId event : events) {
    const auto node = static_cast<std::size_t>(remote_->holder(*graph_, event, node_));
    places.push_back({node, lists[node].size()});
    lists[node].push_back(event);
  }
  const ByNode<EdgeId> came = exchange(lists, counts, Way::ask, 1, ElementType::i64);
  ByNode<float> answers(lists.size());
  for (std::size_t node = 0; device_.has_values() && node < answers.size(); ++node) {
    answers[node].resize(came[node].size() * static_cast<std::size_t>(width));
    float* to = answers[node].data();
    for (const EdgeId event : came[node]) part_->put_features(event, std::exchange(to, to + width));
  }
  const ByNode<float> got = exchange(answers, counts, Way::answer, width, ElementType::f32);
  if (!device_.has_values()) return;
  const auto take = [&](const std::vector<EdgeId>& wanted) {
    std::vector<float>& to = drawn.edge_features.emplace_back();
    to.reserve(wanted.size() * static_cast<std::size_t>(width));
    for (const EdgeId event : wanted) {
      const Place& place = places[std::lower_bound(events.begin(), events.end(), event) - events.begin()];
      const auto first = got[place.node].begin() + static_cast<std::int64_t>(place.row) * width;
      to.insert(to.end(), first, first + width);
    }
  };
  take(drawn.mail_events);
  for (const DrawnLevel& level : drawn.levels) take(level.events);
}

void RemoteNeighbours::draw(std::int64_t sequence, std::size_t set, const BatchRequest* request, GroupDrawState& state,
                            BatchDraw& drawn) {
  sequence_ = sequence;
  if (request != nullptr) state.drawer.begin(*request, drawn);
  for (std::int64_t level = 0; level < levels_; ++level) {
    const std::size_t l = level, at = set * static_cast<std::size_t>(levels_) + l;
    if (request == nullptr) {
      sample({}, at);
      continue;
    }
    const std::vector<RemoteRoot> roots = remote_roots(state.drawer.ask(l), rule_.sampling);
    state.drawer.answer(l, sample(roots, at));
  }
  if (request != nullptr) state.drawer.finish(state.clock, drawn);
  if (part_->edge_width() > 0) fetch_features(set, drawn);
}

}  // namespace strobe
