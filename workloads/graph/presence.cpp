#include "workloads/graph/presence.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "core/errors.hpp"
#include "workloads/graph/graph.hpp"
#include "workloads/storage/joint_file.hpp"

namespace strobe {
namespace {

constexpr BinaryKind presence_kind{{'S', 'T', 'R', 'O', 'B', 'E', 'X', '\n'}, 1, "presence"};

/// Calls visit(v) for the ends of a snapshot's edges, some several times.
template <class Visit>
void for_ends(const Snapshot& snapshot, std::size_t vertices, const Visit& visit) {
  for (std::size_t v = 0; v < vertices; ++v) {
    for (std::int64_t e = snapshot.row_offsets[v]; e < snapshot.row_offsets[v + 1]; ++e) {
      visit(v);
      visit(static_cast<std::size_t>(snapshot.columns[e]));
    }
  }
}

/// The cells of one step after the other.
class PresenceSteps {
 public:
  PresenceSteps(const SnapshotGraph& graph, const std::string& kind)
      : graph_(graph),
        vertices_(static_cast<std::size_t>(graph.vertices)),
        seen_(kind == "seen"),
        begin_(vertices_, -1) {
    if (kind != "lifetime") return;
    last_.assign(vertices_, -1);
    for (Step t = 0; t < static_cast<Step>(graph.steps()); ++t)
      for_ends(*graph.snapshots[t], vertices_, [&](std::size_t v) { last_[v] = t; });
  }

  /// The beginnings of the sequences that the vertices have at the next step, or -1: [N].
  const std::vector<std::int32_t>& next() {
    const Step t = step_++;
    std::vector<bool> touched(vertices_, false);
    for_ends(*graph_.snapshots[t], vertices_, [&](std::size_t v) { touched[v] = true; });
    for (std::size_t v = 0; v < vertices_; ++v) {
      const bool stays = begin_[v] >= 0 && (seen_ || (!last_.empty() && t <= last_[v]));
      if (!touched[v] && !stays) begin_[v] = -1;
      if (touched[v] && begin_[v] < 0) begin_[v] = t;
    }
    return begin_;
  }

 private:
  const SnapshotGraph& graph_;
  std::size_t vertices_;
  bool seen_;
  std::vector<std::int32_t> begin_;
  std::vector<Step> last_;  // step at which each vertex has an edge, or -1: [N] of a lifetime
  Step step_ = 0;
};

std::int64_t count_existing(std::span<const std::int32_t> begins) {
  return std::count_if(begins.begin(), begins.end(), [](auto begin) { return begin >= 0; });
}

/// The existing cells of each step, [T].
std::vector<std::int64_t> counts_of(const Column<std::int32_t>& begins, std::size_t vertices) {
  std::vector<std::int64_t> counts;
  for (std::size_t first = 0; vertices > 0 && first < begins.size(); first += vertices)
    counts.push_back(count_existing({begins.data() + first, vertices}));
  return counts;
}

}  // namespace

Presence::Presence(std::int64_t vertices, Column<std::int32_t> begins)
    : vertices_(vertices), begins_(std::move(begins)), count_(counts_of(begins_, static_cast<std::size_t>(vertices))) {}

Presence::Presence(std::int64_t vertices, Column<std::int32_t> begins, Column<std::int64_t> counts)
    : vertices_(vertices), begins_(std::move(begins)), count_(std::move(counts)) {}

std::int64_t Presence::cells() const { return std::accumulate(count_.begin(), count_.end(), std::int64_t{0}); }

const std::vector<std::string>& presence_kinds() {
  static const std::vector<std::string> kinds = {"all", "seen", "lifetime", "active"};
  return kinds;
}

std::shared_ptr<const Presence> presence_of(const SnapshotGraph& graph, const std::string& kind) {
  const auto& kinds = presence_kinds();
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    throw InvalidRequest("/presence", unknown_name_message("presence", kind, kinds));
  if (kind == "all") return nullptr;
  PresenceSteps steps(graph, kind);
  std::vector<std::int32_t> begins;
  begins.reserve(static_cast<std::size_t>(graph.vertices * graph.steps()));
  for (std::int64_t t = 0; t < graph.steps(); ++t) {
    const std::vector<std::int32_t>& step = steps.next();
    begins.insert(begins.end(), step.begin(), step.end());
  }
  return std::make_shared<const Presence>(graph.vertices, std::move(begins));
}

void write_presence(const SnapshotGraph& graph, const std::string& kind, const std::string& path,
                    const BeginWait& begin_wait) {
  enum Section : std::size_t { begins, counts };
  const std::int64_t vertices = graph.vertices, count = graph.steps();
  const JointFile file(
      presence_kind, path,
      {joint_section<std::int32_t>("begins", vertices * count), joint_section<std::int64_t>("counts", count)});
  const auto make = [&](Part& part) {
    part.announce(0);
    PresenceSteps steps(graph, kind);
    for (std::int64_t t = 0; t < count; ++t) {
      const std::vector<std::int32_t>& step = steps.next();
      file.write(Section::begins, t * vertices, step);
      file.write(Section::counts, t, std::vector<std::int64_t>{count_existing(step)});
    }
  };
  const auto describe = [&](std::int64_t, std::vector<std::int64_t>&) -> Json {
    return {{"vertices", vertices}, {"steps", count}};
  };
  file.make(1, make, describe, 1, begin_wait);
}

std::shared_ptr<const Presence> read_presence(const std::string& path, std::shared_ptr<const void> keeper) {
  const BinaryFile file(presence_kind, path, std::move(keeper));
  const auto vertices = file.description().at("vertices").get<std::int64_t>(),
             steps = file.description().at("steps").get<std::int64_t>();
  return std::make_shared<const Presence>(vertices, file.column<std::int32_t>("begins", vertices * steps, true),
                                          file.column<std::int64_t>("counts", steps, true));
}

}  // namespace strobe
