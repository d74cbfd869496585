#include "harness/sample_file.hpp"

#include <fmt/format.h>

#include "results/files.hpp"

namespace strobe {
namespace {

/// Element `i` of an optional column.
template <class T>
std::string cell(const std::vector<T>& column, std::size_t i, const std::string& without) {
  return column.empty() ? without : fmt::format("{}", column[i]);
}

void append(std::string& text, const std::string& split, const Samples& samples) {
  const auto arity = static_cast<std::size_t>(samples.arity);
  for (std::size_t i = 0; i < samples.step.size(); ++i) {
    text += fmt::format("{},{}", split, samples.step[i]);
    for (std::size_t end = 0; end < arity; ++end) text += fmt::format(",{}", samples.vertices[i * arity + end]);
    const bool candidate = !samples.candidate_of.empty() && samples.candidate_of[i] >= 0;
    text += fmt::format(",{},{},{},{}\n", samples.label[i], cell(samples.value, i, ""), cell(samples.weight, i, "1"),
                        candidate ? fmt::format("{}", samples.candidate_of[i]) : "");
  }
}

}  // namespace

void write_samples(const std::string& path, const TaskData& data) {
  std::string text = data.train.arity == 1 ? "split,step,vertex,label,value,weight,candidate_of\n"
                                           : "split,step,source,target,label,value,weight,candidate_of\n";
  append(text, "train", data.train);
  append(text, "validation", data.validation);
  append(text, "test", data.test);
  write_file_atomically(path, text);
}

}  // namespace strobe
