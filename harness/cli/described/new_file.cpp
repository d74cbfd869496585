#include "harness/cli/described/new_file.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/shown_text.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/output_path.hpp"
#include "results/run/files.hpp"

namespace strobe {

void take_new_action(CommandOptions& options, std::string& action) { options.positional("action", action, "new"); }

int write_new_file(const std::string& action, const std::string& out, const std::function<NewFile()>& make) {
  if (action != "new") throw InvalidRequest("", unknown_name_message("action", action, {"new"}));
  const NewFile made = make();
  const std::string text = made.json.dump(2) + "\n";
  const std::string next = fmt::format(fmt::runtime(made.next), out.empty() ? "my.json" : out);
  if (out.empty()) {
    print_data(text);
    narrate("next: write it to a file (--out my.json), then " + next);
    return 0;
  }
  check_output_file("--out", out);
  write_file_atomically(out, text);
  print_data(shown_lines(fmt::format("{}: {}\nnext: {}\n", out, made.summary, next)));
  return 0;
}

}  // namespace strobe
