// protocol/message_bytes_testing.h — whole messages to bytes and back, and what must hold for each of them. Tests only.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/random.h"
#include "protocol/wire.h"

namespace cordwood::protocol {

template <class Message>
ByteVector bytes_of(const Message& message, std::int16_t version) {
  Encoder encoder(Message::form(version));
  encode(message, encoder, version);
  return encoder.take_bytes();
}

// Whether `bytes` is exactly one message.
template <class Message>
bool read_whole(Message& into, BytesView bytes, std::int16_t version) {
  Decoder decoder(bytes, Message::form(version));
  decode(into, decoder, version);
  return decoder.ok() && decoder.remaining() == 0;
}

inline std::string hex_of(BytesView bytes) {
  std::string text;
  for (std::byte b : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(b));
  return text;
}

// Spaces and line ends are skipped; nothing for what is not hex.
inline std::optional<ByteVector> from_hex(std::string_view text) {
  ByteVector bytes;
  int high = -1;
  for (char c : text) {
    if (c == ' ' || c == '\n') continue;
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return std::nullopt;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::byte>(high * 16 + digit));
      high = -1;
    }
  }
  return high < 0 ? std::optional(bytes) : std::nullopt;
}

// Both ways: `message` is written as `hex`, and `hex` is read as `message`.
template <class Message>
void expect_bytes(const Message& message, std::int16_t version, std::string_view hex) {
  SCOPED_TRACE(fmt::format("{} v{}", Message::kName, version));
  std::optional<ByteVector> bytes = from_hex(hex);
  ASSERT_TRUE(bytes) << hex;
  EXPECT_EQ(hex_of(bytes_of(message, version)), hex_of(*bytes));
  Message got;
  EXPECT_TRUE(read_whole(got, *bytes, version));
  EXPECT_TRUE(got == message);
}

// Random contents come back equal, over whatever was in the object before, and as the same bytes; no part of them is a
// whole message; damaged ones never read past the end, and what is read from them can be written and read again.
template <class Message>
void expect_round_trips(std::uint64_t seeds) {
  Message reused;
  for (std::int16_t version = Message::kMinVersion; version <= Message::kMaxVersion; ++version) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      SCOPED_TRACE(fmt::format("{} v{} seed {}", Message::kName, version, seed));
      SeededRandom random(seed * 1000 + static_cast<std::uint64_t>(version));
      Message sent;
      randomize(sent, random, version);
      ByteVector bytes = bytes_of(sent, version);
      ASSERT_TRUE(read_whole(reused, bytes, version)) << hex_of(bytes);
      ASSERT_TRUE(reused == sent) << hex_of(bytes);
      ASSERT_EQ(hex_of(bytes_of(reused, version)), hex_of(bytes));

      for (int i = 0; i < 20 && !bytes.empty(); ++i) {
        std::size_t cut = i == 0 ? bytes.size() - 1 : random.below(bytes.size());
        Decoder decoder(BytesView(bytes).first(cut), Message::form(version));
        Message partly;
        decode(partly, decoder, version);
        ASSERT_FALSE(decoder.ok()) << "cut at " << cut << " of " << hex_of(bytes);
      }
      for (int i = 0; i < 20 && !bytes.empty(); ++i) {
        ByteVector damaged = bytes;
        for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
          damaged[random.below(damaged.size())] = static_cast<std::byte>(random.next());
        }
        Decoder decoder(damaged, Message::form(version));
        decode(reused, decoder, version);
        if (!decoder.ok()) continue;
        ByteVector again = bytes_of(reused, version);
        Message second;
        ASSERT_TRUE(read_whole(second, again, version)) << hex_of(damaged);
        ASSERT_EQ(hex_of(bytes_of(second, version)), hex_of(again)) << hex_of(damaged);
      }
    }
  }
}

}  // namespace cordwood::protocol
