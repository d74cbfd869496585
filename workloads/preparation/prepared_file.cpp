// Every array has a fixed place in a sparse file, as long as its bound. So blocks of steps are appended to all arrays
// in turn, and what a bound leaves over is a hole without pages.
#include "workloads/preparation/prepared_file.hpp"

#include <nlohmann/json.hpp>

#include "workloads/preparation/prepared_arrays.hpp"
#include "workloads/storage/growing_file.hpp"

namespace strobe {
namespace {

constexpr BinaryKind prepared_kind{{'S', 'T', 'R', 'O', 'B', 'E', 'P', '\n'}, 1, "prepared graph"};

/// The places of the arrays in the file.
std::vector<GrowingSection> sections_of(const PreparedSizes& sizes, bool fp64) {
  const std::int64_t cells = sizes.graph.steps * sizes.graph.vertices,
                     most = static_cast<std::int64_t>(sizes.most_nonzeros);
  const std::int64_t features = cells * sizes.graph.feature_width, products = sizes.graph.features_kept ? features : 0;
  return {growing_section<std::int64_t>("row_offsets", cells + 1),
          growing_section<VertexId>("columns", most),
          growing_section<double>("values64", fp64 ? most : 0),
          growing_section<float>("values32", fp64 ? 0 : most),
          growing_section<double>("features64", fp64 ? features : 0),
          growing_section<float>("features32", fp64 ? 0 : features),
          growing_section<double>("products64", fp64 ? products : 0),
          growing_section<float>("products32", fp64 ? 0 : products)};
}

}  // namespace

void prepare_into(const FeatureScale& scale, const Preprocessing& what, std::int64_t steps, bool fp64,
                  const std::string& path) {
  const PreparedSizes sizes = prepared_sizes(scale, what, steps);
  const PreparedGraph& graph = sizes.graph;
  GrowingFile file(prepared_kind, path, sections_of(sizes, fp64));
  PreparedArrays arrays;
  prepare_blocks(scale, what, steps, fp64, arrays, [&] {
    std::size_t section = 0;
    const auto move_out = [&](auto& array) {
      file.append(section++, array);
      array.clear();
    };
    move_out(arrays.row_offsets), move_out(arrays.columns);
    move_out(arrays.values64), move_out(arrays.values32);
    move_out(arrays.features64), move_out(arrays.features32);
    move_out(arrays.products64), move_out(arrays.products32);
  });
  file.commit({{"vertices", graph.vertices},
               {"steps", graph.steps},
               {"feature_width", graph.feature_width},
               {"nonzeros", arrays.nonzeros},
               {"fp64", fp64},
               {"first_product_done", graph.first_product_done},
               {"features_kept", graph.features_kept}});
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
  return graph;
}

}  // namespace strobe
