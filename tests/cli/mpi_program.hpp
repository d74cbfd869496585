// A test that starts the program under mpirun.
#pragma once

#include <string>
#include <vector>

#include "program.hpp"

namespace strobe::cli_test {

class MpiProgram : public Program {
 protected:
  void SetUp() override {
    if (!lists("communicators", "mpi")) GTEST_SKIP() << "this build has no mpi communicator";
    if (std::system("command -v mpirun > /dev/null") != 0) GTEST_SKIP() << "mpirun is not there";
    // Root and more ranks than cores are allowed; Open MPI 4 and 5 name the latter differently.
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1);  // containers may forbid it
  }

  Outcome mpirun(const std::string& processes, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"mpirun", "-n", processes, STROBE_BINARY});
    return finish(start(arguments));
  }

  Json rows(const std::string& folder) { return read_json(folder_ / folder / "summary.json").at("rows"); }
};

}  // namespace strobe::cli_test
