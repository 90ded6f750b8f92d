#include "base/sha2.h"

#include <array>
#include <bit>

namespace cordwood {
namespace {

// The first 64 bits of the fractions of the cube roots of the first 80 primes; SHA-256 takes the upper halves of 64 of
// them.
constexpr std::array<std::uint64_t, 80> kRounds = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
    0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
    0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
    0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
    0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
    0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
    0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
    0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
    0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
    0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
    0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
    0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
    0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817};
// Likewise of the square roots of the first eight.
constexpr std::array<std::uint64_t, 8> kStart = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                                 0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                                 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

struct Sha256 {
  using Word = std::uint32_t;
  static constexpr std::size_t kRoundCount = 64;
  static constexpr int kBig0[] = {2, 13, 22};
  static constexpr int kBig1[] = {6, 11, 25};
  static constexpr int kSmall0[] = {7, 18, 3};  // the last one is a shift
  static constexpr int kSmall1[] = {17, 19, 10};
};
struct Sha512 {
  using Word = std::uint64_t;
  static constexpr std::size_t kRoundCount = 80;
  static constexpr int kBig0[] = {28, 34, 39};
  static constexpr int kBig1[] = {14, 18, 41};
  static constexpr int kSmall0[] = {1, 8, 7};
  static constexpr int kSmall1[] = {19, 61, 6};
};

template <class Word>
Word upper_bits(std::uint64_t constant) {
  return static_cast<Word>(constant >> (64 - 8 * sizeof(Word)));
}

template <class Word>
Word rotated(Word x, const int (&by)[3]) {
  return std::rotr(x, by[0]) ^ std::rotr(x, by[1]) ^ std::rotr(x, by[2]);
}
template <class Word>
Word shifted(Word x, const int (&by)[3]) {
  return std::rotr(x, by[0]) ^ std::rotr(x, by[1]) ^ (x >> by[2]);
}

// One block of 16 words goes into the state.
template <class Kind>
void absorb(std::array<typename Kind::Word, 8>& state, BytesView block) {
  using Word = typename Kind::Word;
  std::array<Word, Kind::kRoundCount> w;
  for (std::size_t i = 0; i < 16; ++i) w[i] = load_be<Word>(block, i * sizeof(Word));
  for (std::size_t i = 16; i < w.size(); ++i) {
    w[i] = w[i - 16] + shifted(w[i - 15], Kind::kSmall0) + w[i - 7] + shifted(w[i - 2], Kind::kSmall1);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const Word t1 = h + rotated(e, Kind::kBig1) + ((e & f) ^ (~e & g)) + upper_bits<Word>(kRounds[i]) + w[i];
    const Word t2 = rotated(a, Kind::kBig0) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<Word, 8> added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += added[i];
}

template <class Kind>
ByteVector digest(BytesView bytes) {
  using Word = typename Kind::Word;
  constexpr std::size_t kBlock = 16 * sizeof(Word);
  std::array<Word, 8> state;
  for (std::size_t i = 0; i < 8; ++i) state[i] = upper_bits<Word>(kStart[i]);
  const std::size_t whole = bytes.size() / kBlock * kBlock;
  for (std::size_t at = 0; at < whole; at += kBlock) absorb<Kind>(state, bytes.subspan(at, kBlock));
  // A one bit, zeros, and the length in bits as a number of two words.
  ByteVector rest = to_vector(bytes.subspan(whole));
  rest.push_back(std::byte{0x80});
  rest.resize(rest.size() + 2 * sizeof(Word) <= kBlock ? kBlock : 2 * kBlock);
  store_be<std::uint64_t>(rest, rest.size() - 8, static_cast<std::uint64_t>(bytes.size()) * 8);
  for (std::size_t at = 0; at < rest.size(); at += kBlock) absorb<Kind>(state, BytesView(rest).subspan(at, kBlock));
  ByteVector result(8 * sizeof(Word));
  for (std::size_t i = 0; i < 8; ++i) store_be<Word>(result, i * sizeof(Word), state[i]);
  return result;
}

}  // namespace

ByteVector sha2(Sha2 kind, BytesView bytes) {
  return kind == Sha2::sha256 ? digest<Sha256>(bytes) : digest<Sha512>(bytes);
}

ByteVector hmac(Sha2 kind, BytesView key, BytesView bytes) {
  const std::size_t block = kind == Sha2::sha256 ? 64 : 128;
  ByteVector inner = key.size() > block ? sha2(kind, key) : to_vector(key);
  inner.resize(block);
  ByteVector outer = inner;
  for (std::byte& b : inner) b ^= std::byte{0x36};
  for (std::byte& b : outer) b ^= std::byte{0x5c};
  inner.insert(inner.end(), bytes.begin(), bytes.end());
  const ByteVector hashed = sha2(kind, inner);
  outer.insert(outer.end(), hashed.begin(), hashed.end());
  return sha2(kind, outer);
}

ByteVector pbkdf2(Sha2 kind, BytesView password, BytesView salt, int iterations) {
  ByteVector last = to_vector(salt);
  for (const int b : {0, 0, 0, 1}) last.push_back(static_cast<std::byte>(b));  // the number of the block
  last = hmac(kind, password, last);
  ByteVector result = last;
  for (int i = 1; i < iterations; ++i) {
    last = hmac(kind, password, last);
    for (std::size_t at = 0; at < result.size(); ++at) result[at] ^= last[at];
  }
  return result;
}

}  // namespace cordwood
