// `strobe submit`: packs a run as an entry of the board, or checks unpacked entries again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/json_reader.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/submission/archive.hpp"
#include "harness/cli/submission/board_tables.hpp"
#include "harness/cli/submission/entry.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/output_path.hpp"
#include "results/run/files.hpp"

namespace strobe {
namespace {

constexpr std::size_t largest_entry_bytes = 2 << 20;

struct SubmitRequest {
  std::vector<std::string> runs;
  std::string into = ".";
  bool check = false;
  Sender sender;
};

void refuse_faults(const std::string& folder, const std::vector<std::string>& faults) {
  constexpr std::size_t most = 3;
  if (faults.empty()) return;
  const std::size_t shown = std::min(most, faults.size());
  std::string why =
      fmt::format("{}", fmt::join(faults.begin(), faults.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
  if (faults.size() > most) why += fmt::format("; and {} more", faults.size() - most);
  throw InvalidRequest("RUN", fmt::format("{} is no entry of the board: {}", folder, why));
}

void check_sender(const Sender& sender) {
  if (sender.division != "closed" && sender.division != "open")
    throw InvalidRequest("--division", fmt::format("there is no division '{}'; type closed or open", sender.division));
  const auto blank = [](const std::string& text) { return text.find_first_not_of(" \t") == std::string::npos; };
  if (blank(sender.who)) throw InvalidRequest("--who", "say who sends it: a person, a group or a company");
  if (blank(sender.licence))
    throw InvalidRequest("--licence", "say under which licence all may use the entry, such as CC-BY-4.0");
}

/// Lower-case letters, digits and hyphens, of any text.
std::string file_word(const std::string& text) {
  std::string word;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128 && std::isalnum(byte) != 0)
      word += static_cast<char>(std::tolower(byte));
    else if (!word.empty() && word.back() != '-')
      word += '-';
  }
  while (word.ends_with('-')) word.pop_back();
  return word.substr(0, 24);
}

/// "ucsocial-t-gcn-measured-1a2b3c4d.tar.gz": names that all rows share, and the begin of the entry's digest.
std::string archive_name(const EnteredRun& entered, const Json& entry) {
  std::set<std::string> data, models;
  for (const Row& row : entered.run.summary.rows) {
    data.insert(row.workload.value("name", ""));
    models.insert(row.model.value("name", ""));
  }
  std::string name;
  for (const std::set<std::string>& words : {data, models})
    if (words.size() == 1 && !file_word(*words.begin()).empty()) name += file_word(*words.begin()) + "-";
  return fmt::format("{}{}-{}.tar.gz", name, entry.at("times").get<std::string>(),
                     entry.at(digest_key).get<std::string>().substr(0, 8));
}

int pack_entry(const SubmitRequest& request) {
  if (request.runs.size() != 1) throw InvalidRequest("RUN", "name one run directory; each run is an entry of its own");
  check_sender(request.sender);
  const std::string& folder = request.runs.front();
  const EnteredRun entered = entered_run(folder);
  refuse_faults(folder, faults_of_entry(entered, request.sender));
  const Json entry = entry_json(entered, request.sender);
  std::vector<PackedFile> files = {{"entry.json", entry.dump(2) + "\n"}};
  for (const std::string& name : files_of_entry(folder)) files.emplace_back(name, read_text_file(folder + "/" + name));
  const std::string bytes = packed(files);
  if (bytes.size() > largest_entry_bytes)
    throw InvalidRequest("RUN", fmt::format("{} has {} bytes when packed, and an entry has at most {}; run fewer "
                                            "configurations at once, or fewer epochs",
                                            folder, bytes.size(), largest_entry_bytes));
  const std::string path = request.into + "/" + archive_name(entered, entry);
  check_output_file("--into", path);
  write_file_atomically(path, bytes);
  narrate(fmt::format("wrote {} ({}, {} bytes)", path, counted(entered.run.summary.rows.size(), "row"), bytes.size()));
  return 0;
}

/// Prints the tables of the board that the unpacked entries make.
int check_again(const SubmitRequest& request) {
  if (request.runs.empty()) throw InvalidRequest("RUN", "name the folders of unpacked entries");
  std::vector<BoardEntry> entries;
  for (const std::string& folder : request.runs) {
    const Sender sender = sender_of_entry(folder);
    entries.push_back({folder, sender, entered_run(folder)});
    const EnteredRun& entered = entries.back().entered;
    refuse_faults(folder, faults_of_entry(entered, sender));
    if (entry_json(entered, sender) != read_json_object(folder + "/entry.json"))
      throw InvalidInput(folder + "/entry.json", 0, 0, "its date, revision or machine is not that of the run");
  }
  print_data(board_tables(entries).dump(2) + "\n");
  return 0;
}

CommandAction define_submit(CommandOptions& options) {
  const auto request = std::make_shared<SubmitRequest>();
  options.positionals("RUN", request->runs, "the run directory; with --check, folders of unpacked entries");
  options.text("--division", request->sender.division,
               "closed: a case of the suites board/*, trained in any way; open: any model and data", "closed|open");
  options.text("--who", request->sender.who, "who sends it; the board shows this", "WORDS");
  options.text("--licence", request->sender.licence, "licence of the entry, such as CC-BY-4.0", "WORDS");
  options.toggle("--predicted", request->sender.predicted, "its times are of a simulation");
  options.text("--into", request->into, "folder of the archive (default: the working directory)", "FOLDER");
  options.toggle("--check", request->check, "check entries again and print the board's tables as JSON");
  options.example("Example: strobe submit runs/mine --division closed --who \"A. Author\" --licence CC-BY-4.0");
  return [request] { return request->check ? check_again(*request) : pack_entry(*request); };
}

const Register<CommandTag> submit_registered{
    {"submit", "check a run by the rules of the board and pack it as an entry", "", {}, define_submit, {}}};

}  // namespace
}  // namespace strobe
