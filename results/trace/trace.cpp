// Text is appended directly, because a trace may hold millions of spans. Times are rounded once to nanoseconds, begin
// and end in the same way, so spans that touch on the clock touch in the trace. Cost: O(spans (log spans + slots)).
#include "results/trace/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/fields.hpp"
#include "models/tape/range_log.hpp"
#include "results/trace/trace_flows.hpp"

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

/// The track of ranges, beyond those of all streams.
constexpr int program_thread = 1000000;

/// A wait has another name than the work that it waits for.
std::string shown_name(const Span& span) {
  return span.phase == Phase::wait ? fmt::format("wait for {}", span.name) : std::string(span.name);
}

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

/// The slot of each span on its stream: the lowest on which it follows the spans before it or lies inside one of them.
/// The spans of one thread of a trace must nest, so exchanges that are in flight together get separate slots.
std::vector<int> slots_of(const std::vector<Span>& spans, const std::vector<TraceInterval>& intervals) {
  std::vector<std::size_t> order(spans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(intervals[a].begin, -intervals[a].end) < std::pair(intervals[b].begin, -intervals[b].end);
  });
  PerStream<std::vector<std::vector<std::int64_t>>> open;  // ends of the spans around now, by slot
  std::vector<int> slots(spans.size());
  for (const std::size_t i : order) {
    auto& of_stream = open[spans[i].stream];
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
                  const std::vector<int>& slots, bool has_ranges) {
  fmt::format_to(std::back_inserter(out),
                 "{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{0},\"args\":{{\"name\":\"rank {1}\"}}}},\n"
                 "{{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":{0},\"args\":{{\"sort_index\":{1}}}}}",
                 process_of(rank), rank);
  if (has_ranges) {
    fmt::format_to(
        std::back_inserter(out),
        ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{0},\"tid\":{1},\"args\":{{\"name\":\"program\"}}}},\n"
        "{{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":{0},\"tid\":{1},\"args\":{{\"sort_index\":-1}}}}",
        process_of(rank), program_thread);
  }
  // The three streams that every device has always get their tracks, so that traces of several runs line up.
  PerStream<int> last{0, 0, 0, -1, -1};
  for (std::size_t i = 0; i < spans.size(); ++i) {
    int& of_stream = last[spans[i].stream];
    of_stream = std::max(of_stream, slots[i]);
  }
  for (int stream = 0; stream < stream_count; ++stream) {
    for (int slot = 0; slot <= last[stream]; ++slot) {
      append_thread_name(out, rank, stream, slot);
    }
  }
}

void append_span(fmt::memory_buffer& out, std::size_t rank, const Span& span, const TraceInterval& interval, int slot) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, ",\n{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":",
                 json_text(shown_name(span)), phase_names[span.phase], process_of(rank), thread_of(span.stream, slot));
  append_microseconds(out, interval.begin);
  fmt::format_to(to, ",\"dur\":");
  append_microseconds(out, interval.end - interval.begin);
  fmt::format_to(to, ",\"args\":{{\"blocking\":{},\"flops\":{},\"read_bytes\":{},\"written_bytes\":{}", span.blocking,
                 span.work.flops, span.work.bytes_read, span.work.bytes_written);
  if (span.sent_bytes != 0 || span.messages != 0) {
    fmt::format_to(to, ",\"traffic\":\"{}\",\"sent_bytes\":{},\"messages\":{}", traffic_names[span.traffic],
                   span.sent_bytes, span.messages);
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

void append_range(fmt::memory_buffer& out, std::size_t rank, const Span& range, const TraceInterval& interval) {
  fmt::format_to(std::back_inserter(out),
                 ",\n{{\"name\":{},\"cat\":\"range\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":", json_text(range.name),
                 process_of(rank), program_thread);
  append_microseconds(out, interval.begin);
  fmt::format_to(std::back_inserter(out), ",\"dur\":");
  append_microseconds(out, interval.end - interval.begin);
  fmt::format_to(std::back_inserter(out), ",\"args\":{{}}}}");
}

/// The operations of one rank with their places in the trace.
struct Tracks {
  std::vector<Span> spans, ranges;
  std::vector<TraceInterval> intervals;
  std::vector<int> slots;
};

Tracks tracks_of(const std::vector<Span>& spans, double origin) {
  Tracks tracks;
  for (const Span& span : spans) (is_range(span) ? tracks.ranges : tracks.spans).push_back(span);
  tracks.intervals = intervals_of(tracks.spans, origin);
  tracks.slots = slots_of(tracks.spans, tracks.intervals);
  return tracks;
}

void append_flow_end(fmt::memory_buffer& out, const char* phase, std::size_t flow, std::size_t rank,
                     const Tracks& tracks, std::size_t span, std::int64_t at) {
  fmt::format_to(std::back_inserter(out),
                 ",\n{{\"name\":{},\"cat\":\"exchange\",\"ph\":{},\"id\":{},\"pid\":{},\"tid\":{},\"ts\":",
                 json_text(tracks.spans[span].name), phase, flow, process_of(rank),
                 thread_of(tracks.spans[span].stream, tracks.slots[span]));
  append_microseconds(out, at);
  fmt::format_to(std::back_inserter(out), "}}");
}

void append_flows(fmt::memory_buffer& out, const std::vector<Tracks>& ranks) {
  std::vector<std::vector<Span>> spans;
  for (const Tracks& tracks : ranks) spans.push_back(tracks.spans);
  std::size_t number = 0;
  for (const TraceFlow& flow : trace_flows(spans)) {
    const TraceInterval &from = ranks[flow.from_rank].intervals[flow.from_span],
                        &to = ranks[flow.to_rank].intervals[flow.to_span];
    ++number;
    // Within both spans, so that no span that only touches them is taken for one of the flow's ends.
    const std::int64_t begin = std::max(from.begin, to.begin), common = std::min(from.end, to.end) - begin;
    append_flow_end(out, "\"s\"", number, flow.from_rank, ranks[flow.from_rank], flow.from_span, begin + common / 3);
    append_flow_end(out, "\"f\",\"bp\":\"e\"", number, flow.to_rank, ranks[flow.to_rank], flow.to_span,
                    begin + 2 * common / 3);
  }
}

void append_rank(fmt::memory_buffer& out, std::size_t rank, const Tracks& tracks, double origin) {
  append_names(out, rank, tracks.spans, tracks.slots, !tracks.ranges.empty());
  const std::vector<TraceInterval> ranges = intervals_of(tracks.ranges, origin);
  for (std::size_t i = 0; i < ranges.size(); ++i) append_range(out, rank, tracks.ranges[i], ranges[i]);
  for (std::size_t i = 0; i < tracks.spans.size(); ++i)
    append_span(out, rank, tracks.spans[i], tracks.intervals[i], tracks.slots[i]);
  append_memory(out, rank, tracks.spans, origin);
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
  std::vector<Tracks> tracks;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (rank != 0) fmt::format_to(std::back_inserter(out), ",\n");
    tracks.push_back(tracks_of(ranks[rank], origin));
    append_rank(out, rank, tracks.back(), origin);
  }
  append_flows(out, tracks);
  fmt::format_to(std::back_inserter(out), "\n]}}\n");
  return fmt::to_string(out);
}

}  // namespace strobe
