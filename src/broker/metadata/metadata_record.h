// broker/metadata/metadata_record.h — one record of the metadata log, of any kind, and its frame.
//
// Value of a record in a data batch of __cluster_metadata-0 (the key is null):
//   uvarint  frame version, always 1
//   uvarint  record id
//   uvarint  version of the record
//   ...      the record, flexible form (metadata_records.schema)
//
// A record that is not known, or a version above ours, is refused and never skipped: a later snapshot would lose it.
// Unknown tagged fields inside a known record are read over.   Format: docs/formats/metadata_log.md
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "base/result.h"
#include "broker/metadata/metadata_records.h"

namespace cordwood::broker::metadata {

using RecordBody =
    std::variant<RegisterBrokerRecord, UnregisterBrokerRecord, TopicRecord, PartitionRecord, ConfigRecord,
                 PartitionChangeRecord, FenceBrokerRecord, UnfenceBrokerRecord, RemoveTopicRecord, DelegationTokenRecord,
                 UserScramCredentialRecord, FeatureLevelRecord, ClientQuotaRecord, ProducerIdsRecord,
                 BrokerRegistrationChangeRecord, AccessControlEntryRecord, RemoveAccessControlEntryRecord, NoOpRecord,
                 ZkMigrationRecord, RemoveUserScramCredentialRecord, BeginTransactionRecord, EndTransactionRecord,
                 AbortTransactionRecord, RemoveDelegationTokenRecord, RegisterControllerRecord, ClearElrRecord,
                 UnregisterControllerRecord>;

struct MetadataRecord {
  RecordBody body;
  std::int16_t version = 0;
  bool operator==(const MetadataRecord&) const = default;
};

// "TopicRecord".
const char* name_of(const MetadataRecord& record);

// The record with the version that a writer under this metadata.version uses. BrokerRegistrationChange goes by what it
// carries; the newest of its fields decides.
MetadataRecord record_for(std::int16_t metadata_version, RecordBody body);

ByteVector encode_record(const MetadataRecord& record);

// `where` names the place in errors. Errors: unsupported for another frame version, an unknown record id or a version
// above ours (named); corrupt when the bytes do not hold exactly the record.
Result<MetadataRecord> decode_record(BytesView value, std::string_view where);

}  // namespace cordwood::broker::metadata
