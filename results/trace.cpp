// Text is appended directly, because a trace may hold millions of spans. Times are rounded once to nanoseconds, begin
// and end alike, so spans that touch on the clock touch in the trace. Cost: O(spans (log spans + slots)).
#include "results/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/fields.hpp"

namespace strobe {
namespace {

std::string json_text(std::string_view text) { return Json(std::string(text)).dump(); }

double earliest_begin(const std::vector<std::vector<Span>>& ranks) {
  double earliest = std::numeric_limits<double>::infinity();
  for (const auto& spans : ranks) {
    for (const Span& span : spans) earliest = std::min(earliest, span.begin_seconds);
  }
  return std::isfinite(earliest) ? earliest : 0.0;
}

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

/// Nanoseconds as microseconds with three digits.
void append_microseconds(fmt::memory_buffer& out, std::int64_t ns) {
  fmt::format_to(std::back_inserter(out), "{}.{:03}", ns / 1000, ns % 1000);
}

/// Perfetto treats process 0 as the idle one of the machine.
std::size_t process_of(std::size_t rank) { return rank + 1; }

int thread_of(Stream stream, int slot) { return static_cast<int>(stream) + stream_count * slot; }

/// A span's begin and end in the trace.
struct TraceInterval {
  std::int64_t begin = 0, end = 0;
};

std::vector<TraceInterval> intervals_of(const std::vector<Span>& spans, double origin) {
  std::vector<TraceInterval> intervals;
  for (const Span& span : spans) {
    const std::int64_t begin = nanoseconds(span.begin_seconds - origin);
    intervals.push_back({begin, std::max(begin, nanoseconds(span.end_seconds - origin))});
  }
  return intervals;
}

/// The slot of each span on its stream: the lowest on which it follows the spans before it or lies inside one of them,
/// because the spans of one thread of a trace must nest. Exchanges that are in flight together get slots of their own.
std::vector<int> slots_of(const std::vector<Span>& spans, const std::vector<TraceInterval>& intervals) {
  std::vector<std::size_t> order(spans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(intervals[a].begin, -intervals[a].end) < std::pair(intervals[b].begin, -intervals[b].end);
  });
  std::array<std::vector<std::vector<std::int64_t>>, stream_count> open;  // ends of the spans around now, by slot
  std::vector<int> slots(spans.size());
  for (const std::size_t i : order) {
    auto& of_stream = open[static_cast<std::size_t>(spans[i].stream)];
    std::size_t slot = 0;
    for (; slot < of_stream.size(); ++slot) {
      std::vector<std::int64_t>& ends = of_stream[slot];
      while (!ends.empty() && ends.back() <= intervals[i].begin) ends.pop_back();
      if (ends.empty() || intervals[i].end <= ends.back()) break;
    }
    if (slot == of_stream.size()) of_stream.emplace_back();
    of_stream[slot].push_back(intervals[i].end);
    slots[i] = static_cast<int>(slot);
  }
  return slots;
}

void append_thread_name(fmt::memory_buffer& out, std::size_t rank, int stream, int slot) {
  const std::string number = slot == 0 ? "" : fmt::format(" {}", slot + 1);
  fmt::format_to(std::back_inserter(out),
                 ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":\"{}{}\"}}}}",
                 process_of(rank), thread_of(static_cast<Stream>(stream), slot), stream_names[stream], number);
}

void append_names(fmt::memory_buffer& out, std::size_t rank, const std::vector<Span>& spans,
                  const std::vector<int>& slots) {
  fmt::format_to(std::back_inserter(out),
                 "{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{0},\"args\":{{\"name\":\"rank {1}\"}}}},\n"
                 "{{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":{0},\"args\":{{\"sort_index\":{1}}}}}",
                 process_of(rank), rank);
  // The three streams that every device has always get their lanes, so that traces of several runs line up.
  std::array<int, stream_count> last{0, 0, 0, -1, -1};
  for (std::size_t i = 0; i < spans.size(); ++i) {
    int& of_stream = last[static_cast<std::size_t>(spans[i].stream)];
    of_stream = std::max(of_stream, slots[i]);
  }
  for (int stream = 0; stream < stream_count; ++stream) {
    for (int slot = 0; slot <= last[static_cast<std::size_t>(stream)]; ++slot) {
      append_thread_name(out, rank, stream, slot);
    }
  }
}

void append_span(fmt::memory_buffer& out, std::size_t rank, const Span& span, const TraceInterval& interval, int slot) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, ",\n{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":", json_text(span.name),
                 phase_names[static_cast<int>(span.phase)], process_of(rank), thread_of(span.stream, slot));
  append_microseconds(out, interval.begin);
  fmt::format_to(to, ",\"dur\":");
  append_microseconds(out, interval.end - interval.begin);
  fmt::format_to(to, ",\"args\":{{\"blocking\":{},\"flops\":{},\"read_bytes\":{},\"written_bytes\":{}", span.blocking,
                 span.work.flops, span.work.bytes_read, span.work.bytes_written);
  if (span.sent_bytes != 0 || span.messages != 0) {
    fmt::format_to(to, ",\"traffic\":\"{}\",\"sent_bytes\":{},\"messages\":{}",
                   traffic_names[static_cast<int>(span.traffic)], span.sent_bytes, span.messages);
  }
  if (span.transfer_bytes != 0) fmt::format_to(to, ",\"transfer_bytes\":{}", span.transfer_bytes);
  fmt::format_to(to, "}}}}");
}

/// A counter of the memory in use, where it changed.
void append_memory(fmt::memory_buffer& out, std::size_t rank, const std::vector<Span>& spans, double origin) {
  std::uint64_t before = 0;
  for (const Span& span : spans) {
    if (span.live_bytes == 0 || span.live_bytes == before) continue;
    before = span.live_bytes;
    fmt::format_to(std::back_inserter(out),
                   ",\n{{\"name\":\"memory\",\"ph\":\"C\",\"pid\":{},\"ts\":", process_of(rank));
    append_microseconds(out, nanoseconds(span.begin_seconds - origin));
    fmt::format_to(std::back_inserter(out), ",\"args\":{{\"live_bytes\":{}}}}}", span.live_bytes);
  }
}

}  // namespace

std::string trace_json(const std::string& case_id, const std::vector<std::vector<Span>>& ranks,
                       const std::string& time_source) {
  const double origin = earliest_begin(ranks);
  fmt::memory_buffer out;
  fmt::format_to(std::back_inserter(out),
                 "{{\"displayTimeUnit\":\"ns\",\n\"otherData\":{{\"case_id\":{},"
                 "\"time_source\":{},\"origin_seconds\":{},\"ranks\":{}}},\n\"traceEvents\":[\n",
                 json_text(case_id), json_text(time_source), origin, ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (rank != 0) fmt::format_to(std::back_inserter(out), ",\n");
    const std::vector<Span>& spans = ranks[rank];
    const std::vector<TraceInterval> intervals = intervals_of(spans, origin);
    const std::vector<int> slots = slots_of(spans, intervals);
    append_names(out, rank, spans, slots);
    for (std::size_t i = 0; i < spans.size(); ++i) append_span(out, rank, spans[i], intervals[i], slots[i]);
    append_memory(out, rank, spans, origin);
  }
  fmt::format_to(std::back_inserter(out), "\n]}}\n");
  return fmt::to_string(out);
}

}  // namespace strobe
