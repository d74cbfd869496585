// Running Python from tests that check what Python reads or draws.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace strobe::testing_results {

/// Runs a program (found on PATH) with its output in a file; returns its exit status, or -1.
inline int run_program(const std::vector<std::string>& words, const std::string& output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) {
    const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::dup2(file, 1);
    ::dup2(file, 2);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The first Python that has all `modules`, with blanks between them: $STROBE_PYTHON, python3 on PATH,
/// /usr/bin/python3; "" when none can.
inline std::string find_python(const std::string& modules) {
  const char* asked = std::getenv("STROBE_PYTHON");
  for (const std::string& python :
       {std::string(asked == nullptr ? "" : asked), std::string("python3"), std::string("/usr/bin/python3")}) {
    const std::string question =
        "import importlib.util as u, sys; sys.exit(any(u.find_spec(module) is None for module in '" + modules +
        "'.split()))";
    if (!python.empty() && run_program({python, "-c", question}, "/dev/null") == 0) return python;
  }
  return "";
}

/// Exit status of judging a JSON file by a schema, with a Python that has jsonschema: 0 when it is valid, 1 when not; a
/// wrong schema ends with 1 too. The faults are written to `output`.
inline int validate_by_schema(const std::string& python, const std::string& schema, const std::string& file,
                              const std::string& output) {
  const std::string program =
      "import json, sys, jsonschema; s = json.load(open(sys.argv[1])); "
      "jsonschema.Draft202012Validator.check_schema(s); "
      "e = list(jsonschema.Draft202012Validator(s).iter_errors(json.load(open(sys.argv[2])))); "
      "print([x.message for x in e][:3]); sys.exit(len(e) > 0)";
  return run_program({python, "-c", program, schema, file}, output);
}

}  // namespace strobe::testing_results
