// The keys are those that Kafka 4.4.0's kafka-storage made of the same words.
#include "offline/scram_credential.h"

#include <gtest/gtest.h>

#include "offline/records/message_json.h"
#include "offline/rendering.h"

namespace cordwood::offline {
namespace {

std::string refusal(std::string_view text) {
  SeededRandom random(1);
  const auto record = parse_scram_credential(text, random);
  return record ? "accepted" : record.error().what;
}

TEST(ScramCredential, KeysAreKafkas) {
  SeededRandom random(1);
  const auto a = parse_scram_credential("SCRAM-SHA-256=[name=a,password=x,salt=YWJj]", random);
  ASSERT_TRUE(a) << a.error().what;
  EXPECT_EQ(a->name, "a");
  EXPECT_EQ(a->mechanism, 1);
  EXPECT_EQ(a->iterations, 4096);
  EXPECT_EQ(as_text(a->salt), "abc");
  EXPECT_EQ(to_base64(a->stored_key), "f1pN8hIkcLt647WUYLY/o0tiI2R1AlzC5EMLQfzeHN8=");
  EXPECT_EQ(to_base64(a->server_key), "LOkAYdmrziLmU5RAJrUhk64z+n7v+boYLl6HGOYgh2s=");

  const auto z = parse_scram_credential("SCRAM-SHA-512=[name=Z,password=é,salt=YWJj]", random);
  ASSERT_TRUE(z) << z.error().what;
  EXPECT_EQ(to_base64(z->stored_key),
            "/JGJ2F5wPpQMwn6X2pNTXtKYGvzMzF0Lh5XKxK7T5F6Fb/WiAiR2Y0hQU/g0pCLtHW8p1ieJnllWmLWcBk26ZA==");

  const auto salted = parse_scram_credential("SCRAM-SHA-256=[name=a,salt=YWJj,saltedpassword=yyyy]", random);
  ASSERT_TRUE(salted) << salted.error().what;
  EXPECT_TRUE(shown_scram_credential(*salted).starts_with(
      "UserScramCredentialRecord(name='a', mechanism=1, salt=[97, 98, 99], storedKey=[-127, 61, 44, 92, "));
}

TEST(ScramCredential, ASaltIsMadeWhenNoneIsGiven) {
  SeededRandom random(1);
  const auto one = parse_scram_credential("SCRAM-SHA-256=[name=a,password=x]", random);
  const auto two = parse_scram_credential("SCRAM-SHA-256=[name=a,password=x]", random);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->salt.size(), 25u);
  EXPECT_NE(one->salt, two->salt);
  EXPECT_NE(one->stored_key, two->stored_key);
}

TEST(ScramCredential, MistakesAreToldInKafkasWords) {
  EXPECT_EQ(refusal("foo"), "Failed to find equals sign in SCRAM argument 'foo'");
  EXPECT_EQ(refusal("SCRAM-SHA-1=[name=a,password=b]"), "The add-scram mechanism SCRAM-SHA-1 is not supported.");
  EXPECT_EQ(refusal("SCRAM-SHA-256=x"), "Expected configuration string to start with [");
  EXPECT_EQ(refusal("SCRAM-SHA-256=[name=a,password=x"), "Expected configuration string to end with ]");
  EXPECT_EQ(refusal("SCRAM-SHA-256=[]"), "No equals sign found in SCRAM component: ");
  EXPECT_EQ(refusal("SCRAM-SHA-256=[password=x]"), "You must supply 'name' to add-scram");
  EXPECT_EQ(refusal("SCRAM-SHA-256=[name=a]"), "You must supply one of 'password' or 'saltedpassword' to add-scram");
  EXPECT_EQ(refusal("SCRAM-SHA-256=[name=a,saltedpassword=yyyy]"),
            "You must supply 'salt' with 'saltedpassword' to add-scram");
  EXPECT_EQ(refusal("SCRAM-SHA-256=[name=a,password=x,iterations=100]"),
            "The 'iterations' value must be >= 4096 for add-scram using SCRAM_SHA_256");
  EXPECT_EQ(refusal("SCRAM-SHA-512=[name=a,password=x,iterations=99999]"),
            "The 'iterations' value must be <= 16384 for add-scram using SCRAM_SHA_512");
  EXPECT_EQ(refusal("SCRAM-SHA-256=[name=a,password=x,iterations=abc]"), "Failed to parse iterations count: abc");
  EXPECT_EQ(refusal("SCRAM-SHA-256=[name=a,password=x,salt=*]"), "Failed to decode given salt: *");
  EXPECT_EQ(refusal("SCRAM-SHA-256=[name=a,salt=YWJj,saltedpassword=y*]"), "Failed to decode given saltedPassword: y*");
  EXPECT_EQ(refusal("SCRAM-SHA-256=[name=a,password=x,zoo=1,foo=2]"), "Unknown SCRAM configurations: foo, zoo");
  EXPECT_EQ(refusal("SCRAM-SHA-256=[name=a,password=]"), "java.lang.IllegalArgumentException: Empty key");
}

}  // namespace
}  // namespace cordwood::offline
