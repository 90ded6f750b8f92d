#include "base/sha2.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.h"

namespace cordwood {
namespace {

const EVP_MD* digest_of(Sha2 kind) { return kind == Sha2::sha256 ? EVP_sha256() : EVP_sha512(); }

ByteVector room_for(Sha2 kind) { return ByteVector(static_cast<std::size_t>(EVP_MD_get_size(digest_of(kind)))); }

unsigned char* out_of(ByteVector& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

// Never null: OpenSSL takes a null key for "the one of the last time".
const unsigned char* in_of(BytesView bytes) {
  static constexpr unsigned char kNothing = 0;
  return bytes.empty() ? &kNothing : reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

ByteVector sha2(Sha2 kind, BytesView bytes) {
  ByteVector hash = room_for(kind);
  const int ok = EVP_Digest(in_of(bytes), bytes.size(), out_of(hash), nullptr, digest_of(kind), nullptr);
  CHECK(ok == 1, "OpenSSL has no SHA-2");
  return hash;
}

ByteVector hmac(Sha2 kind, BytesView key, BytesView bytes) {
  ByteVector mac = room_for(kind);
  const unsigned char* const done =
      HMAC(digest_of(kind), in_of(key), static_cast<int>(key.size()), in_of(bytes), bytes.size(), out_of(mac), nullptr);
  CHECK(done != nullptr, "OpenSSL has no HMAC");
  return mac;
}

ByteVector pbkdf2(Sha2 kind, BytesView password, BytesView salt, int iterations) {
  CHECK(iterations >= 1, "{} iterations", iterations);
  ByteVector key = room_for(kind);
  const int ok = PKCS5_PBKDF2_HMAC(reinterpret_cast<const char*>(in_of(password)), static_cast<int>(password.size()), in_of(salt),
                                   static_cast<int>(salt.size()), iterations, digest_of(kind), static_cast<int>(key.size()),
                                   out_of(key));
  CHECK(ok == 1, "OpenSSL has no PBKDF2");
  return key;
}

}  // namespace cordwood
