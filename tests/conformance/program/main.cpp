// The program `strobe-conformance`: judges devices and communicators, those of plug-ins among them.
#include <cstdio>
#include <exception>

#include "core/errors.hpp"
#include "core/system/plugins.hpp"
#include "tests/conformance/program/matrix.hpp"

namespace {

using namespace strobe;

constexpr const char* help =
    "usage: strobe-conformance [--device NAME]... [--operation NAME]... [--json]\n"
    "\n"
    "Runs the conformance cases of every operation, precision and kernel variant on this machine's devices. Then it\n"
    "runs those of host work, and those of communicators whose ranks run in one process. Prints how many variants are\n"
    "right, and every wrong case. $STROBE_PLUGINS names plug-ins to judge.\n"
    "\n"
    "  --device NAME      only this device\n"
    "  --operation NAME   only this operation, and nothing but operations\n"
    "  --json             the matrix as JSON, with the cases for which each variant is chosen\n"
    "\n"
    "Exit status: 0 all are right; 1 one is wrong; 2 the request was wrong; 5 a requested device is missing\n";

struct Words {
  std::vector<std::string> devices, operations;
  bool json = false, help = false;
};

Words words_of(int count, char** given) {
  Words words;
  for (int i = 1; i < count; ++i) {
    const std::string word = given[i];
    if (word == "--help" || word == "-h") {
      words.help = true;
    } else if (word == "--json") {
      words.json = true;
    } else if (word == "--device" || word == "--operation") {
      if (++i == count) throw InvalidRequest(word, "a name must follow");
      (word == "--device" ? words.devices : words.operations).emplace_back(given[i]);
    } else {
      throw InvalidRequest(word, "not a flag of strobe-conformance; see strobe-conformance --help");
    }
  }
  return words;
}

int judge(const Words& words) {
  load_plugins();
  conformance::Matrix matrix = conformance::matrix_of(words.devices);
  conformance::judge_operations(matrix, words.operations);
  if (words.operations.empty()) {
    conformance::judge_host_work(matrix);
    conformance::judge_collectives(matrix);
  }
  std::fputs((words.json ? conformance::json_of(matrix) : conformance::text_of(matrix)).c_str(), stdout);
  return matrix.wrong().empty() ? 0 : 1;
}

}  // namespace

int main(int count, char** given) {
  try {
    search_no_working_folder();
    const Words words = words_of(count, given);
    if (!words.help) return judge(words);
    std::fputs(help, stdout);
    return 0;
  } catch (const InvalidRequest& error) {
    std::fprintf(stderr, "strobe-conformance: %s\n", error.what());
    return 2;
  } catch (const Unavailable& error) {
    std::fprintf(stderr, "strobe-conformance: %s\n", error.what());
    return 5;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "strobe-conformance: %s\n", error.what());
    return 1;
  }
}
