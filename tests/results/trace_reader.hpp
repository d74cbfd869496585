// A reader of Chrome's trace format for tests, from the format's description: slices of a thread nest or follow each
// other, a flow has one beginning and one end, and each lies in a slice of its thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/fields.hpp"

namespace strobe::test {

class TraceReader {
 public:
  struct Slice {
    std::int64_t begin = 0, end = 0;  // nanoseconds
    std::string name;
    std::string path;  // names of the slices around it and its own
  };
  struct Flow {
    int from_process = 0, to_process = 0;
    std::string from_slice, to_slice;
  };

  explicit TraceReader(const Json& trace) {
    for (const Json& event : trace.at("traceEvents")) read(event);
    for (auto& [thread, slices] : threads_) nest(thread, slices);
    for (const auto& [id, ends] : flow_ends_) connect(id, ends);
  }

  /// The violations of the format: of threads, flows and processes; empty for a correct trace.
  const std::vector<std::string>& complaints() const { return complaints_; }
  /// Those of threads called `program` alone.
  const std::vector<std::string>& complaints_of_ranges() const { return range_complaints_; }
  const std::vector<Flow>& flows() const { return flows_; }
  const std::map<int, std::string>& processes() const { return processes_; }
  int sort_index(int process) const { return sort_index_.at(process); }
  /// Slices of the process's thread `program`, by their begin, outer ones first.
  std::vector<Slice> ranges_of(int process) const {
    for (const auto& [thread, name] : thread_names_)
      if (thread.first == process && name == "program" && threads_.count(thread) > 0) return threads_.at(thread);
    return {};
  }

 private:
  using Thread = std::pair<int, std::int64_t>;
  struct End {
    std::string phase;
    Thread thread;
    std::int64_t at = 0;
  };

  static std::int64_t nanoseconds(const Json& microseconds) { return std::llround(1000 * microseconds.get<double>()); }

  void read(const Json& event) {
    const std::string phase = event.at("ph"), name = event.at("name");
    const int process = event.at("pid");
    if (phase == "M" && name == "process_name") {
      if (!processes_.emplace(process, event.at("args").at("name")).second)
        complaints_.push_back("two processes have the number " + std::to_string(process));
    } else if (phase == "M" && name == "process_sort_index") {
      sort_index_[process] = event.at("args").at("sort_index");
    } else if (phase == "M" && name == "thread_name") {
      thread_names_[{process, event.at("tid")}] = event.at("args").at("name");
    } else if (phase == "X") {
      const std::int64_t begin = nanoseconds(event.at("ts"));
      threads_[{process, event.at("tid")}].push_back({begin, begin + nanoseconds(event.at("dur")), name, ""});
    } else if (phase == "s" || phase == "f") {
      if (phase == "f" && event.at("bp") != "e") complaints_.push_back("the end of a flow binds to the slice after it");
      flow_ends_[event.at("id")].push_back({phase, {process, event.at("tid")}, nanoseconds(event.at("ts"))});
    }
  }

  void complain(const Thread& thread, const std::string& what) {
    complaints_.push_back(what);
    const auto name = thread_names_.find(thread);
    if (name != thread_names_.end() && name->second == "program") range_complaints_.push_back(what);
  }

  void nest(const Thread& thread, std::vector<Slice>& slices) {
    std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<const Slice*> around;
    for (Slice& slice : slices) {
      while (!around.empty() && around.back()->end <= slice.begin) around.pop_back();
      if (!around.empty() && slice.end > around.back()->end)
        complain(thread, slice.name + " crosses the end of " + around.back()->name);
      slice.path = (around.empty() ? "" : around.back()->path + "/") + slice.name;
      around.push_back(&slice);
    }
  }

  /// A slice of the thread that holds the time, of several the innermost.
  std::string slice_at(const Thread& thread, std::int64_t at) const {
    std::string found;
    std::int64_t length = -1;
    const auto slices = threads_.find(thread);
    if (slices == threads_.end()) return found;
    for (const Slice& slice : slices->second) {
      if (slice.begin > at || slice.end < at || (length >= 0 && slice.end - slice.begin > length)) continue;
      found = slice.name, length = slice.end - slice.begin;
    }
    return found;
  }

  void connect(std::int64_t id, const std::vector<End>& ends) {
    const std::string which = "flow " + std::to_string(id);
    if (ends.size() != 2 || ends[0].phase != "s" || ends[1].phase != "f") {
      complaints_.push_back(which + " has not one beginning and one end");
      return;
    }
    Flow flow{ends[0].thread.first, ends[1].thread.first, slice_at(ends[0].thread, ends[0].at),
              slice_at(ends[1].thread, ends[1].at)};
    if (flow.from_slice.empty() || flow.to_slice.empty()) complaints_.push_back(which + " hangs in the air");
    if (flow.from_process == flow.to_process) complaints_.push_back(which + " stays in its process");
    if (ends[1].at < ends[0].at) complaints_.push_back(which + " goes back in time");
    flows_.push_back(std::move(flow));
  }

  std::map<Thread, std::vector<Slice>> threads_;
  std::map<Thread, std::string> thread_names_;
  std::map<int, std::string> processes_;
  std::map<int, int> sort_index_;
  std::map<std::int64_t, std::vector<End>> flow_ends_;
  std::vector<Flow> flows_;
  std::vector<std::string> complaints_, range_complaints_;
};

}  // namespace strobe::test
