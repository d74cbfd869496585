// Text is appended directly, because a trace may hold millions of spans. Times are rounded once to nanoseconds, begin
// and end alike, so spans that touch on the clock touch in the trace. Cost: O(spans).
#include "results/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

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

void append_names(fmt::memory_buffer& out, std::size_t rank) {
  fmt::format_to(std::back_inserter(out),
                 "{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{0},\"args\":{{\"name\":\"rank {0}\"}}}},\n"
                 "{{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":{0},\"args\":{{\"sort_index\":{0}}}}}",
                 rank);
  for (int stream = 0; stream < stream_count; ++stream) {
    fmt::format_to(std::back_inserter(out),
                   ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":\"{}\"}}}}",
                   rank, stream, stream_names[stream]);
  }
}

void append_span(fmt::memory_buffer& out, std::size_t rank, const Span& span, double origin) {
  const std::int64_t begin = nanoseconds(span.begin_seconds - origin), end = nanoseconds(span.end_seconds - origin);
  const auto to = std::back_inserter(out);
  fmt::format_to(to, ",\n{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":", json_text(span.name),
                 phase_names[static_cast<int>(span.phase)], rank, static_cast<int>(span.stream));
  append_microseconds(out, begin);
  fmt::format_to(to, ",\"dur\":");
  append_microseconds(out, std::max<std::int64_t>(0, end - begin));
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
    fmt::format_to(std::back_inserter(out), ",\n{{\"name\":\"memory\",\"ph\":\"C\",\"pid\":{},\"ts\":", rank);
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
    append_names(out, rank);
    for (const Span& span : ranks[rank]) append_span(out, rank, span, origin);
    append_memory(out, rank, ranks[rank], origin);
  }
  fmt::format_to(std::back_inserter(out), "\n]}}\n");
  return fmt::to_string(out);
}

}  // namespace strobe
