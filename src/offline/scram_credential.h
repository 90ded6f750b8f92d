// offline/scram_credential.h — the credentials that kafka-storage format --add-scram puts into the first records.
#pragma once

#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "broker/metadata/metadata_record.h"

namespace cordwood::offline {

// "SCRAM-SHA-256=[name=alice,password=secret,iterations=8192,salt="BASE64",saltedpassword="BASE64"]": a name, a
// password or a salted one with its salt; a salt is made when there is none, and 4096 iterations are the default. The
// keys are RFC 5802's. Errors, in Kafka's words: invalid; corrupt when Kafka's tool ends with an exception.
Result<broker::metadata::UserScramCredentialRecord> parse_scram_credential(std::string_view text, Random& random);

// As Kafka shows such a record, without what it says of the version.
std::string shown_scram_credential(const broker::metadata::UserScramCredentialRecord& record);

}  // namespace cordwood::offline
