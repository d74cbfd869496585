// Checks whether a run directory is unchanged: every digest, the statements of its files about each other, and its rows
// against their samples.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "results/row/row.hpp"

namespace strobe {

/// The findings about one file.
struct FileVerdict {
  std::string path;
  std::string about;                // its content, "3 rows"
  std::vector<std::string> faults;  // the faults found
  std::string unproven;             // why its digest could not be looked at

  bool right() const { return faults.empty() && unproven.empty(); }
};

/// The text for a file that should carry a digest and does not.
inline constexpr const char* no_digest_text = "no digest: an older revision wrote it, or it was taken out";

/// Judges a row by rules that lie above results/. Returns the fault; "" = none.
using RowJudge = std::function<std::string(const Row&)>;

/// Checks every file of the run in `folder`, in the order in which they are written, and each row by `judge` too. A
/// missing file has a verdict too. Throws SystemError for unreadable files. Cost: one pass over the files, and summing
/// up all samples.
std::vector<FileVerdict> verify_run(const std::string& folder, RowJudge judge = {});

/// Looks at one JSON file or file of JSON lines that Strobe writes, by its digests alone.
FileVerdict verify_json_file(const std::string& path);

}  // namespace strobe
