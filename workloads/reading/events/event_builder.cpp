// Packs rows into blocks while they arrive, then numbers the vertices and moves the blocks into columns in time order.
// Invariant: the rows of all runs, then of all blocks, then the open ones, are the rows of the file in order. Cost: see
// id_numbers.cpp, time_order.cpp and, for rows beyond a bound of memory, row_runs.cpp.
#include "workloads/reading/events/event_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "core/errors.hpp"
#include "workloads/reading/events/duplicates.hpp"
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

/// Says so when times, which are read often, need more than half of a double; small graphs need no thought.
void note_large_times(EventGraph& graph) {
  const auto events = static_cast<double>(graph.events()), bytes = static_cast<double>(graph.time.bytes());
  if (events < 1024 || bytes <= 4 * events) return;
  graph.provenance.notes.push_back(
      fmt::format("a time takes {:.1f} bytes in memory instead of at most 4: too many digits in {} events",
                  bytes / events, graph.events()));
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
  block_bytes_ += bytes_of(block);
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

EventBuilder EventBuilder::take() {
  close_block();
  EventBuilder rows;
  rows.blocks_ = std::move(blocks_);
  rows.closed_rows_ = std::exchange(closed_rows_, 0);
  rows.block_bytes_ = std::exchange(block_bytes_, 0);
  blocks_.clear();
  return rows;
}

void EventBuilder::append(EventBuilder&& later) {
  close_block();
  later.close_block();
  std::move(later.blocks_.begin(), later.blocks_.end(), std::back_inserter(blocks_));
  closed_rows_ += later.closed_rows_;
  block_bytes_ += later.block_bytes_;
  later = EventBuilder();
  if (bound_ != nullptr && block_bytes_ > (runs_ == nullptr ? bound_->most_bytes() : bound_->run_bytes())) put_aside();
}

/// Every block must have the same weights, labels and features a row.
void EventBuilder::check_extras() {
  constexpr std::array<const char*, 3> names{"weight", "label", "feature"};
  for (const EventBlock& block : blocks_) {
    const std::array<std::size_t, 3> values{block.weight.size(), block.label.size(), block.feature.size()};
    if (widths_.empty())
      for (const std::size_t count : values) widths_.push_back(count / block.rows);
    for (std::size_t k = 0; k < values.size() && uneven_.empty(); ++k)
      if (values[k] != widths_[k] * block.rows || (k < 2 && widths_[k] > 1)) uneven_ = names[k];
  }
}

/// Rows that `finish` will refuse are dropped: a complaint about a later row comes first.
void EventBuilder::put_aside() {
  check_extras();
  bound_->exceeded = true;
  if (runs_ == nullptr)
    runs_ = std::make_shared<RowRuns>(*bound_, digest_ == nullptr ? std::string() : digest_->path());
  for (const EventBlock& block : blocks_) self_loops_ += block.self_loops;
  if (uneven_.empty()) runs_->add(blocks_);
  blocks_.clear();
  block_bytes_ = 0;
}

EventGraph EventBuilder::finish(const std::string& path, const std::string& format) {
  if (rows() == 0) throw InvalidInput(path, 0, 0, "the file has no data rows");
  begin_digest(path);
  close_block();
  check_extras();
  if (!uneven_.empty()) throw InvalidInput(path, 0, 0, fmt::format("some rows have a {}, others have none", uneven_));
  if (runs_ != nullptr && !blocks_.empty()) put_aside();
  EventGraph graph;
  graph.provenance.name = std::filesystem::path(path).filename().string();
  graph.provenance.format = format;
  graph.provenance.source = path;
  graph.provenance.rows = rows();
  graph.provenance.self_loops = self_loops_;
  for (const EventBlock& block : blocks_) graph.provenance.self_loops += block.self_loops;
  if (runs_ != nullptr) {
    runs_->finish(graph);
  } else {
    graph.original_id = number_vertices(blocks_, path);
    move_in_time_order(blocks_, graph);
  }
  graph.vertices = static_cast<std::int64_t>(graph.original_id.size());
  graph.provenance.duplicates = count_duplicates(graph);
  note_large_times(graph);
  graph.provenance.sha256 = digest_->hex();
  *this = EventBuilder();
  return graph;
}

}  // namespace strobe
