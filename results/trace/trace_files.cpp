// Files are read as a whole: a trace that a viewer opens is one that memory holds. Cost of a comparison: O(n log n).
#include "results/trace/trace_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/errors.hpp"
#include "core/json_reader.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

/// A slice of a trace in nanoseconds.
struct Slice {
  std::int64_t begin = 0, end = 0;
  std::string name, phase;
};

/// The slices of one process.
struct TraceProcess {
  std::vector<Slice> ranges, spans;
};

using Key = std::pair<std::string, std::string>;  // where, phase

/// Numbers that no trace has: beyond them, sums and numbers of processes could not be held.
constexpr double most_microseconds = 1e14;  // three years
constexpr double most_number = 1e12;

std::int64_t nanoseconds_of(const Json& event, const char* key) {
  const double microseconds = event.at(key).get<double>();
  if (!(std::abs(microseconds) <= most_microseconds))
    throw InvalidRequest(
        "", fmt::format("'{}' is {} microseconds, which is beyond what a trace can hold", key, microseconds));
  return std::llround(1000 * microseconds);
}

std::int64_t number_of(const Json& event, const char* key) {
  const Json& value = event.at(key);
  if (!value.is_number_integer() || std::abs(value.get<double>()) > most_number)
    throw InvalidRequest("", fmt::format("'{}' is {}, but must be a whole number of at most 1e12", key, value.dump()));
  return value.get<std::int64_t>();
}

/// Calls `read` on a trace. Values that no trace has are the file's fault, and it is named.
template <class Read>
auto reading_trace(const Json& trace, const Read& read) {
  const std::string file = trace.at("otherData").value("file", "trace");
  try {
    return read_json_values(file, read);
  } catch (const InvalidRequest& wrong) {
    throw InvalidInput(file, 0, 0, wrong.message());
  }
}

bool is_epoch(const Slice& range) { return range.name.rfind("epoch ", 0) == 0; }

std::map<std::int64_t, TraceProcess> processes_of(const Json& trace) {
  std::map<std::int64_t, TraceProcess> processes;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const std::int64_t begin = nanoseconds_of(event, "ts");
    const Slice slice{begin, begin + nanoseconds_of(event, "dur"), event.at("name").get<std::string>(),
                      event.at("cat").get<std::string>()};
    TraceProcess& process = processes[number_of(event, "pid")];
    if (slice.phase == "range")
      process.ranges.push_back(slice);
    else if (event.at("args").value("blocking", false))
      process.spans.push_back(slice);
  }
  const auto outer_first = [](const Slice& a, const Slice& b) {
    return std::pair(a.begin, -a.end) < std::pair(b.begin, -b.end);
  };
  for (auto& [id, process] : processes) {
    std::stable_sort(process.ranges.begin(), process.ranges.end(), outer_first);
    std::stable_sort(process.spans.begin(), process.spans.end(), outer_first);
  }
  return processes;
}

/// Adds the spans of one process that lie in epochs, under the ranges around them; returns the number of epochs.
std::size_t add_process(const TraceProcess& process, std::map<Key, std::int64_t>& sums) {
  std::vector<const Slice*> around;
  std::size_t next = 0, epochs = 0;
  for (const Slice& span : process.spans) {
    while (next < process.ranges.size() && process.ranges[next].begin <= span.begin) {
      while (!around.empty() && around.back()->end <= process.ranges[next].begin) around.pop_back();
      epochs += is_epoch(process.ranges[next]);
      around.push_back(&process.ranges[next++]);
    }
    while (!around.empty() && (around.back()->end < span.end || around.back()->end <= span.begin)) around.pop_back();
    if (around.empty() || !is_epoch(*around.front())) continue;
    std::string where;
    for (std::size_t i = 1; i < around.size(); ++i) where += around[i]->name + " / ";
    std::int64_t& sum = sums[{where + span.name, span.phase}];
    if (__builtin_add_overflow(sum, span.end - span.begin, &sum))
      throw InvalidRequest("", "its spans are longer together than a trace can hold");
  }
  return epochs;
}

/// Seconds per epoch and rank.
std::map<Key, double> seconds_of(const Json& trace) {
  std::map<Key, std::int64_t> sums;
  std::size_t epochs = 0;
  for (const auto& [id, process] : processes_of(trace)) epochs += add_process(process, sums);
  if (epochs == 0)
    throw InvalidInput(trace.at("otherData").value("file", "trace"), 0, 0,
                       "the trace has no epochs; write it again with strobe run --trace");
  std::map<Key, double> seconds;
  for (const auto& [key, sum] : sums) seconds[key] = static_cast<double>(sum) * 1e-9 / static_cast<double>(epochs);
  return seconds;
}

std::string milliseconds(double seconds) { return fmt::format("{:.3f}", 1e3 * seconds); }

std::string ratio_text(const TraceDifference& d) {
  return d.first > 0 && d.second > 0 ? fmt::format("{:.2f}", d.second / d.first) : "-";
}

/// Numbers processes and flows after those already there.
void renumber(Json& event, std::int64_t processes, std::int64_t flows) {
  event["pid"] = number_of(event, "pid") + processes;
  if (event.contains("id")) event["id"] = number_of(event, "id") + flows;
}

}  // namespace

Json read_trace(const std::string& path) {
  Json trace = read_json_object(path);
  const bool ours = trace.contains("traceEvents") && trace["traceEvents"].is_array() && trace.contains("otherData") &&
                    trace["otherData"].is_object() && trace["otherData"].contains("time_source");
  if (!ours) throw InvalidInput(path, 0, 0, "this is not a trace of one case that strobe run --trace wrote");
  trace["otherData"]["file"] = path;
  return trace;
}

Json merge_traces(const std::vector<std::string>& paths) {
  Json merged{{"displayTimeUnit", "ns"}, {"otherData", {{"merged", Json::array()}}}, {"traceEvents", Json::array()}};
  std::int64_t processes = 0, flows = 0;
  const std::int64_t files = paths.size();
  for (std::int64_t file = 0; file < files; ++file) {
    Json trace = read_trace(paths[file]);
    const Json facts = trace.at("otherData");
    reading_trace(trace, [&] {
      const std::string label = fmt::format("{} {}", file + 1, facts.at("time_source").get<std::string>());
      std::int64_t last_process = processes, last_flow = flows;
      for (Json& event : trace.at("traceEvents")) {
        renumber(event, processes, flows);
        last_process = std::max(last_process, event.at("pid").get<std::int64_t>());
        if (event.contains("id")) last_flow = std::max(last_flow, event.at("id").get<std::int64_t>());
        if (event.at("name") == "process_name")
          event["args"]["name"] = fmt::format("{} {}", label, event.at("args").at("name").get<std::string>());
        if (event.at("name") == "process_sort_index")
          event["args"]["sort_index"] = number_of(event.at("args"), "sort_index") * files + file;
        merged["traceEvents"].push_back(std::move(event));
      }
      processes = last_process, flows = last_flow;
    });
    merged["otherData"]["merged"].push_back(facts);
  }
  return merged;
}

std::vector<TraceDifference> compare_traces(const Json& first, const Json& second) {
  std::map<Key, TraceDifference> by_key;
  TraceDifference whole{"epoch (blocking spans)", "", 0, 0};
  for (const auto& [trace, seconds, total] : {std::tuple{&first, &TraceDifference::first, &whole.first},
                                              std::tuple{&second, &TraceDifference::second, &whole.second}}) {
    const std::map<Key, double> of_trace = reading_trace(*trace, [trace = trace] { return seconds_of(*trace); });
    for (const auto& [key, value] : of_trace) {
      TraceDifference& entry = by_key.try_emplace(key, TraceDifference{key.first, key.second, 0, 0}).first->second;
      entry.*seconds = value;
      *total += value;
    }
  }
  std::vector<TraceDifference> differences;
  for (const auto& [key, entry] : by_key) differences.push_back(entry);
  std::stable_sort(differences.begin(), differences.end(), [](const TraceDifference& a, const TraceDifference& b) {
    return std::abs(a.second - a.first) > std::abs(b.second - b.first);
  });
  differences.insert(differences.begin(), whole);
  return differences;
}

std::string difference_table(const std::vector<TraceDifference>& differences, std::size_t most) {
  TextTable table("where|phase|A ms>|B ms>|B - A ms>|B / A>");
  const auto add = [&](const TraceDifference& d) {
    table.add({d.where, d.phase, milliseconds(d.first), milliseconds(d.second), milliseconds(d.second - d.first),
               ratio_text(d)});
  };
  TraceDifference others;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    if (i <= most) {
      add(differences[i]);
      continue;
    }
    others.first += differences[i].first;
    others.second += differences[i].second;
  }
  if (differences.size() > most + 1) {
    others.where = fmt::format("{} others", differences.size() - most - 1);
    add(others);
  }
  return table.text();
}

}  // namespace strobe
