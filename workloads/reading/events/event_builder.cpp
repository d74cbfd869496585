// Packs rows into blocks while they arrive, then numbers the vertices and moves the blocks into columns in time order.
// Invariant: the rows of all blocks, then the open ones, are the rows of the file in order. Cost: see id_numbers.cpp
// and time_order.cpp.
#include "workloads/reading/events/event_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "core/errors.hpp"
#include "workloads/reading/events/time_order.hpp"
#include "workloads/reading/ids/id_numbers.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {
namespace {

/// Moves the first `count` values out; the values after them belong to the next row and stay.
template <class T>
std::vector<T> take_front(std::vector<T>& values, std::size_t count) {
  const auto end = values.begin() + static_cast<std::ptrdiff_t>(std::min(count, values.size()));
  std::vector<T> front(values.begin(), end);
  values.erase(values.begin(), end);
  return front;
}

/// Every block must have `values` a row, the same number in all.
template <class Values>
void check_extras(const std::vector<EventBlock>& blocks, const Values& values, const char* what, bool one_a_row,
                  const std::string& path) {
  const std::size_t width = values(blocks.front()).size() / blocks.front().rows;
  for (const EventBlock& block : blocks) {
    if (values(block).size() != width * block.rows || (one_a_row && width > 1))
      throw InvalidInput(path, 0, 0, fmt::format("some rows have a {}, others have none", what));
  }
}

/// Counts rows beyond the first of an equal (u, v, time) among the events [begin, end).
std::int64_t count_duplicates(const EventGraph& graph, std::size_t begin, std::size_t end) {
  std::int64_t duplicates = 0;
  std::vector<std::uint64_t> pairs;
  std::vector<double> times(end - begin);
  graph.time.copy(begin, times);
  for (std::size_t at = 0, next = 0; at < times.size(); at = next) {
    for (next = at + 1; next < times.size() && times[next] == times[at];) ++next;
    if (next - at == 1) continue;
    pairs.clear();
    for (std::size_t e = begin + at; e < begin + next; ++e)
      pairs.push_back(static_cast<std::uint64_t>(graph.source[e]) << 32 | static_cast<std::uint32_t>(graph.target[e]));
    std::sort(pairs.begin(), pairs.end());
    duplicates += std::distance(std::unique(pairs.begin(), pairs.end()), pairs.end());
  }
  return duplicates;
}

/// Says so when times, which are read often, need more than half of a double; small graphs need no thought.
void note_large_times(EventGraph& graph) {
  const auto events = static_cast<double>(graph.events()), bytes = static_cast<double>(graph.time.bytes());
  if (events < 1024 || bytes <= 4 * events) return;
  graph.provenance.notes.push_back(
      fmt::format("a time takes {:.1f} bytes in memory instead of at most 4: too many digits in {} events",
                  bytes / events, graph.events()));
}

/// The same for all events, in parts that do not separate equal times.
std::int64_t count_duplicates(const EventGraph& graph) {
  constexpr std::size_t part_events = std::size_t{1} << 18;
  std::vector<std::size_t> bounds{0};
  const std::size_t events = graph.source.size();
  while (bounds.back() < events) {
    std::size_t end = std::min(events, bounds.back() + part_events);
    while (end < events && graph.time[end] == graph.time[end - 1]) ++end;
    bounds.push_back(end);
  }
  std::atomic<std::int64_t> duplicates{0};
  parallel_tasks(static_cast<std::int64_t>(bounds.size()) - 1, [&](std::int64_t part) {
    const std::size_t p = part;
    duplicates += count_duplicates(graph, bounds[p], bounds[p + 1]);
  });
  return duplicates;
}

}  // namespace

void EventBuilder::close_block() {
  if (source_.empty()) return;
  const std::size_t rows = source_.size();
  EventBlock block = make_block(source_, target_, time_);
  block.weight = take_front(weight_, rows);
  block.exact_weight = take_front(exact_weight_, rows);
  block.label = take_front(label_, rows);
  block.feature = take_front(feature_, feature_.size() / rows * rows);
  closed_rows_ += static_cast<std::int64_t>(rows);
  blocks_.push_back(std::move(block));
  source_.clear();
  target_.clear();
  time_.clear();
}

/// Weights of the open block before the first that fp32 rounds are doubles that it holds.
void EventBuilder::add_exact_weight(double weight) {
  if (exact_weight_.empty()) exact_weight_.assign(weight_.begin(), weight_.end());
  exact_weight_.push_back(weight);
}

void EventBuilder::begin_digest(const std::string& path) {
  if (digest_ == nullptr || digest_->path() != path) digest_ = std::make_shared<BackgroundDigest>(path);
}

void EventBuilder::renumber(const std::vector<std::int64_t>& sources, const std::vector<std::int64_t>& targets) {
  close_block();
  for (EventBlock& block : blocks_) block.renumber(sources, targets);
}

void EventBuilder::fill_features(std::size_t width,
                                 const std::function<void(std::int64_t row, std::span<float> features)>& fill) {
  close_block();
  std::vector<std::int64_t> first{0};
  for (const EventBlock& block : blocks_) first.push_back(first.back() + static_cast<std::int64_t>(block.rows));
  parallel_tasks(static_cast<std::int64_t>(blocks_.size()), [&](std::int64_t b) {
    EventBlock& block = blocks_[b];
    block.feature.resize(block.rows * width);
    for (std::size_t i = 0; i < block.rows; ++i)
      fill(first[b] + static_cast<std::int64_t>(i), std::span(block.feature).subspan(i * width, width));
  });
}

EventBuilder EventBuilder::take() {
  close_block();
  EventBuilder rows;
  rows.blocks_ = std::move(blocks_);
  rows.closed_rows_ = closed_rows_;
  blocks_.clear();
  closed_rows_ = 0;
  weight_.clear();  // of a row that a complaint cut short
  exact_weight_.clear();
  label_.clear();
  feature_.clear();
  return rows;
}

void EventBuilder::append(EventBuilder&& later) {
  close_block();
  later.close_block();
  std::move(later.blocks_.begin(), later.blocks_.end(), std::back_inserter(blocks_));
  closed_rows_ += later.closed_rows_;
  later = EventBuilder();
}

EventGraph EventBuilder::finish(const std::string& path, const std::string& format) {
  if (rows() == 0) throw InvalidInput(path, 0, 0, "the file has no data rows");
  begin_digest(path);
  close_block();
  check_extras(
      blocks_, [](const EventBlock& b) -> auto& { return b.weight; }, "weight", true, path);
  check_extras(
      blocks_, [](const EventBlock& b) -> auto& { return b.label; }, "label", true, path);
  check_extras(
      blocks_, [](const EventBlock& b) -> auto& { return b.feature; }, "feature", false, path);
  EventGraph graph;
  graph.provenance.name = std::filesystem::path(path).filename().string();
  graph.provenance.format = format;
  graph.provenance.source = path;
  graph.provenance.rows = rows();
  for (const EventBlock& block : blocks_) graph.provenance.self_loops += block.self_loops;
  graph.original_id = number_vertices(blocks_, path);
  graph.vertices = static_cast<std::int64_t>(graph.original_id.size());
  move_in_time_order(blocks_, graph);
  graph.provenance.duplicates = count_duplicates(graph);
  note_large_times(graph);
  graph.provenance.sha256 = digest_->hex();
  *this = EventBuilder();
  return graph;
}

}  // namespace strobe
