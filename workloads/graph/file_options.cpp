#include "workloads/graph/file_options.hpp"

namespace strobe {
namespace {

constexpr char window_help[] =
    "duration of a step, such as 30d, 1h or 1month (a number of steps when the file counts steps); 1d:origin=midnight "
    "says where the first one begins: first (event), midnight, monday, epoch or a date";
constexpr char columns_help[] =
    "csv, table: what its columns are called, such as source:from/target:to/time:when (weight and step in the same "
    "way), or "
    "their numbers; empty = source, target, time or step, weight; other columns are not read";
constexpr char labels_help[] =
    "step of a label with a time: the one that holds it (within), the last one that ends by then (before), or as the "
    "format says (auto)";

}  // namespace

const FieldTable& file_option_fields() {
  static const FieldTable table =
      make_fields<FileOptions>()
          .text("format", &FileOptions::format, "file format; empty = detect from the content")
          .text("columns", &FileOptions::columns, columns_help)
          .text("window", &FileOptions::window, window_help)
          .integer("window_events", &FileOptions::window_events, "", "events in a step; 0 = not by events", 0)
          .integer("window_count", &FileOptions::window_count, "", "number of equal time slices; 0 = not by count", 0)
          .choice("partial", &FileOptions::partial, {"keep", "drop"},
                  "what becomes of a last window that the data does not fill")
          .choice("weights", &FileOptions::weights, {"count", "binary", "file"},
                  "value of an edge: its events in the step (files of steps: the file's value), 1, or the sum of their "
                  "weights in the file")
          .choice("orientation", &FileOptions::orientation, {"in", "out", "both"},
                  "in: a vertex reads the sources of its incoming edges; out: the reverse; both: both")
          .choice("ids", &FileOptions::ids, {"auto", "shared", "offset"},
                  "equal source and target ids: one vertex (shared), two (offset), or as the format says (auto)")
          .text(
              "features", &FileOptions::features,
              "empty: in- and out-degree of the step (files of steps: their values); own: the file's vertex features; "
              "else a .npy file [N, F] or [T, N, F]")
          .choice("labels", &FileOptions::labels, {"auto", "before", "within"}, labels_help)
          .boolean("cumulative", &FileOptions::cumulative, "a step holds all events so far")
          .text("stride", &FileOptions::stride,
                "windows begin this far apart and overlap: a duration, or a number of steps or events")
          .integer("lags", &FileOptions::lags, "", "step i holds the windows i .. i + lags", 0)
          .integer("edge_life", &FileOptions::edge_life, "", "steps for which an edge stays; its values add", 1)
          .choice("cache", &FileOptions::cache, {"on", "off"},
                  "on: text files above 1 MiB are kept in binary form and read from there the next time")
          .text("missing", &FileOptions::missing,
                "files of steps: the value that stands for what was not measured, such as 0; targets equal to it are "
                "left out, features stay as they are; empty = none")
          .integer("min_edges", &FileOptions::min_edges, "", "steps with fewer edges are dropped; 0 keeps all", 0)
          .text("steps", &FileOptions::steps,
                "A:B keeps of the steps that were made A to B - 1, counted from 0; empty = all")
          .choice("outliers", &FileOptions::outliers, {"keep", "drop"},
                  "what becomes of the few events whose times lie far from all others, such as times of 0");
  return table;
}

}  // namespace strobe
