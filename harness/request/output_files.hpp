// The files that a run of one case can write in addition to its row. Each kind of training registers its own files.
// `strobe run` has the option --dump-NAME for each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/registry.hpp"

namespace strobe {

struct OutputFileTag {
  static constexpr const char* kind = "output file";
  struct Value {
    std::string what;      // "memory of vertices": for the message "has no memory of vertices"
    std::string instead;   // "a model of events with memory": the cases that have it
    bool of_plan = false;  // depends on the plan alone, so dry runs and runs without values write it, too
  };
};
using OutputFileRegistry = Registry<OutputFileTag>;

/// The option that requests the file, such as "--dump-embeddings".
std::string output_flag(const std::string& name);

struct ModelOutputs;  // harness/request/case.hpp

/// A requested file.
struct AskedFile {
  std::string flag, path;
  bool of_plan = false;
};

/// The files that `outputs` requests: weights, registered files sorted by name, then the checkpoint.
std::vector<AskedFile> asked_files(const ModelOutputs& outputs);

}  // namespace strobe
