#include "workloads/reading/text/npy.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "tests/workloads/reading/npy_support.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

/// The message that refuses the file, or "" when it is read. Mapping the file gives the same message and elements.
std::string refusal(const std::string& path) {
  const auto message_of = [&](NpyArray (*read)(const std::string&), NpyArray& array) -> std::string {
    try {
      array = read(path);
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "";
  };
  NpyArray whole, mapped;
  const std::string message = message_of(read_npy, whole);
  EXPECT_EQ(message_of(map_npy, mapped), message);
  EXPECT_EQ(mapped.shape, whole.shape);
  EXPECT_EQ(mapped.bytes, whole.bytes);
  return message;
}

TEST(Npy, TypesVersionsShapes) {
  const TemporaryFolder folder;
  const NpyArray f4 = read_npy(folder.write("f4", test::npy<float>("<f4", "(2, 3)", {1, -2, 0.5f, 4, 5, 6})));
  EXPECT_EQ(f4.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(f4.size(), 6);
  EXPECT_EQ(f4.at(1), -2);
  EXPECT_EQ(f4.at(5), 6);
  EXPECT_EQ(read_npy(folder.write("f8", test::npy<double>("<f8", "(2,)", {0.1, 1e300}, 2))).at(1), 1e300);
  EXPECT_EQ(read_npy(folder.write("i4", test::npy<std::int32_t>("<i4", "(1, 1, 1)", {-7}))).at(0), -7);
  EXPECT_EQ(read_npy(folder.write("i8", test::npy<std::int64_t>("<i8", "()", {1LL << 40}))).at(0), 1099511627776.0);
  EXPECT_EQ(read_npy(folder.write("none", test::npy<float>("<f4", "(0, 5)", {}))).size(), 0);
  test::write_gzip(folder.file("z.gz"), test::npy<float>("<f4", "(2,)", {8, 9}));
  EXPECT_EQ(read_npy(folder.file("z.gz")).at(1), 9);
  for (const char* name : {"f4", "f8", "i4", "i8", "none", "z.gz"}) EXPECT_EQ(refusal(folder.file(name)), "");
  EXPECT_EQ(read_npy_header(folder.file("f8")).shape, (std::vector<std::int64_t>{2}));
  const std::string reordered = "{ 'shape':(1,),\"\"'descr':'<f4','fortran_order':False}";
  EXPECT_NE(refusal(folder.write("odd", test::npy_file(reordered, "abcd"))), "");
  EXPECT_EQ(refusal(folder.write("any", test::npy_file("{'shape':(1,),'descr':'<f4','fortran_order':False}", "abcd"))),
            "")
      << "keys come in any order";
}

TEST(Npy, UnreadFilesAreNamed) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& dictionary, const char* reason, const std::string& elements = "abcd") {
    const std::string message = refusal(folder.write("bad.npy", test::npy_file(dictionary, elements)));
    EXPECT_NE(message.find(reason), std::string::npos) << dictionary << ": " << message;
  };
  refused("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "Fortran order");
  refused("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "type '|O'");
  refused("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "type '>f4'");
  refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "holds records");
  refused("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", "neither True nor False");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "tuple of whole numbers");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "tuple of whole numbers");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': 1, }", "'(' is missing");
  refused("{'descr': '<f4', 'fortran_order': False, }", "is missing");
  refused("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "given twice");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}", "unknown");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x", "follows the dictionary");
  refused("{'descr': '<f4", "not closed");
  refused("", "'{' is missing");
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  refused(good + "(2,), }", "asks for 8 bytes");
  refused(good + "(1,), }", "bytes after the elements", "abcde");
  refused(good + "(4611686018427387904, 4), }", "absurd");
  refused(good + "(1000000000000,), }", "asks for 4000000000000 bytes");
}

/// A reader may accept a changed header whose elements still fit, or refuse it with InvalidInput, nothing else.
TEST(Npy, DamagedHeadersAreReadOrRefused) {
  const TemporaryFolder folder;
  const std::string bytes = test::npy<float>("<f4", "(2, 2)", {1, 2, 3, 4});
  int refused = 0, tried = 0;
  for (std::size_t at = 0; at + 16 < bytes.size(); ++at) {
    for (const char change : {'\x01', '\x10', '\x40', '\x7f'}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      ++tried;
      refused += !refusal(folder.write("damaged", damaged)).empty();
    }
  }
  EXPECT_GE(refused, tried - 10) << "damage went unnoticed";
}

TEST(Npy, EveryTruncationIsRefused) {
  const TemporaryFolder folder;
  const std::string bytes = test::npy<float>("<f4", "(2, 2)", {1, 2, 3, 4});
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(refusal(folder.write("cut", bytes.substr(0, size))), "") << size;
  EXPECT_EQ(refusal(folder.write("whole", bytes)), "");
  std::string version = bytes;
  version[6] = 3;
  EXPECT_NE(refusal(folder.write("v3", version)).find("version 3.0"), std::string::npos);
}

}  // namespace
}  // namespace strobe
