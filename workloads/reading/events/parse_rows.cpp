// Threads take parts of the file one after the other. Reading (and decompressing) is under a lock, parsing is not. A
// part is merged as soon as it and all parts before it are parsed, by the thread that notices it. Returns the same rows
// and complaints as one thread would. Invariant: parts are taken and merged in file order. When one is refused, all
// parts before it are parsed and merged, so the first refusal in the file is the one that is thrown. Cost: one pass
// over the text; memory of a few parts per thread in addition to the rows.
#include "workloads/reading/events/parse_rows.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

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
  bool parsed = false;
  std::exception_ptr error;
};

/// Parses one part. An error stays in the result, and the part's rows are lost: nobody merges them.
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
  if (result.error == nullptr) result.rows = rows.take();  // else the last row may have a source and no time
  result.lines = lines.line_number() - part.lines_before;
  result.first_empty = lines.empty_line();
}

/// Parses the parts of a file on several threads, and merges them in file order.
class PartParser {
 public:
  PartParser(TextReader& reader, EventBuilder& events, const ParsePart& parse, const MergePart& merge)
      : reader_(reader), events_(events), parse_(parse), merge_(merge) {}

  /// Returns the number of lines.
  std::uint64_t run() {
    const int threads = reader_.in_memory() ? 1 : workload_threads();
    most_waiting_ = 2 * static_cast<std::size_t>(threads);
    parallel_tasks(threads, [&](std::int64_t) { work(); });
    if (failure_) std::rethrow_exception(failure_);
    return lines_;
  }

 private:
  void work() {
    TextPart part;
    EventBuilder rows;  // its memory is used again for every part
    std::size_t number = 0;
    while (ParsedPart* const result = take(part, number)) {
      try {
        if (part.size > 0) parse_part(reader_.path(), part, number, parse_, rows, *result);
      } catch (...) {  // no memory: others must not wait for this part
        result->error = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      result->parsed = true;
      stop_ = stop_ || result->error != nullptr;
      changed_.notify_all();
    }
  }

  /// The next part and the place for its result; null when there is nothing to do any more. Merges meanwhile.
  ParsedPart* take(TextPart& part, std::size_t& number) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (!merging_ && !waiting_.empty() && waiting_.front().parsed) {
        merge_front(lock);
        continue;
      }
      if (stop_) return nullptr;
      if (waiting_.size() < most_waiting_) break;
      changed_.wait(lock);
    }
    number = merged_ + waiting_.size() + (merging_ ? 1 : 0);
    ParsedPart& result = waiting_.emplace_back();
    try {
      stop_ = !reader_.take_part(part, part_bytes);
    } catch (...) {
      part.size = 0;
      stop_ = true;
      result.error = std::current_exception();
    }
    return &result;
  }

  /// Merges the first part that waits, without the lock.
  void merge_front(std::unique_lock<std::mutex>& lock) {
    ParsedPart part = std::move(waiting_.front());
    waiting_.pop_front();
    merging_ = true;
    lock.unlock();
    try {
      if (!failure_) merge_part(part);
    } catch (...) {
      failure_ = std::current_exception();
    }
    lock.lock();
    ++merged_;
    merging_ = false;
    stop_ = stop_ || failure_ != nullptr;
    changed_.notify_all();
  }

  void merge_part(ParsedPart& part) {
    if (first_empty_ != 0 && part.has_text) throw InvalidInput(reader_.path(), first_empty_, 1, "the line is empty");
    if (part.error) std::rethrow_exception(part.error);
    if (first_empty_ == 0) first_empty_ = part.first_empty;
    lines_ += part.lines;
    merge_(merged_, part.rows);
    events_.append(std::move(part.rows));
  }

  TextReader& reader_;
  EventBuilder& events_;
  const ParsePart& parse_;
  const MergePart& merge_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ParsedPart> waiting_;  // taken and not merged, in file order; a deque keeps its elements where they are
  std::size_t most_waiting_ = 0, merged_ = 0;
  bool stop_ = false, merging_ = false;
  std::exception_ptr failure_;  // of the merging
  std::uint64_t lines_ = 0, first_empty_ = 0;
};

}  // namespace

std::uint64_t parse_rows(TextReader& reader, EventBuilder& events, const ParsePart& parse, const MergePart& merge) {
  events.begin_digest(reader.path());
  return PartParser(reader, events, parse, merge).run();
}

std::uint64_t parse_rows(TextReader& reader, const std::function<void(std::size_t part, TextReader& lines)>& parse,
                         const std::function<void(std::size_t part)>& merge) {
  EventBuilder none;
  const ParsePart lines_only = [&](std::size_t part, TextReader& lines, EventBuilder&) { parse(part, lines); };
  const MergePart merge_only = [&](std::size_t part, EventBuilder&) { merge(part); };
  return PartParser(reader, none, lines_only, merge_only).run();
}

std::uint64_t parse_rows(TextReader& reader, EventBuilder& events, const ParseLines& parse) {
  return parse_rows(
      reader, events, [&](std::size_t, TextReader& lines, EventBuilder& rows) { parse(lines, rows); },
      [](std::size_t, EventBuilder&) {});
}

}  // namespace strobe
