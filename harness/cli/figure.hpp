// Figures of the command line: a script of scripts/figures draws what a command found out.
#pragma once

#include <string>

#include "core/fields.hpp"

namespace strobe {

/// Throws InvalidRequest("--figure", ...) unless `path` ends in .png or .svg.
void check_figure_path(const std::string& path);

/// Has scripts/figures/SCRIPT.py draw `facts` as `path` (.png or .svg; the other one is written beside it). Throws
/// Unavailable without Python or matplotlib, InvalidRequest when the script finds nothing to draw, SystemError with the
/// script's words when it fails.
void draw_figure(const std::string& script, const Json& facts, const std::string& path);

}  // namespace strobe
