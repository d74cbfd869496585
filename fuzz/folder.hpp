// Where a fuzz target writes its inputs.
#pragma once

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace strobe {

/// A folder that disappears with the process. Ends the process when there is no room for one.
struct FuzzFolder {
  std::filesystem::path path;
  FuzzFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "strobe-fuzz-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path = name;
  }
  ~FuzzFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  FuzzFolder(const FuzzFolder&) = delete;
  FuzzFolder& operator=(const FuzzFolder&) = delete;
};

}  // namespace strobe
