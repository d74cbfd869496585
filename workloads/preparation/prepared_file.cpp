// Every array has a fixed place in a sparse file, as long as its bound; what a bound leaves over is a hole without
// pages. So a step goes to its place as soon as the non-zeros of the steps before it are counted, whoever prepares it.
#include "workloads/preparation/prepared_file.hpp"

#include <nlohmann/json.hpp>

#include "core/system/machine_limits.hpp"
#include "workloads/preparation/prepared_arrays.hpp"
#include "workloads/preparation/prepared_digest.hpp"
#include "workloads/storage/joint_file.hpp"

namespace strobe {
namespace {

constexpr BinaryKind prepared_kind{{'S', 'T', 'R', 'O', 'B', 'E', 'P', '\n'}, 2, "prepared graph"};

struct PreparedSection {
  enum Number : std::size_t {
    row_offsets,
    columns,
    values64,
    values32,
    features64,
    features32,
    products64,
    products32,
    step_digests
  };
};

/// The places of the arrays in the file, in the order of PreparedSection.
std::vector<JointSection> sections_of(const PreparedSizes& sizes, bool fp64) {
  const std::int64_t steps = sizes.graph.steps, cells = steps * sizes.graph.vertices,
                     most = static_cast<std::int64_t>(sizes.most_nonzeros);
  const std::int64_t features = cells * sizes.graph.feature_width, products = sizes.graph.features_kept ? features : 0;
  return {joint_section<std::int64_t>("row_offsets", cells + 1),
          joint_section<VertexId>("columns", most),
          joint_section<double>("values64", fp64 ? most : 0),
          joint_section<float>("values32", fp64 ? 0 : most),
          joint_section<double>("features64", fp64 ? features : 0),
          joint_section<float>("features32", fp64 ? 0 : features),
          joint_section<double>("products64", fp64 ? products : 0),
          joint_section<float>("products32", fp64 ? 0 : products),
          joint_section<std::int8_t>("step_digests", steps * step_digest_bytes)};
}

/// Puts step `t`, whose first entry is number `first`, into the file.
void write_step(const JointFile& file, const PreparedGraph& graph, std::int64_t t, std::int64_t first,
                PreparedArrays& step) {
  for (std::int64_t& end : step.row_offsets) end += first;
  const std::int64_t cell = t * graph.vertices, feature = cell * graph.feature_width;
  file.write(PreparedSection::row_offsets, cell + 1, step.row_offsets);
  file.write(PreparedSection::columns, first, step.columns);
  file.write(PreparedSection::values64, first, step.values64),
      file.write(PreparedSection::values32, first, step.values32);
  file.write(PreparedSection::features64, feature, step.features64),
      file.write(PreparedSection::features32, feature, step.features32);
  file.write(PreparedSection::products64, feature, step.products64),
      file.write(PreparedSection::products32, feature, step.products32);
  const std::string digest = digest_of(parts_of(step));
  file.write(PreparedSection::step_digests, t * step_digest_bytes,
             std::vector<std::int8_t>(digest.begin(), digest.end()));
}

}  // namespace

void prepare_into(const FeatureScale& scale, const Preprocessing& what, std::int64_t steps, bool fp64,
                  const std::string& path, const BeginWait& begin_wait) {
  const PreparedSizes sizes = prepared_sizes(scale, what, steps);
  const PreparedGraph& graph = sizes.graph;
  const JointFile file(prepared_kind, path, sections_of(sizes, fp64));
  const auto make_step = [&](Part& part) {
    const auto announce = [&](std::int64_t nonzeros) { part.announce(nonzeros); };
    PreparedArrays step = prepare_alone(scale, what, part.number(), fp64, announce);
    write_step(file, graph, part.number(), part.first(), step);
  };
  const auto describe = [&](std::int64_t nonzeros, std::vector<std::int64_t>& lengths) -> Json {
    lengths[PreparedSection::columns] = nonzeros;
    lengths[fp64 ? PreparedSection::values64 : PreparedSection::values32] = nonzeros;
    return {{"vertices", graph.vertices},
            {"steps", graph.steps},
            {"feature_width", graph.feature_width},
            {"nonzeros", nonzeros},
            {"fp64", fp64},
            {"first_product_done", graph.first_product_done},
            {"features_kept", graph.features_kept}};
  };
  file.make(steps, make_step, describe, usable_cores(), begin_wait);
}

PreparedGraph read_prepared(const std::string& path, std::shared_ptr<const void> keeper,
                            std::shared_ptr<const Presence> presence) {
  const BinaryFile file(prepared_kind, path, std::move(keeper));
  const Json& about = file.description();
  PreparedGraph graph;
  graph.presence = std::move(presence);
  about.at("vertices").get_to(graph.vertices);
  about.at("steps").get_to(graph.steps);
  about.at("feature_width").get_to(graph.feature_width);
  about.at("first_product_done").get_to(graph.first_product_done);
  about.at("features_kept").get_to(graph.features_kept);
  const bool fp64 = about.at("fp64").get<bool>();
  const std::int64_t cells = graph.steps * graph.vertices, nonzeros = about.at("nonzeros").get<std::int64_t>();
  const std::int64_t features = cells * graph.feature_width, products = graph.features_kept ? features : 0;
  graph.row_offsets = file.column<std::int64_t>("row_offsets", cells + 1, true);
  graph.columns = file.column<VertexId>("columns", nonzeros, true);
  graph.values64 = file.column<double>("values64", fp64 ? nonzeros : 0, true);
  graph.values32 = file.column<float>("values32", fp64 ? 0 : nonzeros, true);
  graph.features64 = file.column<double>("features64", fp64 ? features : 0, true);
  graph.features32 = file.column<float>("features32", fp64 ? 0 : features, true);
  graph.products64 = file.column<double>("products64", fp64 ? products : 0, true);
  graph.products32 = file.column<float>("products32", fp64 ? 0 : products, true);
  graph.step_digests = file.column<std::int8_t>("step_digests", graph.steps * step_digest_bytes, true);
  return graph;
}

}  // namespace strobe
