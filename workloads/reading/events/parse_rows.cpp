// Threads take parts of the file one after the other. Reading (and decompressing) is under a lock, parsing is not.
// Returns the same rows and complaints as one thread would.
// Invariant: parts are taken in file order. When one is refused, all parts before it are parsed to their end, so the
// first refusal in the file is among the results.
// Cost: one pass over the text; memory of one part per thread in addition to the rows.
#include "workloads/reading/events/parse_rows.hpp"

#include <deque>
#include <exception>
#include <mutex>

#include "core/errors.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {
namespace {

constexpr std::size_t part_bytes = (std::size_t{1} << 20) + (std::size_t{1} << 18);  // above the longest line

struct ParsedPart {
  EventBuilder rows;
  std::uint64_t lines = 0;
  std::uint64_t first_empty = 0;  // of the empty lines at the part's end
  bool has_text = false;
  std::exception_ptr error;
};

/// Parses one part; the error, if any, stays in the result.
void parse_part(const std::string& path, const TextPart& part, std::size_t number, const ParsePart& parse,
                EventBuilder& rows, ParsedPart& result) {
  TextReader lines(path, part);
  for (std::size_t i = 0; i < part.size && !result.has_text; ++i)
    result.has_text = part.buffer[i] != '\n' && part.buffer[i] != '\r';
  try {
    parse(number, lines, rows);
  } catch (...) {
    result.error = std::current_exception();
  }
  result.rows = rows.take();
  result.lines = lines.line_number() - part.lines_before;
  result.first_empty = lines.empty_line();
}

/// The state that the threads share.
struct Parts {
  std::mutex mutex;
  std::deque<ParsedPart> results;  // in file order; a deque keeps its elements where they are
  bool stop = false;
};

void work(TextReader& reader, const ParsePart& parse, Parts& parts) {
  TextPart part;
  EventBuilder rows;  // its memory is used again for every part
  for (;;) {
    ParsedPart* result = nullptr;
    std::size_t number = 0;
    {
      const std::lock_guard lock(parts.mutex);
      if (parts.stop) return;
      number = parts.results.size();
      result = &parts.results.emplace_back();
      try {
        parts.stop = !reader.take_part(part, part_bytes);
      } catch (...) {
        part.size = 0;
        parts.stop = true;
        result->error = std::current_exception();
      }
      if (parts.stop) return;
    }
    parse_part(reader.path(), part, number, parse, rows, *result);
    if (result->error) {
      const std::lock_guard lock(parts.mutex);
      parts.stop = true;
    }
  }
}

std::uint64_t parse_parts(TextReader& reader, EventBuilder& events, const ParsePart& parse, const MergePart& merge) {
  Parts parts;
  parallel_tasks(reader.in_memory() ? 1 : workload_threads(), [&](std::int64_t) { work(reader, parse, parts); });
  std::uint64_t lines = 0, empty = 0;
  for (std::size_t number = 0; number < parts.results.size(); ++number) {
    ParsedPart& part = parts.results[number];
    if (empty != 0 && part.has_text) throw InvalidInput(reader.path(), empty, 1, "the line is empty");
    if (part.error) std::rethrow_exception(part.error);
    if (empty == 0) empty = part.first_empty;
    lines += part.lines;
    merge(number, part.rows);
    events.append(std::move(part.rows));
  }
  return lines;
}

}  // namespace

std::uint64_t parse_rows(TextReader& reader, EventBuilder& events, const ParsePart& parse, const MergePart& merge) {
  events.begin_digest(reader.path());
  return parse_parts(reader, events, parse, merge);
}

std::uint64_t parse_rows(TextReader& reader, const std::function<void(std::size_t part, TextReader& lines)>& parse,
                         const std::function<void(std::size_t part)>& merge) {
  EventBuilder none;
  return parse_parts(
      reader, none, [&](std::size_t part, TextReader& lines, EventBuilder&) { parse(part, lines); },
      [&](std::size_t part, EventBuilder&) { merge(part); });
}

std::uint64_t parse_rows(TextReader& reader, EventBuilder& events, const ParseLines& parse) {
  return parse_rows(
      reader, events, [&](std::size_t, TextReader& lines, EventBuilder& rows) { parse(lines, rows); },
      [](std::size_t, EventBuilder&) {});
}

}  // namespace strobe
