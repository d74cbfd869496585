#include "models/tasks/protocols/stored_negatives.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "workloads/reading/text/npy.hpp"
#include "workloads/reading/text/zip_archive.hpp"

namespace strobe {
namespace {

constexpr const char* negatives_option = "/task/negatives_file";
constexpr double seconds_of_day = 86400;

using Query = std::tuple<double, std::int64_t, std::int64_t>;  // time, source, target

/// The arrays of the file, checked for themselves.
class NegativesFile {
 public:
  explicit NegativesFile(const std::string& path) : path_(path), sha256_(sha256_file(path)) {
    const ZipArchive archive(path);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string member = std::string(names[i]) + ".npy";
      if (std::count(archive.names().begin(), archive.names().end(), member) == 0)
        fail(fmt::format("has no array '{}'; python -m strobe.tgb_negatives writes {}", names[i],
                         fmt::join(names, ", ")));
      arrays_[i] = parse_npy(archive.read(member), path + ":" + names[i]);
      if (arrays_[i].shape.size() != 1) fail(fmt::format("the array '{}' has not one dimension", names[i]));
      if (i != time_at && !arrays_[i].type.starts_with("<i"))
        fail(fmt::format("the array '{}' has the type {}, not i4 or i8", names[i], arrays_[i].type));
    }
    check();
  }

  std::int64_t queries() const { return arrays_[source_at].size(); }
  Query query(std::int64_t q) const { return {time(q), whole(source_at, q), whole(target_at, q)}; }
  double time(std::int64_t q) const { return arrays_[time_at].at(q); }
  std::int64_t target(std::int64_t q) const { return whole(target_at, q); }
  std::int64_t first(std::int64_t q) const { return whole(first_at, q); }
  std::int64_t negative(std::int64_t i) const { return whole(negatives_at, i); }
  /// The query, or -1.
  std::int64_t find(const Query& wanted) const {
    std::int64_t low = 0, high = queries();
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (query(middle) < wanted)
        low = middle + 1;
      else
        high = middle;
    }
    return low < queries() && query(low) == wanted ? low : -1;
  }
  const std::string& sha256() const { return sha256_; }

 private:
  static constexpr std::array<const char*, 5> names = {"source", "target", "time", "first", "negatives"};
  enum At : std::uint8_t { source_at, target_at, time_at, first_at, negatives_at };

  std::int64_t whole(At array, std::int64_t i) const { return static_cast<std::int64_t>(arrays_[array].at(i)); }
  [[noreturn]] void fail(const std::string& what) const { throw InvalidInput(path_, 0, 0, what); }

  void check() const {
    const std::int64_t count = queries();
    if (count == 0) fail("has no query");
    if (arrays_[target_at].size() != count || arrays_[time_at].size() != count || arrays_[first_at].size() != count + 1)
      fail(
          fmt::format("the arrays have {}, {}, {} and {} elements; target and time need as many as source, first one "
                      "more",
                      count, arrays_[target_at].size(), arrays_[time_at].size(), arrays_[first_at].size()));
    for (std::int64_t q = 0; q < count; ++q) {
      if (!std::isfinite(time(q))) fail(fmt::format("the time of query {} is no number", q));
      if (q > 0 && !(query(q - 1) < query(q)))
        fail(fmt::format("query {} does not follow query {} by time, source and target", q, q - 1));
      if (first(q + 1) <= first(q)) fail(fmt::format("query {} has no negatives", q));
    }
    if (first(0) != 0 || first(count) != arrays_[negatives_at].size())
      fail(fmt::format("the queries have the negatives [{}, {}), and the file has {}", first(0), first(count),
                       arrays_[negatives_at].size()));
  }

  std::string path_, sha256_;
  std::array<NpyArray, names.size()> arrays_;
};

/// Distinct times of the judged events of a graph next to those of the queries.
class MatchedTimes {
 public:
  MatchedTimes(const EventGraph& graph, EdgeId first, const NegativesFile& file) {
    for (EdgeId e = first; e < graph.events(); ++e) add(graph.time[e], of_graph_);
    for (std::int64_t q = 0; q < file.queries(); ++q) add(file.time(q), of_file_);
    bool close = of_graph_.size() == of_file_.size();
    for (std::size_t i = 0; close && i < of_graph_.size(); ++i)
      close = std::abs(of_graph_[i] - of_file_[i]) <= seconds_of_day;
    if (close) return;
    throw InvalidRequest(
        negatives_option,
        fmt::format("the queries lie at {} times from {:.17g} to {:.17g}, the validation and test events of {} at {} "
                    "from {:.17g} to {:.17g}; take the negatives of this data set, and give the whole data set",
                    of_file_.size(), of_file_.front(), of_file_.back(), graph.provenance.name, of_graph_.size(),
                    of_graph_.empty() ? 0.0 : of_graph_.front(), of_graph_.empty() ? 0.0 : of_graph_.back()));
  }
  double in_file(double time) const {
    return of_file_[std::lower_bound(of_graph_.begin(), of_graph_.end(), time) - of_graph_.begin()];
  }

 private:
  static void add(double time, std::vector<double>& times) {
    if (times.empty() || times.back() != time) times.push_back(time);
  }
  std::vector<double> of_graph_, of_file_;
};

class StoredNegatives final : public GivenCandidates {
 public:
  StoredNegatives(const std::string& path, const EventGraph& graph, const TimeSplit& split)
      : graph_(graph), file_(path), first_(split.train_end) {
    find_queries();
    for (std::int64_t q = 0; q < file_.queries(); ++q) check(q);
  }

  std::vector<VertexId> of(EdgeId event) const override {
    const std::int64_t q = query_[static_cast<std::size_t>(event - first_)];
    std::vector<VertexId> vertices;
    vertices.reserve(static_cast<std::size_t>(file_.first(q + 1) - file_.first(q)));
    for (std::int64_t i = file_.first(q); i < file_.first(q + 1); ++i) vertices.push_back(vertex(file_.negative(i)));
    return vertices;
  }
  std::int64_t most() const override { return most_; }
  std::uint64_t own_bytes() const override { return query_.size() * sizeof query_[0]; }
  std::string sha256() const override { return file_.sha256(); }

 private:
  /// The vertex with this id in the data set; -1 = none.
  VertexId vertex(std::int64_t id) const {
    const auto& ids = graph_.original_id;
    if (ids.empty()) return id >= 0 && id < graph_.vertices ? static_cast<VertexId>(id) : -1;
    if (id >= 0 && id < graph_.vertices && ids[static_cast<std::size_t>(id)] == id) return static_cast<VertexId>(id);
    const auto at = std::lower_bound(ids.begin(), ids.end(), id);
    return at != ids.end() && *at == id ? static_cast<VertexId>(at - ids.begin()) : -1;
  }
  std::int64_t id(VertexId v) const {
    return graph_.original_id.empty() ? v : graph_.original_id[static_cast<std::size_t>(v)];
  }

  void find_queries() {
    const MatchedTimes times(graph_, first_, file_);
    std::vector<char> asked(static_cast<std::size_t>(file_.queries()), 0);
    for (EdgeId e = first_; e < graph_.events(); ++e) {
      const std::size_t at = e;
      const Query wanted{times.in_file(graph_.time[at]), id(graph_.source[at]), id(graph_.target[at])};
      const std::int64_t q = file_.find(wanted);
      if (q < 0)
        refuse(fmt::format("event {} from {} to {} at time {:.17g} has no negatives in the file", e,
                           std::get<1>(wanted), std::get<2>(wanted), graph_.time[at]));
      asked[static_cast<std::size_t>(q)] = 1;
      query_.push_back(static_cast<std::uint32_t>(q));
    }
    const auto none = std::find(asked.begin(), asked.end(), 0);
    if (none == asked.end()) return;
    const auto [time, source, target] = file_.query(none - asked.begin());
    refuse(fmt::format("the query from {} to {} at time {:.17g} is no validation or test event", source, target, time));
  }

  void check(std::int64_t q) {
    most_ = std::max(most_, file_.first(q + 1) - file_.first(q));
    for (std::int64_t i = file_.first(q); i < file_.first(q + 1); ++i) {
      const std::int64_t negative = file_.negative(i);
      if (negative == file_.target(q))
        refuse(fmt::format("query {} lists its own destination {} as a negative", q, negative));
      if (vertex(negative) < 0) refuse(fmt::format("negative {} of query {} is no vertex of the graph", negative, q));
    }
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw InvalidRequest(negatives_option, fmt::format("{}; take the negatives of {}, and give the whole data set",
                                                       what, graph_.provenance.name));
  }

  const EventGraph& graph_;
  NegativesFile file_;
  EdgeId first_;
  std::vector<std::uint32_t> query_;  // of each validation and test event
  std::int64_t most_ = 0;
};

}  // namespace

std::shared_ptr<const GivenCandidates> stored_negatives(const std::string& path, const EventGraph& graph,
                                                        const TimeSplit& split) {
  return std::make_shared<StoredNegatives>(path, graph, split);
}

}  // namespace strobe
