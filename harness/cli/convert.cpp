// `strobe convert IN OUT`: events of any readable format to Strobe's binary graph (.strobe) or to CSV (.csv).
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/units.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/narrate.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

struct ConvertRequest {
  std::string in, out, format, ids;
};

int convert(const ConvertRequest& request) {
  if (request.in.empty() || request.out.empty()) throw InvalidRequest("", "convert needs two files: IN and OUT");
  const std::string extension = std::filesystem::path(request.out).extension().string();
  if (extension != ".strobe" && extension != ".csv") {
    throw InvalidRequest(
        "OUT", fmt::format("'{}' should end in .strobe or .csv, which names the format to write", request.out));
  }
  Json parameters = Json::object();
  if (!request.format.empty()) parameters["format"] = request.format;
  if (!request.ids.empty()) parameters["ids"] = request.ids;
  const std::optional<EventGraph> events = load_events(request.in, parameters);
  if (!events) {
    throw InvalidRequest("IN", fmt::format("'{}' gives snapshots and has no events to convert", request.in));
  }
  if (extension == ".csv") {
    write_csv(*events, request.out);
  } else {
    write_binary_graph(*events, request.out);
  }
  narrate(fmt::format("{}: {} vertices, {} events, {}", request.out, format_count(events->vertices),
                      format_count(events->events()),
                      format_bytes(static_cast<double>(std::filesystem::file_size(request.out)))));
  return 0;
}

CommandAction define(CommandOptions& options) {
  const auto request = std::make_shared<ConvertRequest>();
  options.positional("IN", request->in, "data set name or file");
  options.positional("OUT", request->out, "file to write; .strobe or .csv");
  options.text("--format", request->format, "format of IN (default: recognised from its content)");
  options.text("--ids", request->ids, "ids of two-sided files: auto, shared or offset (default: auto)");
  options.example("Example: strobe convert out.chess chess.strobe");
  return [request] { return convert(*request); };
}

const Register<CommandTag> registered{
    {"convert", "convert a graph to Strobe's binary form or to CSV", "", {}, define, {}}};

}  // namespace
}  // namespace strobe
