#include "harness/request/output_files.hpp"

#include <algorithm>

#include "harness/request/case.hpp"

namespace strobe {

std::string output_flag(const std::string& name) {
  std::string flag = "--dump-" + name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::vector<AskedFile> asked_files(const ModelOutputs& outputs) {
  std::vector<AskedFile> asked;
  if (!outputs.weights.empty()) asked.push_back({"--save-model", outputs.weights});
  for (const auto& [name, path] : outputs.files) {
    if (!path.empty())
      asked.push_back({output_flag(name), path, OutputFileRegistry::instance().find(name).value.of_plan});
  }
  if (!outputs.checkpoint.empty()) asked.push_back({"--checkpoint", outputs.checkpoint});
  return asked;
}

}  // namespace strobe
