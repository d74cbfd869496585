// The program in a folder of untrusted files: it loads and runs none of them.
#include <elf.h>

#include <cstring>
#include <map>

#include "tests/cli/program.hpp"
#include "tests/results/python.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

/// The texts of the dynamic section of a 64-bit ELF file, by tag; empty for other files.
std::multimap<std::int64_t, std::string> dynamic_texts(const fs::path& path) {
  const std::string bytes = read_text(path);
  std::multimap<std::int64_t, std::string> texts;
  if (bytes.size() < sizeof(Elf64_Ehdr) || bytes.compare(0, SELFMAG, ELFMAG) != 0) return texts;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), bytes.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNAMIC) continue;
    const char* const names = bytes.data() + sections.at(section.sh_link).sh_offset;
    std::vector<Elf64_Dyn> entries(section.sh_size / sizeof(Elf64_Dyn));
    std::memcpy(entries.data(), bytes.data() + section.sh_offset, section.sh_size);
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_NEEDED || entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH)
        texts.emplace(entry.d_tag, names + entry.d_un.d_val);
    }
  }
  return texts;
}

/// Elements of the run path that mean the working folder, or a folder in it.
std::vector<std::string> relative_run_paths(const fs::path& path) {
  std::vector<std::string> found;
  for (const auto& [tag, text] : dynamic_texts(path)) {
    if (tag != DT_NEEDED && (text.empty() || text.back() == ':')) found.push_back("an empty element: " + text);
    std::istringstream elements(tag == DT_NEEDED ? "" : text);
    for (std::string element; std::getline(elements, element, ':');)
      if (element.empty() || (element.front() != '/' && element.rfind("$ORIGIN", 0) != 0)) found.push_back(text);
  }
  return found;
}

class WorkingFolder : public Program {
 protected:
  Outcome here(const std::string& words, const std::string& before = "") {
    return finish(start_shell("cd '" + folder_.string() + "' && " + before + " exec '" STROBE_BINARY "' " + words));
  }
  /// A module of Python, as a file or a folder, that leaves a mark when it is imported.
  void hostile_module(const std::string& file) {
    fs::create_directories((folder_ / file).parent_path());
    write_text(folder_ / file,
               "open('" + path("mark") + "', 'a').write('" + file + "')\nraise SystemExit('hostile')\n");
  }
};

TEST_F(WorkingFolder, IsInNoRunPathOfWhatIsBuilt) {
  const fs::path build = fs::path(STROBE_BINARY).parent_path();
  int programs = 0;
  for (const fs::path& folder : {build, build / "tests", build / "bench", build / "fuzz"}) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
      if (!entry.is_regular_file() || dynamic_texts(entry.path()).empty()) continue;
      ++programs;
      EXPECT_EQ(relative_run_paths(entry.path()), std::vector<std::string>()) << entry.path();
    }
  }
  EXPECT_GE(programs, 2) << "the program, and this test";
}

TEST_F(WorkingFolder, IsInNoRunPathOfWhatIsInstalled) {
  const std::string build = fs::path(STROBE_BINARY).parent_path().string();
  const Outcome outcome = finish(start({"cmake", "--install", build, "--prefix", path("moved")}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_FALSE(dynamic_texts(folder_ / "moved/bin/strobe").empty());
  EXPECT_EQ(relative_run_paths(folder_ / "moved/bin/strobe"), std::vector<std::string>());
}

/// The loader ends a program when it finds a file that is no library under a library's name.
TEST_F(WorkingFolder, LendsTheProgramNoLibrary) {
  int libraries = 0;
  for (const auto& [tag, name] : dynamic_texts(STROBE_BINARY)) {
    if (tag == DT_NEEDED && ++libraries > 0) write_text(folder_ / name, "no library");
  }
  EXPECT_GE(libraries, 3);
  const Outcome outcome = here("--version");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out.rfind("strobe ", 0), 0u) << outcome.out;
}

TEST_F(WorkingFolder, LendsReportsAndFiguresNoModuleAndNoProgram) {
  if (testing_results::find_python("matplotlib jinja2").empty()) GTEST_SKIP() << "no Python with matplotlib and Jinja2";
  ASSERT_EQ(strobe({"run", "--workload", tiny, "--epochs", "2", "--out", "run"}).status, 0);
  for (const char* file :
       {"json.py", "csv.py", "os.py", "html.py", "importlib/__init__.py", "matplotlib/__init__.py", "numpy/__init__.py",
        "jinja2/__init__.py", "report/__init__.py", "strobe_figures/__init__.py", "curves.py"})
    hostile_module(file);
  write_text(folder_ / "matplotlibrc", "figure.facecolor: black\nbackend: module://hostile\n");
  write_text(folder_ / "python3", "#!/bin/sh\necho ran >> '" + path("mark") + "'\n");
  fs::permissions(folder_ / "python3", fs::perms::owner_all);
  fs::copy(folder_ / "python3", folder_ / "git");
  for (const std::string before : {"PATH=\"$PATH\"", "PATH=\".:$PATH:\" PYTHONPATH=\":.\"", "PATH=\":$PATH\""}) {
    const Outcome report = here("report run --out report.html", before);
    EXPECT_EQ(report.status, 0) << report.err;
    const Outcome figure = here("plot curves run --out figures", before);
    EXPECT_TRUE(figure.status == 0 || figure.status == 5) << figure.err;
    EXPECT_FALSE(fs::exists(folder_ / "mark")) << before << ": " << read_text(folder_ / "mark");
  }
}

class PlugIns : public WorkingFolder {
 protected:
  /// A shared library whose static object does what `body` says.
  std::string library(const std::string& name, const std::string& body) {
    write_text(folder_ / (name + ".cpp"),
               "#include <cstdlib>\n#include <stdexcept>\n#include <unistd.h>\n"
               "struct Object { Object() { " +
                   body + " } } object;\n");
    const Outcome built = finish(start({"c++", "-shared", "-fPIC", "-o", name + ".so", name + ".cpp"}));
    EXPECT_EQ(built.status, 0) << built.err;
    return path(name + ".so");
  }
  Outcome with(const std::string& plugins) { return here("list models", "STROBE_PLUGINS='" + plugins + "'"); }
};

TEST_F(PlugIns, ThatCannotBeLoadedAreRefusedBeforeAnyWork) {
  write_text(folder_ / "text.so", "no library");
  for (const std::string file : {"nowhere.so", "text.so"})
    expect_refusal(with("./" + file), 2, {"$STROBE_PLUGINS", path(file), "find_package(strobe)"});
  expect_refusal(with(folder_.string()), 2, {folder_.string(), "it is not a file"});
  EXPECT_EQ(with("").status, 0);
}

TEST_F(PlugIns, ThatNameNoFolderAreNotTakenFromTheWorkingOne) {
  write_text(folder_ / "mine.so", "no library");
  expect_refusal(with("mine.so"), 2, {"$STROBE_PLUGINS", "'mine.so' has no folder", "write " + path("mine.so")});
  expect_refusal(with("/nowhere/a.so:mine.so"), 2, {"/nowhere/a.so"});
}

TEST_F(PlugIns, WhoseStaticObjectsEndTheProgramAreNamed) {
  if (std::system("c++ --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no compiler";
  const std::vector<std::array<std::string, 3>> cases = {
      {"number", "throw 1;", "its static objects threw an exception of unknown type"},
      {"error", "throw std::runtime_error(\"no licence\");", "its static objects threw: no licence"},
      {"leaves", "std::exit(0);", "it ended the process that loaded it, with status 0"},
      {"leaves_at_once", "_exit(3);", "it ended the process that loaded it, with status 3"},
      {"aborts", "std::abort();", "signal 6 (Aborted) ended the process that loaded it"},
      {"nothing", "", "it registers nothing with strobe"}};
  for (const auto& [name, body, reason] : cases) {
    const std::string file = library(name, body);
    expect_refusal(with(file), 2, {"$STROBE_PLUGINS", file, reason});
  }
}

TEST_F(PlugIns, OfAnotherReleaseAreNamed) {
  write_text(folder_ / "old.so",
             "\x7f"
             "ELF strobe plug-in of release 0.0.9;");
  expect_refusal(with(path("old.so")), 2, {path("old.so"), "it was built for release 0.0.9, and this is "});
}

}  // namespace
}  // namespace strobe::cli_test
