// base/sha2.h — SHA-256 and SHA-512 (FIPS 180-4), HMAC (RFC 2104) and PBKDF2 (RFC 8018), for SCRAM credentials (RFC
// 5802).
//
// By OpenSSL, out of its archive: what does not hash does not pay for it at its start.
#pragma once

#include "base/bytes.h"

namespace cordwood {

enum class Sha2 { sha256, sha512 };

// 32 or 64 bytes.
ByteVector sha2(Sha2 kind, BytesView bytes);

// `key` may be of any length below 2 GiB, and empty.
ByteVector hmac(Sha2 kind, BytesView key, BytesView bytes);

// The first block of PBKDF2, as long as the hash; `iterations` is at least 1. What SCRAM calls Hi().
ByteVector pbkdf2(Sha2 kind, BytesView password, BytesView salt, int iterations);

}  // namespace cordwood
