// Our side of messages_against_jar.py; lines as in MessageBytes.java: <name> v<version> <hex>.
//
//   message_echo list             prints NAME:FIRST:LAST for every message
//   message_echo make SEED COUNT  prints COUNT messages of each version with random contents
//   message_echo check            reads lines from stdin, decodes and encodes each, and prints those that change
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "broker/groups/random_group_records_testing.h"
#include "broker/metadata/random_metadata_records_testing.h"
#include "protocol/message_bytes_testing.h"
#include "protocol/messages/random_messages_testing.h"

namespace {
using namespace cordwood;

template <class Visitor>
void for_each(Visitor&& visitor) {
  protocol::for_each_message(visitor);
  broker::metadata::for_each_message(visitor);
  broker::groups::for_each_message(visitor);
}

void list() {
  for_each([]<class Message>() {
    std::printf("%s:%d:%d\n", Message::kName, Message::kMinVersion, Message::kMaxVersion);
  });
}

void make(std::uint64_t seed, int count) {
  SeededRandom random(seed);
  for_each([&]<class Message>() {
    for (std::int16_t version = Message::kMinVersion; version <= Message::kMaxVersion; ++version) {
      for (int i = 0; i < count; ++i) {
        Message message;
        randomize(message, random, version);
        std::printf("%s v%d %s\n", Message::kName, version, protocol::hex_of(protocol::bytes_of(message, version)).c_str());
      }
    }
  });
}

template <class Message>
std::string echo(const ByteVector& bytes, std::int16_t version) {
  Message message;
  protocol::Decoder decoder(bytes, Message::form(version));
  decode(message, decoder, version);
  if (!decoder.ok()) return "malformed";
  if (decoder.remaining() > 0) return fmt::format("{} bytes left", decoder.remaining());
  return protocol::hex_of(protocol::bytes_of(message, version));
}

int check() {
  int count = 0;
  int changed = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string name, version, hex;
    words >> name >> version >> hex;
    std::string again = "no such message";
    for_each([&]<class Message>() {
      if (name != Message::kName) return;
      auto bytes = protocol::from_hex(hex);
      again = bytes ? echo<Message>(*bytes, static_cast<std::int16_t>(std::stoi(version.substr(1)))) : "no hex";
    });
    ++count;
    if (again == hex) continue;
    ++changed;
    std::printf("%s\n  ours: %s\n", line.c_str(), again.c_str());
  }
  std::printf("%d messages checked, %d changed\n", count, changed);
  return changed == 0 && count > 0 ? 0 : 1;
}
}  // namespace

int main(int argc, char** argv) {
  std::string what = argc > 1 ? argv[1] : "";
  if (what == "list") {
    list();
  } else if (what == "make" && argc == 4) {
    make(std::stoull(argv[2]), std::stoi(argv[3]));
  } else if (what == "check") {
    return check();
  } else {
    std::fprintf(stderr, "usage: message_echo list | make SEED COUNT | check\n");
    return 2;
  }
  return 0;
}
