#include "core/system/late_library.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/errors.hpp"

namespace strobe {
namespace {

LateLibrary& mathematics() {
  static LateLibrary library("the library of mathematics", {"libstrobe-nowhere.so.9", "libm.so.6"});
  return library;
}

std::string reason_of(LateLibrary& library, const char* function) {
  try {
    library.symbol(function);
  } catch (const Unavailable& error) {
    return error.what();
  }
  return "found";
}

TEST(LateLibrary, CallsAFunctionOfTheFirstFileThatExists) {
  EXPECT_EQ(STROBE_LATE(mathematics, cbrtf)(27.0f), 3.0f);
  EXPECT_EQ(STROBE_LATE(mathematics, cbrtf)(8.0f), 2.0f);
}

TEST(LateLibrary, NamesTheMissingFileOrFunction) {
  LateLibrary nowhere("cuNothing", {"libstrobe-nowhere.so.9", "/nowhere/libstrobe-nowhere.so"});
  const std::string no_library = reason_of(nowhere, "cbrtf"), no_function = reason_of(mathematics(), "strobe_nothing");
  EXPECT_NE(no_library.find("cuNothing cannot be loaded: libstrobe-nowhere.so.9: "), std::string::npos) << no_library;
  EXPECT_NE(no_library.find("; /nowhere/libstrobe-nowhere.so: "), std::string::npos) << no_library;
  EXPECT_NE(no_function.find("the library of mathematics has no strobe_nothing: "), std::string::npos) << no_function;
}

TEST(LateLibrary, IsNeverTakenFromTheWorkingFolder) {
  for (const std::string file : {"./libm.so.6", "lib/libm.so.6", "../libm.so.6", ""}) {
    LateLibrary here("cuNothing", {file});
    EXPECT_EQ(reason_of(here, "cbrtf"), "cuNothing cannot be loaded: " + file + ": is relative to the working folder");
  }
}

}  // namespace
}  // namespace strobe
