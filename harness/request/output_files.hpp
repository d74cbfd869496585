// The files that a run of one case can leave beside its row. A kind of training registers those that are its own;
// `strobe run` then has the option --dump-NAME for each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/registry.hpp"

namespace strobe {

struct OutputFileTag {
  static constexpr const char* kind = "output file";
  struct Value {
    std::string what;      // "memory of vertices": a case without it "has no memory of vertices"
    std::string instead;   // "a model of events with memory": which cases have it
    bool of_plan = false;  // the plan alone tells it: it is written in a dry run too, and without values
  };
};
using OutputFileRegistry = Registry<OutputFileTag>;

/// The option that asks for the file, as "--dump-embeddings".
std::string output_flag(const std::string& name);

struct ModelOutputs;  // harness/request/case.hpp

/// A file that was asked for.
struct AskedFile {
  std::string flag, path;
  bool of_plan = false;
};

/// The files that `outputs` asks for: weights, registered files in the order of their names, then the checkpoint.
std::vector<AskedFile> asked_files(const ModelOutputs& outputs);

}  // namespace strobe
