// Figures of commands, drawn by the scripts in scripts/figures.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// Throws InvalidRequest("--figure", ...) unless `path` ends in .png or .svg.
void check_figure_path(const std::string& path);

/// Draws `facts` with scripts/figures/SCRIPT.py as `path`, a .png or .svg. The script writes the other format, too.
/// Throws Unavailable without Python or matplotlib, InvalidRequest when there is nothing to draw, and SystemError with
/// the script's message when it fails.
void draw_figure(const std::string& script, const Json& facts, const std::string& path);

/// Kinds of figures that `strobe plot` draws, sorted: the names of their scripts.
std::vector<std::string> figure_kinds();

}  // namespace strobe
