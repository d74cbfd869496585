// `strobe verify`: checks that files are as Strobe wrote them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "core/content_digest.hpp"
#include "core/shown_text.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/submission/target.hpp"
#include "harness/files/model_files.hpp"
#include "harness/process/narrate.hpp"
#include "results/run/verify_run.hpp"
#include "workloads/binary/binary_graph.hpp"
#include "workloads/binary/binary_snapshots.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

struct VerifyRequest {
  std::vector<std::string> paths;
};

/// The first bytes of a file.
std::string head_of(const std::string& path) {
  std::array<char, 16> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<std::size_t>(file.gcount())};
}

/// A safetensors file begins with the 8-byte length of its header, and the header with a brace.
bool is_safetensors(const std::string& path, const std::string& head) {
  return fs::path(path).extension() == ".safetensors" || (head.size() > 8 && head[8] == '{');
}

bool is_json(const std::string& path, const std::string& head) {
  const std::string ending = fs::path(path).extension().string();
  return ending == ".json" || ending == ".jsonl" || head.starts_with('{');
}

/// Reads the file with the reader of its kind, which refuses damage and reports a missing digest.
FileVerdict verdict_of_reader(const std::string& path, const std::string& about, const std::function<void()>& read) {
  FileVerdict verdict{path, about, {}, ""};
  hear_of_unproven_files([&](const std::string& unproven) {
    if (unproven == path) verdict.unproven = no_digest_text;
  });
  try {
    read();
  } catch (const InvalidInput& error) {
    verdict.faults.push_back(error.what());
  }
  hear_of_unproven_files({});
  return verdict;
}

FileVerdict verify_safetensors(const std::string& path) {
  FileNotes notes;
  FileVerdict verdict = verdict_of_reader(path, "tensors", [&] { read_safetensors(path, &notes); });
  const auto format = notes.find("format");
  const bool foreign = format == notes.end() || format->second != "strobe";
  if (verdict.right() && foreign) verdict.unproven = "no digest: another program wrote it";
  return verdict;
}

FileVerdict verify_file(const std::string& path) {
  const std::string head = head_of(path);
  if (head.starts_with("STROBEG\n"))
    return verdict_of_reader(path, "binary graph", [&] { read_binary_graph(path, true); });
  if (head.starts_with("STROBES\n"))
    return verdict_of_reader(path, "binary snapshots", [&] { read_binary_snapshots(path, true); });
  if (is_json(path, head)) return verify_json_file(path);
  if (is_safetensors(path, head)) return verify_safetensors(path);
  throw InvalidRequest("PATH", fmt::format("'{}' cannot carry a digest; name a run directory or its JSON files, "
                                           "safetensors, a calibration, a shape or a binary graph",
                                           path));
}

std::vector<FileVerdict> verify_path(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw InvalidRequest("PATH", fmt::format("there is no '{}'", path));
  if (fs::is_regular_file(path, ignored)) return {verify_file(path)};
  const bool holds_run = fs::exists(path + "/plan.json", ignored) || fs::exists(path + "/summary.json", ignored) ||
                         fs::exists(path + "/samples.jsonl", ignored);
  if (!holds_run) throw InvalidRequest("PATH", fmt::format("'{}' is neither a run directory nor a file", path));
  return verify_run(path, fault_of_until);
}

/// The line of a file. Adds the path where the message lacks it; messages of readers begin with it.
std::string line_of(const FileVerdict& verdict) {
  constexpr std::size_t most = 3;
  std::vector<std::string> words = verdict.faults;
  if (!verdict.unproven.empty()) words.push_back(verdict.unproven);
  for (std::string& fault : words)
    if (fault.starts_with(verdict.path + ": ")) fault.erase(0, verdict.path.size() + 2);
  const std::size_t shown = std::min(most, words.size());
  std::string line = fmt::format("{:<9}{}",
                                 verdict.right()          ? "ok"
                                 : verdict.faults.empty() ? "UNPROVEN"
                                                          : "WRONG",
                                 verdict.path);
  if (verdict.right()) return line + (verdict.about.empty() ? "\n" : fmt::format(" ({})\n", verdict.about));
  line += fmt::format(": {}", fmt::join(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
  return line + (words.size() > most ? fmt::format("; and {} more\n", words.size() - most) : "\n");
}

/// Returns 0 when every file is right, otherwise 1.
int verify(const VerifyRequest& request) {
  if (request.paths.empty()) throw InvalidRequest("PATH", "name at least one run directory or file");
  std::size_t wrong = 0, files = 0;
  for (const std::string& path : request.paths) {
    for (const FileVerdict& verdict : verify_path(path)) {
      ++files;
      wrong += verdict.right() ? 0 : 1;
      print_data(shown_lines(line_of(verdict)));
    }
  }
  narrate(wrong == 0 ? counted(files, "file") + " as written"
                     : fmt::format("{} of {} were changed or cannot be checked", wrong, counted(files, "file")));
  return wrong == 0 ? 0 : 1;
}

CommandAction define_verify(CommandOptions& options) {
  const auto request = std::make_shared<VerifyRequest>();
  options.positionals("PATH", request->paths,
                      "run directories, or single files: checkpoints, weights, saved memories, calibrations, shapes, "
                      "binary graphs, JSON of a run");
  options.example(
      "Examples: strobe verify runs/published\n"
      "          strobe verify state.safetensors this-machine.json");
  return [request] { return verify(*request); };
}

const Register<CommandTag> verify_registered{
    {"verify",
     "tell whether run directories and files are as Strobe wrote them: digests, rows against samples, what is missing",
     "",
     {},
     define_verify,
     {}}};

}  // namespace
}  // namespace strobe
