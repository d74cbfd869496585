// The digest that files carry is of all that they say.
#include "core/content_digest.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/hash.hpp"

namespace strobe {
namespace {

TEST(ContentDigest, IsTheSha256OfTheOtherKeys) {
  const Json object{{"b", 1.5}, {"a", {1, 2}}};
  const Json whole = with_digest(object);
  EXPECT_EQ(whole.at(digest_key), sha256_hex(R"({"b":1.5,"a":[1,2]})"));
  EXPECT_EQ(with_digest(whole), whole) << "an older digest is replaced";
  EXPECT_EQ(content_digest(object, "xyz"), sha256_hex(R"({"b":1.5,"a":[1,2]}xyz)"));
  Json back = Json::parse(whole.dump(3));  // how it is indented does not matter
  EXPECT_TRUE(take_digest(back, "f.json"));
  EXPECT_EQ(back, object);
  EXPECT_FALSE(take_digest(back, "f.json")) << "there is none any more";
}

TEST(ContentDigest, AnythingElseIsRefusedWithPathLineAndWhatItIs) {
  const Json whole = with_digest({{"loss", {0.5, 0.25}}, {"name", "x"}});
  std::vector<Json> others(5, whole);
  others[0]["loss"][1] = 0.125;
  others[1]["name"] = "y";
  others[2]["more"] = 1;
  others[3].erase("name");
  others[4][digest_key] = 7;
  for (Json& other : others) {
    try {
      take_digest(other, "dir/f.jsonl", "the row of case c", 3);
      ADD_FAILURE() << other.dump();
    } catch (const InvalidInput& error) {
      const std::string text = error.what();
      EXPECT_EQ(text.find("dir/f.jsonl:3"), 0u) << text;
      EXPECT_NE(text.find("the row of case c is damaged, or changed"), std::string::npos) << text;
    }
  }
}

TEST(ContentDigest, AFileWithoutOneIsNotedOnce) {
  std::vector<std::string> reported;
  note_unproven_file("nobody listens");
  hear_of_unproven_files([&](const std::string& path) { reported.push_back(path); });
  for (const char* path : {"content-digest-a", "content-digest-b", "content-digest-a"}) note_unproven_file(path);
  hear_of_unproven_files({});
  EXPECT_EQ(reported, (std::vector<std::string>{"content-digest-a", "content-digest-b"}));
}

}  // namespace
}  // namespace strobe
