// Options of users for a data set or a file of events.
#pragma once

#include <cstdint>
#include <string>

#include "core/fields.hpp"

namespace strobe {

/// Windowing and format options that apply to data sets and files (generators have their own tables).
struct FileOptions {
  std::string format;   // "" = detect
  std::string columns;  // names of columns of a csv, "source:from/target:to/time:when"; "" = source, target, time
  std::string window;   // duration and origin (window_span.hpp); "" = the data set's default
  std::int64_t window_events = 0;
  std::int64_t window_count = 0;
  std::string partial = "keep";
  std::string weights = "count";
  std::string orientation = "in";
  std::string ids = "auto";     // auto | shared | offset
  std::string features;         // "" = degrees; own = the file's vertex features; else a .npy file
  std::string labels = "auto";  // timed labels: auto | before | within
  std::string missing;          // value that means "not measured" in a file of steps; "" = none
  bool cumulative = false;
  std::string stride;  // "" = disjoint windows
  std::int64_t lags = 0;
  std::int64_t edge_life = 1;
  std::int64_t min_edges = 0;
  std::string steps;              // "A:B" = steps A to B - 1 of those made; "" = all
  std::string cache = "on";       // on | off
  std::string outliers = "keep";  // keep | drop: events whose times lie far from all others (outlying_times.hpp)
};
const FieldTable& file_option_fields();

}  // namespace strobe
