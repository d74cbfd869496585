// The words that can follow on a command line that is being typed, from the definitions of options and the registries.
#pragma once

#include <string>
#include <vector>

namespace strobe {

struct Completions {
  std::vector<std::string> words;  // whole words that may replace the last one, sorted
  bool files = false;              // the last word may also be a path
};

/// The words that may replace the last one, which is being typed and may be empty. `words` is the command line
/// without the program's name. A word that ends in ':', '=' or '.' goes on.
Completions complete_words(const std::vector<std::string>& words);

/// The answer of `strobe completion words WORD...` to the scripts of shells: a line for each word, and a first line
/// "<path>" if paths may follow too.
std::string completion_answer(const std::vector<std::string>& words);

}  // namespace strobe
