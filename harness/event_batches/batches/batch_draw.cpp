// `asked_` has the roots first, then the slots of each level, outermost first. The roots of a level are all entries
// before its slots: the slots of one level are also roots of the next inner level.
#include "harness/event_batches/batches/batch_draw.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "models/tasks/future_links/pair_history.hpp"

namespace strobe {
namespace {

/// Strides of the numbers of roots and of slots that become roots, so large that all numbers differ.
constexpr std::int64_t numbers_of_event = 1 << 16, numbers_of_root = 1 << 13;

constexpr std::size_t lines_ahead = 16;  // vertices and events whose lines are asked for before they are read

}  // namespace

BatchDrawer::BatchDrawer(const EventCase& c, const EventData& data, bool in_parts)
    : case_(c), data_(data), traits_(c.model->traits()), in_parts_(in_parts) {
  if (!in_parts) tables_.make_room(static_cast<std::size_t>(data.graph->vertices));
}

void BatchDrawer::sample_levels(Workers& workers) {
  for (std::size_t level = 0; level < samples_.size(); ++level) {
    NeighbourSample sample = std::move(samples_[level]);  // keeps its buffers
    sample_neighbours(*data_.graph, *data_.neighbours, ask(level), traits_.neighbours, traits_.sampling,
                      static_cast<std::uint64_t>(case_.request.seed), workers, sample);
    answer(level, std::move(sample));
  }
}

void BatchDrawer::draw(const BatchRequest& request, MemoryClock& clock, Workers& workers, BatchDraw& drawn) {
  begin(request, drawn);
  sample_levels(workers);
  finish(clock, drawn);
}

void BatchDrawer::draw(const BatchRequest& request, const MemoryMoments& moments, std::int64_t sequence,
                       Workers& workers, BatchDraw& drawn) {
  begin(request, drawn);
  sample_levels(workers);
  const std::vector<VertexId>& vertices = distinct();
  MemoryClock clock(static_cast<std::int64_t>(vertices.size()));
  if (traits_.memory > 0) {
    const TakenEvents taken = moments.taken(sequence);
    for (std::size_t n = 0; n < vertices.size(); ++n) clock.set(n, data_.times(vertices[n], taken, moments));
  }
  finish(clock, drawn);
}

const std::vector<VertexId>& BatchDrawer::distinct() {
  numbers_.clear();
  places_.clear();
  for (const VertexId vertex : asked_.vertex) places_.push_back(static_cast<VertexId>(numbers_.of(vertex)));
  tables_.make_room(numbers_.vertices().size());
  return numbers_.vertices();
}

std::size_t BatchDrawer::place_of(VertexId vertex) {
  const std::size_t place = numbers_.of(vertex);
  tables_.make_room(place + 1);
  return place;
}

void BatchDrawer::begin(const BatchRequest& request, BatchDraw& drawn) {
  drawn = BatchDraw{};
  drawn.request = request_ = request;
  asked_ = {};
  ask_events(request, drawn);
  samples_.resize(request.scores ? traits_.levels : 0);
  drawn.levels.resize(samples_.size());
  level_roots_.clear();
}

void BatchDrawer::finish(MemoryClock& clock, BatchDraw& drawn) {
  ++tables_.draws;
  place_of_asked_ = in_parts_ ? places_.data() : asked_.vertex.data();
  number_vertices(clock, drawn);
  find_rows(clock, drawn);
  find_pair_codes(drawn);
  if (!request_.writes || traits_.memory == 0) return;
  find_writes(request_, drawn);
  if (request_.batch_count == 0 && !in_parts_)
    clock.pass(*data_.graph, data_.whole->time[0], request_.first, request_.count);
}

BatchDrawer::Moment BatchDrawer::moment_of(EdgeId event) const {
  return {event, request_.scores && traits_.levels > 0 ? data_.strictly_before(event) : 0, data_.time(event)};
}

void BatchDrawer::add(VertexId vertex, const Moment& moment, std::int64_t number) {
  asked_.vertex.push_back(vertex);
  asked_.asked_at.push_back(moment.event);
  asked_.before.push_back(moment.before);
  asked_.number.push_back(number);
  asked_.time.push_back(moment.time);
}

void BatchDrawer::ask_events(const BatchRequest& request, BatchDraw& drawn) {
  const EventGraph& graph = *data_.graph;
  const EventTaskData& task = *data_.task;
  std::vector<std::vector<VertexId>> candidates(request.count);
  std::size_t most = 0;
  for (std::int64_t i = 0; i < request.count; ++i) {
    const EdgeId e = request.first + i;
    auto& own = candidates[i];
    if (request.others != nullptr) {
      if (const VertexId other = (*request.others)[i]; other >= 0) own.push_back(other);
    } else if (request.scores && task.candidates != nullptr) {
      if (request.group < 0) own = task.candidates->evaluation(e, request.candidates);
      for (std::int64_t n = 0; request.group >= 0 && n < task.training_negatives; ++n)
        own.push_back(task.candidates->negative(e, n, request.group));
    }
    most = std::max(most, own.size());
    drawn.counts.push_back(1 + static_cast<std::int64_t>(own.size()));
    add(graph.source[e], moment_of(e), e * numbers_of_event);
  }
  drawn.candidates = 1 + static_cast<std::int64_t>(most);
  for (std::int64_t i = 0; i < request.count; ++i) {
    const EdgeId e = request.first + i;
    const VertexId destination = graph.target[e];
    const std::size_t at = i;
    const Moment moment{e, asked_.before[at], asked_.time[at]};
    const auto& own = candidates[at];
    add(destination, moment, e * numbers_of_event + 1);
    for (std::size_t n = 0; n < most; ++n) {
      add(n < own.size() ? own[n] : destination, moment, e * numbers_of_event + 2 + static_cast<std::int64_t>(n));
    }
  }
}

SampleRoots BatchDrawer::ask(std::size_t level) {
  level_roots_.resize(level);
  level_roots_.push_back(asked_.vertex.size());
  // The released sampler compares a root's time with those of the file, not with seconds since the first event.
  moments_.clear();
  for (const EdgeId event : asked_.asked_at) moments_.push_back(data_.graph->time[event]);
  const EdgeId hidden_from = traits_.sees_own_batch ? std::numeric_limits<EdgeId>::max() : request_.batch_first;
  return {asked_.vertex, asked_.before, asked_.number, moments_, hidden_from};
}

void BatchDrawer::answer(std::size_t level, NeighbourSample sample) {
  const bool asked_again = level + 1 < samples_.size();
  for (std::int64_t s = 0; s < sample.slots(); ++s) {
    const std::size_t at = s;
    const std::int64_t root = sample.slot_root[at];
    const std::int64_t number = asked_.number[root] * numbers_of_root + 1 + s - sample.offsets[root];
    if (asked_again) {
      add(sample.vertex[at], moment_of(sample.event[at]), number);
    } else {
      asked_.vertex.push_back(sample.vertex[at]);
      // Nothing but a mail that depends on the root reads the times of the last slots.
      asked_.time.push_back(traits_.mail_dt_of_asker ? data_.time(sample.event[at]) : 0);
    }
  }
  samples_[level] = std::move(sample);
}

void BatchDrawer::number_vertices(const MemoryClock& clock, BatchDraw& drawn) {
  const bool own_rows = traits_.mail_dt_of_asker;
  const auto draws = tables_.draws;
  std::vector<Marks>& marks = tables_.marks;
  asked_row_.assign(own_rows ? asked_.vertex.size() : 0, 0);
  without_mail_.clear();
  const auto give_row = [&](std::size_t i) {
    (own_rows ? asked_row_[i] : marks[place(i)].row) = static_cast<std::uint32_t>(drawn.vertices.size());
    drawn.vertices.push_back(asked_.vertex[i]);
  };
  for (std::size_t i = 0; i < asked_.vertex.size(); ++i) {
    if (i + lines_ahead < asked_.vertex.size()) {
      __builtin_prefetch(&marks[place(i + lines_ahead)], 1);
      __builtin_prefetch(&clock.mail_event[place(i + lines_ahead)]);
    }
    const VertexId here = place(i);
    const std::size_t at = here;
    if (!own_rows && std::exchange(marks[at].seen, draws) == draws) continue;
    if (!clock.has_mail(here)) {
      without_mail_.push_back(i);
      continue;
    }
    give_row(i);
    drawn.mail_dt.push_back((own_rows ? asked_.time[i] : clock.mail_time[at]) - clock.updated[at]);
    drawn.mail_events.push_back(clock.mail_event[at]);
  }
  drawn.mails = static_cast<std::int64_t>(drawn.mail_events.size());
  for (const std::size_t i : without_mail_) give_row(i);
}

std::int64_t BatchDrawer::row_of(std::size_t asked) const {
  return traits_.mail_dt_of_asker ? asked_row_[asked] : tables_.marks[place(asked)].row;
}

void BatchDrawer::find_rows(const MemoryClock& clock, BatchDraw& drawn) {
  if (drawn.request.scores && traits_.levels == 0) {
    for (std::int64_t r = 0; r < drawn.roots(); ++r) {
      const std::size_t at = r;
      drawn.root_rows.push_back(row_of(at));
      const double now = asked_.time[at], then = clock.updated_after_mail(place(at));
      drawn.root_dt.push_back((now - then) / (now + 1));
    }
  }
  const double start = data_.whole->time[0];
  for (std::size_t l = 0; l < drawn.levels.size(); ++l) {
    const NeighbourSample& sample = samples_[l];
    const bool innermost = l + 1 == samples_.size();
    DrawnLevel& level = drawn.levels[samples_.size() - 1 - l];
    const std::size_t roots = level_roots_[l];
    level.roots = static_cast<std::int64_t>(roots);
    level.offsets = sample.offsets;
    level.events.assign(sample.event.begin(), sample.event.end());
    level.numbers.assign(asked_.number.begin(), asked_.number.begin() + level.roots);
    for (std::size_t r = 0; innermost && r < roots; ++r) level.root_rows.push_back(row_of(r));
    level.slot_rows.reserve(sample.vertex.size()), level.dt.reserve(sample.vertex.size());
    for (std::size_t s = 0; s < sample.vertex.size(); ++s) {
      if (s + lines_ahead < sample.vertex.size()) data_.graph->time.bring_in(sample.event[s + lines_ahead]);
      level.slot_rows.push_back(innermost ? row_of(roots + s) : static_cast<std::int64_t>(roots + s));
      const double then = traits_.key_dt_of_memory ? clock.updated_after_mail(place(roots + s))
                                                   : data_.graph->time[sample.event[s]] - start;
      level.dt.push_back(asked_.time[sample.slot_root[s]] - then);
    }
    if (!traits_.lists_slots) continue;
    level.slot_roots.assign(sample.slot_root.begin(), sample.slot_root.end());
    level.slot_numbers.resize(sample.vertex.size());
    std::iota(level.slot_numbers.begin(), level.slot_numbers.end(), std::int64_t{0});
  }
}

void BatchDrawer::find_pair_codes(BatchDraw& drawn) const {
  const EventTaskData& task = *data_.task;
  if (!request_.scores || task.pair_history == 0) return;
  for (auto& codes : drawn.pair_codes) codes.reserve(static_cast<std::size_t>(request_.count * drawn.candidates));
  for (std::int64_t i = 0; i < request_.count; ++i) {
    const EdgeId before = task.history_to_event ? data_.strictly_before(request_.first + i) : request_.batch_first;
    const std::span<const VertexId> candidates(asked_.vertex.data() + request_.count + i * drawn.candidates,
                                               static_cast<std::size_t>(drawn.candidates));
    for (const PairCodes& pair : pair_codes(*data_.graph, *data_.neighbours, asked_.vertex[static_cast<std::size_t>(i)],
                                            before, task.pair_history, candidates)) {
      for (std::size_t table = 0; table < pair.size(); ++table) drawn.pair_codes[table].push_back(pair[table]);
    }
  }
}

void BatchDrawer::find_writes(const BatchRequest& request, BatchDraw& drawn) {
  const EventGraph& graph = *data_.graph;
  const bool alone = request.batch_count == 0;
  const EdgeId begin = alone ? request.first : request.batch_first;
  const EdgeId end = begin + (alone ? request.count : request.batch_count);
  const auto write = [&](VertexId v, bool own, std::size_t own_place, std::size_t other_place) {
    const std::size_t at = in_parts_ ? place_of(v) : static_cast<std::size_t>(v);
    if (std::exchange(tables_.marks[at].written, tables_.draws) == tables_.draws || !own) return;
    drawn.written.push_back(v);
    drawn.own_rows.push_back(row_of(own_place));
    drawn.other_rows.push_back(row_of(other_place));
  };
  // Backwards, because the last event of a vertex leaves the mail that stays.
  for (EdgeId e = end - 1; e >= begin; --e) {
    const std::int64_t i = e - request.first;
    const bool own = i >= 0 && i < request.count;
    const std::size_t source = own ? i : 0;
    const std::size_t target = own ? request.count + i * drawn.candidates : 0;
    write(graph.target[e], own, target, source);
    write(graph.source[e], own, source, target);
  }
}

}  // namespace strobe
