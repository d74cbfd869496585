// External merge sort. A run is made like a small graph of its own: its ids are numbered, its rows sorted by time. Runs
// follow each other in the file, so the merge takes the earlier of two runs where times are equal.
// Ids need no table: the runs' ascending ids are merged, which gives every run the final numbers of its own ids.
// Memory: a run and its copy while it is sorted; some times of each run while they are merged. Disk: about twice the
// rows.
#include "workloads/reading/events/row_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <queue>
#include <utility>

#include "core/units.hpp"
#include "workloads/reading/events/time_order.hpp"
#include "workloads/reading/ids/id_numbers.hpp"
#include "workloads/storage/pages.hpp"

namespace strobe {
namespace {

constexpr std::size_t least_rest_rows = 4096, most_rest_rows = std::size_t{1} << 20;
constexpr std::int64_t rows_per_report = 10'000'000;

/// A copy of the values where new pages lie.
template <class Values>
auto put_aside(const Values& values) {
  using T = typename Values::value_type;
  Pages memory(values.size() * sizeof(T));
  std::copy(values.begin(), values.end(), reinterpret_cast<T*>(memory.data()));
  rest_pages(memory.data(), memory.bytes());
  return make_column<T>(std::move(memory), values.size());
}

/// Gives memory of the values back. Reading a page of a file brings those around it too, also those before.
template <class T>
void rest(const Column<T>& column, std::size_t begin, std::size_t end) {
  constexpr std::size_t around = 65536 / sizeof(T);
  const std::size_t from = begin - std::min(begin, around);
  if (!column.empty()) rest_pages(column.data() + from, (end - from) * sizeof(T));
}

/// Where the merge is in a run.
class Cursor {
 public:
  Cursor(const RowRun& run, std::size_t ahead) : run_(&run), ahead_(ahead) { fill(); }

  std::size_t at() const { return at_; }
  bool at_end() const { return at_ == run_->rows.time.size(); }
  double time() const { return times_[at_ - first_]; }
  void next() {
    ++at_;
    if (at_ - first_ == times_.size() && !at_end()) fill();
  }
  /// Gives memory of rows that were merged back.
  void rest_before() {
    const EventGraph& rows = run_->rows;
    rest(rows.source, rested_, at_), rest(rows.target, rested_, at_), rest(rows.weight, rested_, at_);
    rest(rows.event_label, rested_, at_), rest(run_->exact, rested_, at_);
    const auto width = static_cast<std::size_t>(rows.edge_feature_width);
    rest(rows.edge_features, width * rested_, width * at_);
    rested_ = at_;
  }

 private:
  void fill() {
    first_ = at_;
    times_.resize(std::min(ahead_, run_->rows.time.size() - at_));
    run_->rows.time.copy(first_, times_);
  }

  const RowRun* run_;
  std::size_t ahead_, at_ = 0, first_ = 0, rested_ = 0;
  std::vector<double> times_;
};

/// A column of the result, filled from its beginning.
class MergedColumn {
 public:
  MergedColumn(std::size_t rows, std::size_t width) : width_(width), memory_(rows * width) {}

  /// Adds the rows [begin, end) of a run's column.
  void add(const void* values, std::size_t begin, std::size_t end) {
    if (width_ == 0) return;
    const auto* const from = static_cast<const std::byte*>(values) + begin * width_;
    const std::size_t bytes = (end - begin) * width_;
    if (bytes == sizeof(std::uint32_t))  // a single row, mostly
      std::memcpy(memory_.data() + filled_, from, sizeof(std::uint32_t));
    else
      std::memcpy(memory_.data() + filled_, from, bytes);
    filled_ += bytes;
  }
  void rest_filled() {
    if (width_ > 0) rest_pages(memory_.data() + rested_, filled_ - rested_);
    rested_ = filled_;
  }
  template <class T>
  Column<T> finish() {
    rest_filled();
    return make_column<T>(std::move(memory_), filled_ / sizeof(T));
  }

 private:
  std::size_t width_, filled_ = 0, rested_ = 0;
  Pages memory_;
};

class Merge {
 public:
  Merge(const std::vector<RowRun>& runs, std::size_t rows, std::uint64_t bytes)
      : runs_(runs),
        rows_(rows),
        exact_(std::any_of(runs.begin(), runs.end(), [](const RowRun& run) { return !run.exact.empty(); })),
        width_(static_cast<std::size_t>(runs.front().rows.edge_feature_width)),
        times_(rows, sizeof(double)),
        source_(rows, sizeof(VertexId)),
        target_(rows, sizeof(VertexId)),
        weight_(rows, runs.front().rows.weight.empty() ? 0 : sizeof(float)),
        label_(rows, runs.front().rows.event_label.empty() ? 0 : sizeof(std::int8_t)),
        features_(rows, width_ * sizeof(float)),
        exact_weight_(rows, exact_ ? sizeof(double) : 0) {
    const std::size_t row_bytes = sizeof(double) + 2 * sizeof(VertexId) + sizeof(float) + 1 +
                                  (exact_ ? sizeof(double) : 0) + width_ * sizeof(float);
    // Rows lie in their runs and in the merged columns.
    rest_rows_ = std::clamp<std::size_t>(bytes / (4 * row_bytes), least_rest_rows, most_rest_rows);
    const std::size_t ahead = std::clamp<std::size_t>(bytes / (8 * sizeof(double) * runs.size()), 256, 65536);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      cursors_.emplace_back(runs[r], ahead);
      heads_.emplace(cursors_[r].time(), r);
    }
  }

  /// `progress` gets the number of merged rows.
  template <class Progress>
  void merge(const Progress& progress) {
    std::size_t merged = 0, rested = 0;
    while (!heads_.empty()) {
      merged += take_from_first();
      if (merged - rested < rest_rows_) continue;
      rested = merged;
      rest_all();
      progress(merged);
    }
  }

  void finish(EventGraph& graph) {
    graph.source = source_.finish<VertexId>();
    graph.target = target_.finish<VertexId>();
    graph.weight = weight_.finish<float>();
    graph.event_label = label_.finish<std::int8_t>();
    graph.edge_feature_width = static_cast<std::int64_t>(width_);
    graph.edge_features = features_.finish<float>();
    graph.exact_weight = exact_weight_.finish<double>();
    graph.time = take_times();
  }

 private:
  using Head = std::pair<double, std::size_t>;  // the next time of a run, and the run

  /// Takes rows from the run with the least head until another run's head comes first. Returns how many.
  std::size_t take_from_first() {
    const std::size_t r = heads_.top().second;
    heads_.pop();
    Cursor& cursor = cursors_[r];
    const std::size_t begin = cursor.at();
    do {
      const double time = cursor.time();
      times_.add(&time, 0, 1);
      cursor.next();
    } while (!cursor.at_end() && cursor.at() - begin < rest_rows_ &&
             (heads_.empty() || Head(cursor.time(), r) < heads_.top()));
    add_rows(runs_[r], begin, cursor.at());
    if (!cursor.at_end()) heads_.emplace(cursor.time(), r);
    return cursor.at() - begin;
  }

  void add_rows(const RowRun& run, std::size_t begin, std::size_t end) {
    source_.add(run.rows.source.data(), begin, end);
    target_.add(run.rows.target.data(), begin, end);
    weight_.add(run.rows.weight.data(), begin, end);
    label_.add(run.rows.event_label.data(), begin, end);
    features_.add(run.rows.edge_features.data(), begin, end);
    if (!exact_) return;
    for (std::size_t i = begin; i < end; ++i) {
      const double weight = run.exact.empty() ? static_cast<double>(run.rows.weight[i]) : run.exact[i];
      exact_weight_.add(&weight, 0, 1);
    }
  }

  void rest_all() {
    for (Cursor& cursor : cursors_) cursor.rest_before();
    for (MergedColumn* column : {&times_, &source_, &target_, &weight_, &label_, &features_, &exact_weight_})
      column->rest_filled();
  }

  /// The same packed form that rows in memory get.
  TimeColumn take_times() {
    Column<double> times = times_.finish<double>();
    PackedTimes packed = PackedTimes::pack(rows_, [&](std::size_t first, std::span<double> out) {
      std::copy_n(times.begin() + first, out.size(), out.begin());
      if (first % most_rest_rows == 0 && first > 0) rest(times, first - most_rest_rows, first);
    });
    if (packed.empty()) return TimeColumn(std::move(times));
    rest_pages(packed.words().data(), packed.words().size() * sizeof(std::uint64_t));
    return TimeColumn(std::move(packed));
  }

  const std::vector<RowRun>& runs_;
  std::size_t rows_;
  bool exact_;         // some run has weights that fp32 rounds
  std::size_t width_;  // features of a row
  MergedColumn times_, source_, target_, weight_, label_, features_, exact_weight_;
  std::vector<Cursor> cursors_;
  std::size_t rest_rows_ = most_rest_rows;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads_;
};

bool in_order(const std::vector<RowRun>& runs) {
  bool sorted = true;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    sorted &= runs[r].rows.provenance.was_sorted;
    if (r > 0) sorted &= runs[r - 1].rows.time.back() <= runs[r].rows.time.front();
  }
  return sorted;
}

}  // namespace

std::uint64_t bytes_of(const EventBlock& block) {
  return block.memory.bytes() + sizeof(float) * (block.weight.size() + block.feature.size()) +
         sizeof(double) * block.exact_weight.size() + block.label.size();
}

void RowRuns::say(const std::string& text) const { report_reading(fmt::format("{}: {}", path_, text)); }

void RowRuns::add(std::vector<EventBlock>& blocks) {
  if (runs_.empty())
    say(fmt::format("rows do not fit {}, so they are sorted in parts in {}",
                    format_bytes(static_cast<double>(bound_.bytes)), bound_.folder));
  std::vector<EventBlock> part;
  std::uint64_t bytes = 0;
  for (EventBlock& block : blocks) {
    if (!part.empty() && bytes + bytes_of(block) > bound_.run_bytes()) {
      add_run(std::exchange(part, {}));
      bytes = 0;
    }
    bytes += bytes_of(block);
    part.push_back(std::move(block));
  }
  blocks.clear();
  if (!part.empty()) add_run(std::move(part));
}

void RowRuns::add_run(std::vector<EventBlock> blocks) {
  const PagesInFiles aside(bound_.folder);
  RowRun run;
  run.rows.original_id = put_aside(number_vertices(blocks, path_));
  move_in_time_order(blocks, run.rows);
  run.exact = put_aside(std::exchange(run.rows.exact_weight, {}));
  const std::size_t rows = run.rows.source.size();
  rest(run.rows.source, 0, rows), rest(run.rows.target, 0, rows), rest(run.rows.weight, 0, rows);
  rest(run.rows.event_label, 0, rows), rest(run.rows.edge_features, 0, run.rows.edge_features.size());
  rows_ += static_cast<std::int64_t>(rows);
  runs_.push_back(std::move(run));
  if (rows_ - reported_ < rows_per_report) return;
  reported_ = rows_;
  say(fmt::format("{} rows read", format_count(rows_)));
}

void RowRuns::finish(EventGraph& graph) {
  const PagesInFiles aside(bound_.folder);
  graph.provenance.was_sorted = in_order(runs_);
  std::vector<Column<std::int64_t>> ids;
  for (RowRun& run : runs_) ids.push_back(std::exchange(run.rows.original_id, {}));
  MergedIds all = merge_ids(ids, path_);
  graph.original_id = std::move(all.ids);
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    runs_[r].rows.source = renumbered(runs_[r].rows.source, all.numbers[r]);
    runs_[r].rows.target = renumbered(runs_[r].rows.target, all.numbers[r]);
    all.numbers[r] = {};
  }
  Merge merge(runs_, static_cast<std::size_t>(rows_), bound_.bytes);
  merge.merge([&](std::size_t merged) {
    const auto done = static_cast<std::int64_t>(merged);
    if (done - reported_ < rows_per_report) return;
    reported_ = done;
    say(fmt::format("{} of {} rows sorted", format_count(done), format_count(rows_)));
  });
  runs_.clear();
  merge.finish(graph);
}

}  // namespace strobe
