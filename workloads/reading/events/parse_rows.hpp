// Rows of a text file on several threads.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {

/// Reads all lines of the reader it gets and adds their rows to the builder.
using ParseLines = std::function<void(TextReader& lines, EventBuilder& rows)>;
/// The same, with the number of the part in the file, from 0 on.
using ParsePart = std::function<void(std::size_t part, TextReader& lines, EventBuilder& rows)>;
/// Completes a part's rows; called for one part after the other in file order, while later parts are parsed.
using MergePart = std::function<void(std::size_t part, EventBuilder& rows)>;

/// Parses the lines after the reader's current one. Cuts the file into parts at line ends and calls `parse` for each.
/// With several threads it calls `parse` at the same time, so `parse` must not change anything shared. Rows arrive in
/// `events` in file order. Lines and columns in complaints are the file's; of several complaints the first in the file
/// is thrown. Returns the number of lines read.
std::uint64_t parse_rows(TextReader& reader, EventBuilder& events, const ParseLines& parse);
/// The same for formats that keep more of a part than its rows, in a `PerPart`.
std::uint64_t parse_rows(TextReader& reader, EventBuilder& events, const ParsePart& parse, const MergePart& merge);

/// The same for files whose lines give no events.
std::uint64_t parse_rows(TextReader& reader, const std::function<void(std::size_t part, TextReader& lines)>& parse,
                         const std::function<void(std::size_t part)>& merge);

/// A value for every part of a file, made on the first request. Threads may ask at the same time; values stay in place.
template <class T>
class PerPart {
 public:
  T& operator[](std::size_t part) {
    const std::lock_guard lock(mutex_);
    while (values_.size() <= part) values_.emplace_back();
    return values_[part];
  }

 private:
  std::mutex mutex_;
  std::deque<T> values_;
};

}  // namespace strobe
