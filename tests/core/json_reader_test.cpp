// The one reader of foreign JSON, judged by the library's own parser where both must agree.
#include "core/json_reader.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "core/shown_text.hpp"

namespace strobe {
namespace {

Json random_value(std::mt19937& random, int levels) {
  switch (random() % (levels > 0 ? 7 : 5)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<std::int64_t>(random()) - 2'000'000'000;
    case 3:
      return static_cast<double>(random()) / 7.0;
    case 4:
      return std::string(random() % 5, 'x') + "\"\\\n\xc3\xa9";
    case 5: {
      Json list = Json::array();
      for (auto left = random() % 4; left > 0; --left) list.push_back(random_value(random, levels - 1));
      return list;
    }
    default: {
      Json object = Json::object();
      for (auto left = random() % 4; left > 0; --left)
        object["k" + std::to_string(left)] = random_value(random, levels - 1);
      return object;
    }
  }
}

std::string nested(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

std::string complaint_of(const std::string& text) {
  try {
    parse_json(text, "f.json");
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

TEST(JsonReader, ReadsTheSameAsTheLibrary) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const Json value = random_value(random, 6);
    for (const std::string& text : {value.dump(), value.dump(2)})
      EXPECT_EQ(parse_json(text, "here"), Json::parse(text)) << text;
  }
}

TEST(JsonReader, DamagedTextIsRefusedWhereTheLibraryRefusesIt) {
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = random_value(random, 4).dump();
    text[random() % text.size()] = static_cast<char>(random() % 256);
    const Json judged = Json::parse(text, nullptr, false), found = parse_json_or_discard(text);
    if (judged.is_discarded() || text.find('\0') != std::string::npos) {
      EXPECT_TRUE(found.is_discarded()) << text;
      ++refused;
    } else if (!found.is_discarded()) {  // else two keys have become one
      EXPECT_EQ(found, judged);
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(JsonReader, NothingFollowsAZeroByte) {
  for (const std::string& text : {std::string("{}\0", 3), std::string("{\n}\0{}", 6), std::string("\0", 1)}) {
    const std::string complaint = complaint_of(text);
    EXPECT_NE(complaint.find("not valid JSON: it has a zero byte"), std::string::npos) << complaint;
  }
  EXPECT_EQ(complaint_of(std::string("{\n}\0{}", 6)), "f.json:2:2: not valid JSON: it has a zero byte");
}

TEST(JsonReader, DepthIsLimited) {
  EXPECT_EQ(complaint_of(nested(deepest_json)), "");
  EXPECT_EQ(complaint_of(nested(deepest_json + 1)), "f.json: is nested more than 64 levels deep");
  EXPECT_TRUE(parse_json_or_discard(nested(1'000'000)).is_discarded());
  EXPECT_TRUE(parse_json_or_discard(std::string(1'000'000, '[')).is_discarded());
}

TEST(JsonReader, NamesThePlaceOfAnError) {
  EXPECT_EQ(complaint_of("{\n  \"a\": oops\n}").rfind("f.json:2:8: not valid JSON", 0), 0u)
      << complaint_of("{\n  \"a\": oops\n}");
  EXPECT_EQ(complaint_of("[NaN]").find("json.exception"), std::string::npos);
  EXPECT_EQ(complaint_of(R"({"a": [0, {"b": 1, "b": 2}]})"), "f.json: /a/1/b: this key occurs twice in one object");
}

TEST(JsonReader, ComplaintsAreInNoLibrarysWords) {
  const Json object = Json::parse(R"({"text": "x", "list": [1]})");
  const auto complaint = [&](const std::function<void()>& read) {
    try {
      read_json_values("f.json", [&] { return read(), 0; });
    } catch (const InvalidInput& error) {
      EXPECT_EQ(std::string(error.what()).find('['), std::string::npos) << error.what();
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(complaint([&] { object.at("text").get<int>(); }), "f.json: a value's type must be number, but is string");
  EXPECT_EQ(complaint([&] { object.at("absent"); }), "f.json: the key 'absent' is missing");
  EXPECT_EQ(complaint([&] { object.at("list").at("x"); }), "f.json: a value has the wrong type, array");
  EXPECT_NE(complaint([&] { object.at("list").at(7); }), "");
}

TEST(JsonReader, OnlyRegularFilesAreRead) {
  const std::string folder = (std::filesystem::temp_directory_path() / "strobe-json-XXXXXX").string();
  std::string made = folder;
  ASSERT_NE(mkdtemp(made.data()), nullptr);
  const std::string pipe = made + "/pipe", file = made + "/file";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream(file) << "{\"a\": 1}";
  EXPECT_EQ(read_json_object(file).at("a"), 1);
  for (const std::string& path : {pipe, made, std::string("/dev/zero")})
    EXPECT_THROW(read_json_value(path), InvalidInput);
  EXPECT_THROW(read_json_value(made + "/absent"), SystemError);
  std::string large(1 << 20, ' ');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('a' + i % 26);
  std::ofstream(file, std::ios::binary) << large;
  EXPECT_EQ(read_regular_file(file), large);
  std::filesystem::remove_all(made);
}

/// The judge is the JSON library, which refuses to write what is no UTF-8.
bool judged_utf8(const std::string& text) {
  try {
    return !Json(text).dump().empty();
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

TEST(ShownText, IsPlainUtf8ForAllBytes) {
  std::mt19937 random(3);
  int valid = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const bool multibyte = random() % 2 == 0;
    for (auto left = random() % 5; left > 0; --left)
      text += static_cast<char>(multibyte ? 0x80 + random() % 0x80 : random() % 256);
    EXPECT_EQ(is_utf8(text), judged_utf8(text)) << Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
    valid += is_utf8(text) ? 1 : 0;
    const std::string shown = shown_line(text);
    EXPECT_TRUE(judged_utf8(shown));
    for (const char c : shown) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << shown;
  }
  EXPECT_GT(valid, 1000);
}

TEST(JsonReader, ANumberBeyondAllNumbersIsSaidInPlainWords) {
  for (const std::string number : {"1e999", "-557e675"}) {
    try {
      parse_json("{\"a\": " + number + "}", "f.json");
      FAIL() << number;
    } catch (const InvalidInput& error) {
      const std::string words = error.what();
      EXPECT_NE(words.find(number + " is too large for a number"), std::string::npos) << words;
      EXPECT_EQ(words.find("json.exception"), std::string::npos) << words;
    }
  }
}

TEST(ShownText, KeepsTextAndShowsControlCharacters) {
  EXPECT_EQ(shown_line("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \\"), "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \\");
  EXPECT_EQ(shown_line("a\x1b[31mb\nc\x7f"), "a\\x1b[31mb\\x0ac\\x7f");
  EXPECT_EQ(shown_lines("a\nb\r\n"), "a\nb\\x0d\n");
  EXPECT_EQ(shown_line("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(shown_line("\xc2\x9b"), "\\xc2\\x9b");           // a terminal's escape in one character
  EXPECT_EQ(shown_line("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
}

}  // namespace
}  // namespace strobe
