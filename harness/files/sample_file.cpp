#include "harness/files/sample_file.hpp"

#include <fmt/format.h>

#include "harness/files/vertex_ids.hpp"
#include "results/run/files.hpp"

namespace strobe {
namespace {

/// Element `i` of an optional column.
template <class T>
std::string cell(const Column<T>& column, std::size_t i, const std::string& without) {
  return column.empty() ? without : fmt::format("{}", column[i]);
}

void append(std::string& text, const std::string& split, const Samples& samples, const VertexColumns& columns) {
  const std::size_t arity = samples.arity;
  for (std::size_t i = 0; i < samples.step.size(); ++i) {
    text += fmt::format("{},{}", split, samples.step[i]);
    for (std::size_t end = 0; end < arity; ++end) text += fmt::format(",{}", samples.vertices[i * arity + end]);
    const bool candidate = !samples.candidate_of.empty() && samples.candidate_of[i] >= 0;
    text += fmt::format(",{},{},{},{}{}\n", samples.label[i], cell(samples.value, i, ""), cell(samples.weight, i, "1"),
                        candidate ? fmt::format("{}", samples.candidate_of[i]) : "",
                        columns.cells(samples.vertices.data() + i * arity));
  }
}

}  // namespace

void write_samples(const std::string& path, const TaskData& data, const SnapshotGraph& graph) {
  const bool pairs = data.train.arity == 2;
  const VertexColumns columns(vertex_ids(graph),
                              pairs ? std::vector<std::string>{"source", "target"} : std::vector<std::string>{""});
  std::string text = fmt::format("split,step,{},label,value,weight,candidate_of{}\n",
                                 pairs ? "source,target" : "vertex", columns.header());
  append(text, "train", data.train, columns);
  append(text, "validation", data.validation, columns);
  append(text, "test", data.test, columns);
  write_file_atomically(path, text);
}

}  // namespace strobe
