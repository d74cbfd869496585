// NumPy archives of events, .npz: arrays called as PyTorch Geometric, TGB, JODIE and DGraphFin call them. Ends of
// events are one array edge_index [2, E] or [E, 2], or two of [E] (src, dst and the like); times are one of [E] (t, ts,
// time, timestamp, edge_time, edge_timestamp and the like). A weight [E] (weight, edge_weight) and features [E, F]
// (msg, edge_attr, edge_feat) are read where they are; other arrays are not, and a note names them. Returns one event
// per column of edge_index. Ids are whole numbers, shared by sources and targets. Cost: one pass. Source:
// numpy.lib.npyio.savez; dgraph.xinye.com (edge_index [E, 2], edge_timestamp, edge_type).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "core/errors.hpp"
#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/text/npy.hpp"
#include "workloads/reading/text/text_reader.hpp"
#include "workloads/reading/text/zip_archive.hpp"
#include "workloads/storage/pages.hpp"

namespace strobe {
namespace {

using ArrayNames = std::vector<const char*>;
using namespace std::string_view_literals;

const ArrayNames arrays_of_pairs = {"edge_index", "edges", "edge_list"};
const ArrayNames arrays_of_sources = {"src", "source", "sources", "u", "from", "head"};
const ArrayNames arrays_of_targets = {"dst", "target", "targets", "destination", "destinations",
                                      "v",   "i",      "to",      "tail"};
const ArrayNames arrays_of_times = {"t",          "ts",        "time",       "times",          "timestamp",
                                    "timestamps", "edge_time", "edge_times", "edge_timestamp", "edge_timestamps"};
const ArrayNames arrays_of_weights = {"weight", "weights", "edge_weight", "w"};
const ArrayNames arrays_of_features = {"msg", "edge_attr", "edge_feat", "edge_feats", "edge_features"};

/// The first member's name ends in .npy, as in every archive that NumPy writes.
int probe_npz(std::string_view head, std::string_view) {
  constexpr std::size_t local_bytes = 30, name_size_at = 26;
  if (head.size() < local_bytes || !head.starts_with("PK\3\4"sv)) return 0;
  const std::size_t size = static_cast<unsigned char>(head[name_size_at]) +
                           std::size_t{256} * static_cast<unsigned char>(head[name_size_at + 1]);
  return head.substr(local_bytes, size).ends_with(".npy") ? 90 : 0;
}

/// The arrays of one archive, read when they are asked for.
class Arrays {
 public:
  explicit Arrays(const std::string& path) : path_(path), archive_(path) {}

  /// The array with one of the names; nothing when there is none. Two of them leave open which is meant.
  std::optional<NpyArray> find(const ArrayNames& names) {
    std::vector<std::string> found;
    for (const char* name : names)
      if (has(name)) found.emplace_back(name);
    if (found.empty()) return std::nullopt;
    if (found.size() > 1)
      fail(
          fmt::format("the arrays {} may mean the same; save the archive with one of them", fmt::join(found, " and ")));
    read_.push_back(found.front());
    return parse_npy(archive_.read(found.front() + ".npy"), path_ + ":" + found.front());
  }
  bool has(const std::string& name) const {
    return std::count(archive_.names().begin(), archive_.names().end(), name + ".npy") > 0;
  }
  std::vector<std::string> unread() const {
    std::vector<std::string> names;
    for (const std::string& member : archive_.names()) {
      const std::string name = member.ends_with(".npy") ? member.substr(0, member.size() - 4) : member;
      if (std::find(read_.begin(), read_.end(), name) == read_.end()) names.push_back(printable(name));
    }
    return names;
  }
  [[noreturn]] void fail(const std::string& message) const {
    throw InvalidInput(path_, 0, 0,
                       fmt::format("{}; the archive holds {}", message, fmt::join(archive_.names(), ", ")));
  }

 private:
  std::string path_;
  ZipArchive archive_;
  std::vector<std::string> read_;
};

std::string shape_text(const NpyArray& array) { return fmt::format("[{}]", fmt::join(array.shape, ", ")); }

/// A number of [rows, columns] wherever the array's order keeps it.
double at(const NpyArray& array, std::int64_t row, std::int64_t column) {
  const std::int64_t rows = array.shape[0], columns = array.shape.size() > 1 ? array.shape[1] : 1;
  return array.at(array.fortran ? column * rows + row : row * columns + column);
}

/// Sources and targets of all events, in the archive's order.
class Ends {
 public:
  explicit Ends(Arrays& arrays) : arrays_(arrays) {
    std::optional<NpyArray> pairs = arrays.find(arrays_of_pairs);
    if (pairs)
      take_pairs(*std::move(pairs));
    else
      take_sides();
  }

  std::int64_t count() const { return count_; }
  std::int64_t source(std::int64_t e) const { return ends_first_ ? id(first_, 0, e) : id(first_, e, 0); }
  std::int64_t target(std::int64_t e) const {
    if (second_) return id(*second_, e, 0);
    return ends_first_ ? id(first_, 1, e) : id(first_, e, 1);
  }
  void rest() const {
    rest_pages(first_.bytes.data(), first_.bytes.size());
    if (second_) rest_pages(second_->bytes.data(), second_->bytes.size());
  }

 private:
  void take_sides() {
    std::optional<NpyArray> source = arrays_.find(arrays_of_sources), target = arrays_.find(arrays_of_targets);
    if (!source || !target)
      arrays_.fail(fmt::format("no arrays of edges: edge_index [2, E], or sources ({}) and targets ({})",
                               fmt::join(arrays_of_sources, ", "), fmt::join(arrays_of_targets, ", ")));
    for (const NpyArray* const ids : {&*source, &*target})
      if (ids->shape.size() != 1) arrays_.fail(fmt::format("ids have the shape {}; [E] is read", shape_text(*ids)));
    if (source->size() != target->size())
      arrays_.fail(fmt::format("{} sources and {} targets", source->size(), target->size()));
    count_ = source->size();
    first_ = *std::move(source), second_ = *std::move(target);
  }
  void take_pairs(NpyArray pairs) {
    if (pairs.shape.size() != 2 || (pairs.shape[0] != 2 && pairs.shape[1] != 2))
      arrays_.fail(fmt::format("edge_index has the shape {}; [2, E] or [E, 2] is read", shape_text(pairs)));
    if (pairs.shape[0] == 2 && pairs.shape[1] == 2)
      arrays_.fail(
          "edge_index has the shape [2, 2], so it is not plain which axis is the ends; save src and dst apart");
    ends_first_ = pairs.shape[0] == 2;
    count_ = pairs.shape[ends_first_ ? 1 : 0];
    first_ = std::move(pairs);
  }
  std::int64_t id(const NpyArray& array, std::int64_t row, std::int64_t column) const {
    const double value = at(array, row, column);
    if (value >= 0 && value == std::floor(value) && value < 9007199254740992.0) return static_cast<std::int64_t>(value);
    arrays_.fail(fmt::format("a vertex id is {}, which is not a whole number from 0 to 2^53", value));
  }

  Arrays& arrays_;
  NpyArray first_;                  // the pairs, or the sources
  std::optional<NpyArray> second_;  // the targets
  bool ends_first_ = false;         // [2, E]
  std::int64_t count_ = 0;
};

/// An array with a row for every event; [E, 1] counts as [E].
void require_rows(const NpyArray& array, std::int64_t events, const std::string& what, std::size_t most_axes,
                  const Arrays& arrays) {
  const bool fits = !array.shape.empty() && array.shape[0] == events &&
                    (array.shape.size() == 1 || (array.shape.size() == 2 && (most_axes == 2 || array.shape[1] == 1)));
  if (!fits) arrays.fail(fmt::format("{} have the shape {} for {} edges", what, shape_text(array), events));
}

double time_at(const NpyArray& times, std::int64_t e, const Arrays& arrays) {
  constexpr double first = -62135596800.0, last = 253402300799.0;  // years 1 to 9999
  const double time = at(times, e, 0);
  if (!(time >= first && time <= last))
    arrays.fail(fmt::format("time {} is beyond the years 1 to 9999 in seconds (are these milliseconds?)", time));
  return time;
}

float value_at(const NpyArray& array, std::int64_t e, std::int64_t f, const std::string& what, const Arrays& arrays) {
  const double value = at(array, e, f);
  if (!(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max())))
    arrays.fail(fmt::format("{} of edge {} is {}, which is not a finite fp32 number", what, e, value));
  return static_cast<float>(value);
}

EventGraph read_npz(const std::string& path) {
  constexpr std::int64_t rows_at_once = std::int64_t{1} << 17;
  Arrays arrays(path);
  const Ends ends(arrays);
  const auto times = arrays.find(arrays_of_times);
  if (!times) arrays.fail(fmt::format("no array of times ({})", fmt::join(arrays_of_times, ", ")));
  const auto weights = arrays.find(arrays_of_weights), features = arrays.find(arrays_of_features);
  require_rows(*times, ends.count(), "times", 1, arrays);
  if (weights) require_rows(*weights, ends.count(), "weights", 1, arrays);
  if (features) require_rows(*features, ends.count(), "features", 2, arrays);
  EventBuilder events, rows;
  events.begin_digest(path);
  for (std::int64_t e = 0; e < ends.count(); ++e) {
    rows.add(ends.source(e), ends.target(e), time_at(*times, e, arrays));
    if (weights) {
      value_at(*weights, e, 0, "the weight", arrays);
      rows.add_weight(at(*weights, e, 0));
    }
    for (std::int64_t f = 0; features && f < (features->shape.size() == 2 ? features->shape[1] : 1); ++f)
      rows.add_feature(value_at(*features, e, f, "a feature", arrays));
    if ((e + 1) % rows_at_once != 0 && e + 1 < ends.count()) continue;
    events.append(rows.take());
    ends.rest();
    for (const NpyArray* const read : {&*times, weights ? &*weights : nullptr, features ? &*features : nullptr})
      if (read != nullptr) rest_pages(read->bytes.data(), read->bytes.size());
  }
  EventGraph graph = events.finish(path, "npz");
  const std::vector<std::string> unread = arrays.unread();
  if (!unread.empty())
    graph.provenance.notes.push_back(fmt::format("arrays that are not read: {}", fmt::join(unread, ", ")));
  return graph;
}

const Register<FormatTag> npz_registered{{"npz",
                                          "NumPy archive: edge_index or src and dst, times, and weights or features",
                                          "numpy.savez; PyTorch Geometric, TGB, JODIE and DGraphFin name arrays so",
                                          {},
                                          {probe_npz, read_npz},
                                          {}}};

}  // namespace
}  // namespace strobe
