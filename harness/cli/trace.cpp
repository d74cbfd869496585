// `strobe trace merge|diff FILE...`: merges traces of several cases into one file, or shows where two traces differ.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "core/shown_text.hpp"
#include "harness/cli/command.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/output_path.hpp"
#include "harness/request/option_text.hpp"
#include "results/run/files.hpp"
#include "results/trace/trace_files.hpp"

namespace strobe {
namespace {

struct TraceRequest {
  std::vector<std::string> words;  // "merge" or "diff", then files
  std::string out, most = "20";
  bool json = false;
};

/// Reports traces that cannot be read as a wrong request.
template <class Read>
auto reading(const Read& read) {
  try {
    return read();
  } catch (const SystemError& error) {
    throw InvalidRequest("FILE", error.what());
  }
}

int merge(const TraceRequest& request, const std::vector<std::string>& files) {
  if (files.size() < 2) throw InvalidRequest("FILE", "name two traces or more to merge");
  if (request.out.empty()) throw InvalidRequest("--out", "say where the merged trace goes: --out FILE");
  check_output_file("--out", request.out);
  const std::string merged = reading([&] { return merge_traces(files).dump() + "\n"; });
  write_file_atomically(request.out, merged);
  narrate("wrote " + request.out);
  return 0;
}

int diff(const TraceRequest& request, const std::vector<std::string>& files) {
  if (files.size() != 2) throw InvalidRequest("FILE", "diff compares two traces: A and B");
  if (!request.out.empty()) throw InvalidRequest("--out", "diff prints; --out is for merge");
  const double most = number_from_text(request.most, "--most");
  if (!(most >= 1 && most <= 1e6)) throw InvalidRequest("--most", "expected a number of lines from 1 to 1000000");
  const auto [first, second] = reading([&] {
    return std::pair<Json, Json>{read_trace(files[0]), read_trace(files[1])};
  });
  const std::vector<TraceDifference> differences = compare_traces(first, second);
  if (!request.json) {
    print_data(shown_lines(difference_table(differences, static_cast<std::size_t>(most))));
    return 0;
  }
  Json list = Json::array();
  for (const TraceDifference& d : differences)
    list.push_back({{"where", d.where}, {"phase", d.phase}, {"first_seconds", d.first}, {"second_seconds", d.second}});
  print_data(list.dump(2) + "\n");
  return 0;
}

int trace(const TraceRequest& request) {
  const std::string action = request.words.empty() ? "" : request.words.front();
  if (action != "merge" && action != "diff")
    throw InvalidRequest("", fmt::format("strobe trace merge FILE... --out FILE, or strobe trace diff A B; not '{}'",
                                         shown_line(action)));
  const std::vector<std::string> files(request.words.begin() + 1, request.words.end());
  return action == "merge" ? merge(request, files) : diff(request, files);
}

CommandAction define_trace(CommandOptions& options) {
  const auto request = std::make_shared<TraceRequest>();
  options.positionals("WORDS", request->words, "merge FILE FILE..., or diff A B: traces that run --trace wrote");
  options.text("-o,--out", request->out, "merge: the file to write", "FILE");
  options.text("--most", request->most, "diff: lines of the table (default 20)", "N");
  options.toggle("--json", request->json, "diff: print JSON, all lines");
  options.example("Example: strobe trace merge real/trace/a.json simulated/trace/a.json --out both.json");
  return [request] { return trace(*request); };
}

const Register<CommandTag> trace_registered{
    {"trace",
     "put traces of several cases into one file, or say where the time of two differs",
     "",
     {},
     define_trace,
     {}}};

}  // namespace
}  // namespace strobe
