#include "workloads/preparation/shared_facts.hpp"

#include <nlohmann/json.hpp>

#include "workloads/storage/binary_file.hpp"

namespace strobe {
namespace {

constexpr BinaryKind measures_kind{{'S', 'T', 'R', 'O', 'B', 'E', 'M', '\n'}, 1, "mean and deviation of features"};

}  // namespace

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
