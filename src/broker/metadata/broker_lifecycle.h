// broker/metadata/broker_lifecycle.h — which records a start and a stop of this broker write. Decisions only, no I/O.
//
// As Apache Kafka 4.4.0 writes them for a single combined node (seen; docs/formats/metadata_log.md, "start and stop"):
// every start and every stop raises the leader epoch of each partition led here, and a stop leaves the broker fenced.
// With eligible leader replicas (ELR, KIP-966) on, a stop empties the ISR and remembers us as eligible.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "broker/metadata/image.h"
#include "broker/metadata/metadata_record.h"

namespace cordwood::broker::metadata {

// What this broker tells of itself when it registers.
struct BrokerIdentity {
  NodeId node_id;
  Uuid incarnation;
  std::vector<Endpoint> listeners;
  Endpoint controller_listener;
  std::optional<std::string> rack;
  std::vector<Uuid> log_dirs;  // online ones
};

enum class LastStop { clean, unclean };

// RegisterController; nothing below the metadata.version that has it.
std::vector<MetadataRecord> controller_registration(const Image& image, const BrokerIdentity& us);

// For brokers that the image shows unfenced although nobody lives: we ourselves after a kill, and the others of a former
// cluster of several brokers. Leaderships are taken away, then the broker is fenced.
std::vector<MetadataRecord> fence_the_dead(const Image& image, NodeId us);

// RegisterBroker {Fenced}; its epoch is the offset of the operation's first record, image.next_offset. With ELR on, an
// unclean stop costs our eligibility first. Partitions that the image still shows led here, although the broker is
// fenced, lose their leader in the same operation.
std::vector<MetadataRecord> broker_registration(const Image& image, const BrokerIdentity& us, LastStop last_stop);

// Where the log of a partition lies: its directory, kUnassignedDirectory for one that is here but still loading, or nothing when
// there is none.
using DirectoryOf = std::function<std::optional<Uuid>(const TopicPartition& partition)>;

// Whether a log that none of our directories holds may lie in one that is not there, so that no empty one must take its place: one
// is offline, or the metadata names one that is none of `ours` (of those there are; empty when nobody knows).
bool may_lie_elsewhere(std::optional<Uuid> named, const std::vector<Uuid>& ours, bool any_offline);

// Unfences and makes us the leader of every partition that we can lead: not of replicas in `offline` directories, nor of those that
// may lie elsewhere. Directories of the records follow where the logs really lie.
std::vector<MetadataRecord> unfencing(const Image& image, NodeId us, const DirectoryOf& directory_of,
                                      const std::set<Uuid>& offline);

// Controlled shutdown: gives up every leadership.
std::vector<MetadataRecord> controlled_shutdown(const Image& image, NodeId us);
// Fences us; an operation of its own, after the one before.
std::vector<MetadataRecord> final_fencing(const Image& image, NodeId us);

// The log of a partition of ours lies in another directory from now on. Nothing where the record says so already.
std::vector<MetadataRecord> directory_change(const Image& image, NodeId us, const TopicPartition& partition, Uuid directory);

// A log directory failed while running: its partitions lose their leader, the registration the directory.
std::vector<MetadataRecord> directory_failure(const Image& image, NodeId us, Uuid directory);

}  // namespace cordwood::broker::metadata
