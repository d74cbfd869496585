#include "workloads/preparation/shared_facts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "workloads/graph/graph.hpp"
#include "workloads/storage/binary_file.hpp"
#include "workloads/storage/joint_file.hpp"

namespace strobe {
namespace {

constexpr BinaryKind presence_kind{{'S', 'T', 'R', 'O', 'B', 'E', 'X', '\n'}, 1, "existing cells"};
constexpr BinaryKind measures_kind{{'S', 'T', 'R', 'O', 'B', 'E', 'M', '\n'}, 1, "mean and deviation of features"};

}  // namespace

void write_presence(const SnapshotGraph& graph, const std::string& kind, const std::string& path,
                    const BeginWait& begin_wait) {
  enum Number : std::size_t { begins_number, count_number };
  const std::int64_t n = graph.vertices, steps = graph.steps();
  const JointFile file(presence_kind, path,
                       {joint_section<std::int32_t>("begins", steps * n), joint_section<std::int64_t>("count", steps)});
  const auto write_steps = [&](Part& part) {
    std::vector<std::int64_t> count;
    visit_presence(graph, kind, [&](std::span<const std::int32_t> begins) {
      file.write(begins_number, static_cast<std::int64_t>(count.size()) * n, begins);
      count.push_back(std::count_if(begins.begin(), begins.end(), [](std::int32_t begin) { return begin >= 0; }));
    });
    file.write(count_number, 0, std::span<const std::int64_t>(count));
    part.announce(0);
  };
  const auto describe = [&](std::int64_t, std::vector<std::int64_t>&) -> Json {
    return {{"vertices", n}, {"steps", steps}};
  };
  file.make(1, write_steps, describe, 1, begin_wait);
}

std::shared_ptr<const Presence> read_presence(const std::string& path, std::shared_ptr<const void> keeper) {
  const BinaryFile file(presence_kind, path, std::move(keeper));
  const auto vertices = file.description().at("vertices").get<std::int64_t>(),
             steps = file.description().at("steps").get<std::int64_t>();
  return std::make_shared<const Presence>(vertices, file.column<std::int32_t>("begins", steps * vertices, true),
                                          file.column<std::int64_t>("count", steps, true).copy());
}

void write_measures(const FeatureMeasures& measures, const std::string& path) {
  std::vector<BinarySection> sections;
  add_section(sections, "mean", measures.mean);
  add_section(sections, "factor", measures.factor);
  write_binary_file(measures_kind, {{"width", measures.mean.size()}}, sections, path, Keeping::passing);
}

FeatureMeasures read_measures(const std::string& path) {
  const BinaryFile file(measures_kind, path);
  const auto width = file.description().at("width").get<std::int64_t>();
  return {file.column<double>("mean", width, true).copy(), file.column<double>("factor", width, true).copy()};
}

}  // namespace strobe
