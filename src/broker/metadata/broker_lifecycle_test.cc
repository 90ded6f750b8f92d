#include "broker/metadata/broker_lifecycle.h"

#include <gtest/gtest.h>

#include "broker/metadata/apply.h"
#include "broker/metadata/features.h"

namespace cordwood::broker::metadata {
namespace {

constexpr NodeId kUs{1};
constexpr NodeId kOther{2};
constexpr Uuid kTopic{1, 100};
constexpr Uuid kDirectory{7, 7};
constexpr Uuid kSecondDirectory{7, 8};

enum class Elr { off, on };

// One topic of one partition led by us, and us registered.
Image cluster(Elr elr, PartitionState partition, bool fenced = false) {
  Image image;
  image.features[std::string(kMetadataVersion)] = elr == Elr::on ? 33 : 25;
  if (elr == Elr::on) image.features[std::string(kElrVersion)] = 1;
  image.next_offset = Offset{50};
  BrokerRegistration broker;
  broker.id = kUs;
  broker.epoch = 12;
  broker.fenced = fenced;
  broker.log_dirs = {kDirectory};
  image.brokers[kUs] = broker;
  auto topic = std::make_shared<TopicState>(TopicState{"orders", kTopic, {{PartitionId{0}, std::move(partition)}}});
  image.topics["orders"] = topic;
  image.topics_by_id[kTopic] = topic;
  return image;
}

PartitionState led_by_us() {
  PartitionState partition;
  partition.replicas = {kUs};
  partition.isr = {kUs};
  partition.leader = kUs;
  partition.leader_epoch = 4;
  partition.partition_epoch = 9;
  partition.directories = {kDirectory};
  return partition;
}

Image after(const Image& image, const std::vector<MetadataRecord>& records) {
  Result<Image> next = apply(image, records, image.epoch);
  EXPECT_TRUE(next) << next.error().message();
  return next ? std::move(*next) : image;
}

const PartitionState& partition_of(const Image& image) { return *image.partition({"orders", PartitionId{0}}); }

std::optional<Uuid> in_its_directory(const TopicPartition&) { return kDirectory; }

BrokerIdentity us() {
  BrokerIdentity identity;
  identity.node_id = kUs;
  identity.incarnation = Uuid{3, 3};
  identity.listeners = {{"PLAINTEXT", "localhost", 9092, 0}};
  identity.controller_listener = {"CONTROLLER", "localhost", 9093, 0};
  identity.log_dirs = {kSecondDirectory, kDirectory};
  return identity;
}

TEST(BrokerLifecycle, AStopAndAStartRaiseTheLeaderEpochByTwo) {
  for (Elr elr : {Elr::off, Elr::on}) {
    Image running = cluster(elr, led_by_us());
    Image stopping = after(running, controlled_shutdown(running, kUs));
    EXPECT_TRUE(stopping.brokers.at(kUs).in_controlled_shutdown);
    EXPECT_FALSE(stopping.brokers.at(kUs).fenced);
    PartitionState left = partition_of(stopping);
    EXPECT_EQ(left.leader, std::nullopt);
    EXPECT_EQ(left.leader_epoch, 5);
    if (elr == Elr::off) {
      EXPECT_EQ(left.isr, std::vector{kUs});
    } else {
      EXPECT_TRUE(left.isr.empty());
      EXPECT_EQ(left.eligible_leader_replicas, std::vector{kUs});
      EXPECT_EQ(left.last_known_elr, std::vector{kUs});
    }
    Image stopped = after(stopping, final_fencing(stopping, kUs));
    EXPECT_TRUE(stopped.brokers.at(kUs).fenced);
    EXPECT_TRUE(final_fencing(stopped, kUs).empty());

    EXPECT_TRUE(fence_the_dead(stopped, kUs).empty());
    Image registered = after(stopped, broker_registration(stopped, us(), LastStop::clean));
    EXPECT_EQ(partition_of(registered), left);
    Image started = after(registered, unfencing(registered, kUs, in_its_directory, {}));
    EXPECT_FALSE(started.brokers.at(kUs).fenced);
    PartitionState again = partition_of(started);
    EXPECT_EQ(again.leader, kUs);
    EXPECT_EQ(again.leader_epoch, 6);
    EXPECT_EQ(again.isr, std::vector{kUs});
    EXPECT_EQ(again.leader_recovery_state, 0);
    EXPECT_TRUE(again.eligible_leader_replicas.empty() && again.last_known_elr.empty());
  }
}

TEST(BrokerLifecycle, AKillIsSeenAtTheNextStart) {
  for (Elr elr : {Elr::off, Elr::on}) {
    Image killed = cluster(elr, led_by_us());
    Image fenced = after(killed, fence_the_dead(killed, kUs));
    EXPECT_TRUE(fenced.brokers.at(kUs).fenced);
    EXPECT_EQ(partition_of(fenced).leader, std::nullopt);
    EXPECT_EQ(partition_of(fenced).isr.empty(), elr == Elr::on);
    Image registered = after(fenced, broker_registration(fenced, us(), LastStop::unclean));
    EXPECT_TRUE(partition_of(registered).eligible_leader_replicas.empty());
    Image started = after(registered, unfencing(registered, kUs, in_its_directory, {}));
    PartitionState again = partition_of(started);
    EXPECT_EQ(again.leader, kUs);
    EXPECT_EQ(again.leader_epoch, 6);
    EXPECT_EQ(again.isr, std::vector{kUs});
    // With ELR nobody was eligible any more: the last known leader took over, and that stays visible.
    EXPECT_EQ(again.leader_recovery_state, elr == Elr::on ? 1 : 0);
    EXPECT_TRUE(again.last_known_elr.empty());
  }
}

TEST(BrokerLifecycle, RegistrationCarriesTheOffsetOfItsFirstRecord) {
  // A broker that is fenced and yet leads, which Kafka does not leave behind: leaderships go first, in one operation.
  Image image = cluster(Elr::off, led_by_us(), true);
  std::vector<MetadataRecord> records = broker_registration(image, us(), LastStop::unclean);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<PartitionChangeRecord>(records[0].body));
  const auto& registration = std::get<RegisterBrokerRecord>(records[1].body);
  EXPECT_EQ(registration.broker_epoch, 50);
  EXPECT_TRUE(registration.fenced);
  EXPECT_EQ(registration.log_dirs, (std::vector{kDirectory, kSecondDirectory}));
  EXPECT_EQ(records[1].version, 3);
  EXPECT_EQ(registration.features.size(), supported_features().size());
}

TEST(BrokerLifecycle, OldMetadataVersionsHaveFewerRecords) {
  Image image = cluster(Elr::off, led_by_us(), true);
  image.features[std::string(kMetadataVersion)] = 14;
  EXPECT_TRUE(controller_registration(image, us()).empty());
  const auto records = broker_registration(image, us(), LastStop::clean);
  EXPECT_EQ(records.back().version, 2);
  EXPECT_TRUE(std::get<RegisterBrokerRecord>(records.back().body).log_dirs.empty());
  image.features[std::string(kMetadataVersion)] = 15;
  EXPECT_EQ(controller_registration(image, us()).size(), 1u);
  // The list of cordoned directories exists from 30 on; then every start says that none is.
  EXPECT_EQ(unfencing(image, kUs, in_its_directory, {}).size(), 2u);
  image.features[std::string(kMetadataVersion)] = 30;
  auto unfenced = unfencing(image, kUs, in_its_directory, {});
  ASSERT_EQ(unfenced.size(), 3u);
  EXPECT_EQ(unfenced[1].version, 3);
}

struct Electable {
  const char* what;
  std::vector<NodeId> replicas, isr, eligible, last_known;
  bool elected;
  std::vector<NodeId> isr_after;
  std::int8_t recovery_state;
};

TEST(BrokerLifecycle, ElectsWhereNothingCanBeLost) {
  const Electable cases[] = {
      {"in the ISR", {kUs}, {kUs}, {}, {}, true, {kUs}, 0},
      {"in the ISR with one who is dead", {kUs, kOther}, {kOther, kUs}, {}, {}, true, {kUs}, 0},
      {"another one is in the ISR", {kUs, kOther}, {kOther}, {}, {}, false, {kOther}, 0},
      {"eligible", {kUs}, {}, {kUs}, {kUs}, true, {kUs}, 0},
      {"eligible beside another one", {kUs, kOther}, {}, {kOther, kUs}, {kUs}, true, {kUs}, 0},
      {"another one is eligible", {kUs, kOther}, {}, {kOther}, {kUs}, false, {}, 0},
      {"last known leader", {kUs, kOther}, {}, {}, {kUs}, true, {kUs}, 1},
      {"another one was the last known", {kUs, kOther}, {}, {}, {kOther}, false, {}, 0},
      {"the only replica, in no list", {kUs}, {}, {}, {}, true, {kUs}, 1},
      {"in no list, and not the only one", {kUs, kOther}, {}, {}, {}, false, {}, 0},
      {"no replica here", {kOther}, {kOther}, {}, {}, false, {kOther}, 0},
  };
  for (const Electable& c : cases) {
    PartitionState partition = led_by_us();
    partition.leader.reset();
    partition.replicas = c.replicas;
    partition.isr = c.isr;
    partition.eligible_leader_replicas = c.eligible;
    partition.last_known_elr = c.last_known;
    partition.directories.assign(c.replicas.size(), kDirectory);
    Image image = cluster(Elr::on, partition, true);
    Image started = after(image, unfencing(image, kUs, in_its_directory, {}));
    const PartitionState& state = partition_of(started);
    EXPECT_EQ(state.leader, c.elected ? std::optional(kUs) : std::nullopt) << c.what;
    EXPECT_EQ(state.isr, c.isr_after) << c.what;
    EXPECT_EQ(state.leader_recovery_state, c.recovery_state) << c.what;
    EXPECT_EQ(state.leader_epoch, c.elected ? 5 : 4) << c.what;
    if (c.elected) {
      EXPECT_TRUE(state.eligible_leader_replicas.empty() && state.last_known_elr.empty()) << c.what;
    }
  }
}

TEST(BrokerLifecycle, OthersOfAFormerClusterAreFencedAndReplaced) {
  PartitionState partition = led_by_us();
  partition.replicas = {kUs, kOther};
  partition.isr = {kOther, kUs};
  partition.leader = kOther;
  partition.directories = {kDirectory, kDirectory};
  Image image = cluster(Elr::off, partition, true);
  BrokerRegistration other;
  other.id = kOther;
  other.epoch = 30;
  other.fenced = false;
  image.brokers[kOther] = other;
  Image fenced = after(image, fence_the_dead(image, kUs));
  EXPECT_TRUE(fenced.brokers.at(kOther).fenced);
  EXPECT_EQ(partition_of(fenced).leader, std::nullopt);
  Image started = after(fenced, unfencing(fenced, kUs, in_its_directory, {}));
  EXPECT_EQ(partition_of(started).leader, kUs);
  EXPECT_EQ(partition_of(started).isr, std::vector{kUs});
}

TEST(BrokerLifecycle, DirectoriesFollowWhereTheLogLies) {
  struct Case {
    const char* what;
    Uuid named;
    std::optional<Uuid> actual;
    Uuid after;
    bool led;
    std::set<Uuid> offline;
  };
  const Uuid failed{9, 9};
  const Case cases[] = {
      {"as named", kDirectory, kDirectory, kDirectory, true, {}},
      {"as named, another directory is offline", kDirectory, kDirectory, kDirectory, true, {failed}},
      {"nobody knew", kUnassignedDirectory, kDirectory, kDirectory, true, {failed}},
      {"lost", kLostDirectory, kDirectory, kDirectory, true, {}},
      {"another directory of ours", kSecondDirectory, kDirectory, kDirectory, true, {failed}},
      {"still loading", kDirectory, kUnassignedDirectory, kDirectory, true, {failed}},
      {"still loading where nobody knew", kUnassignedDirectory, kUnassignedDirectory, kUnassignedDirectory, true, {}},
      {"not there yet", kDirectory, std::nullopt, kDirectory, true, {}},
      {"nowhere, and one directory is offline", kDirectory, std::nullopt, kDirectory, false, {failed}},
      {"nowhere, nobody knew, and one directory is offline", kUnassignedDirectory, std::nullopt, kUnassignedDirectory, false, {failed}},
      {"its directory failed", failed, std::nullopt, failed, false, {failed}},
      {"its directory could not be opened, nor its id be read", failed, std::nullopt, failed, false, {Uuid{}}},
      {"its directory is not named in log.dirs", failed, std::nullopt, failed, false, {}},
      {"it lies in a directory that failed", failed, failed, failed, false, {failed}},
  };
  for (const Case& c : cases) {
    PartitionState partition = led_by_us();
    partition.leader.reset();
    partition.directories = {c.named};
    Image image = cluster(Elr::off, partition, true);
    image.brokers.at(kUs).log_dirs = {kDirectory, kSecondDirectory};
    auto directory_of = [&](const TopicPartition&) { return c.actual; };
    Image started = after(image, unfencing(image, kUs, directory_of, c.offline));
    EXPECT_EQ(partition_of(started).directories, std::vector{c.after}) << c.what;
    EXPECT_EQ(partition_of(started).leader.has_value(), c.led) << c.what;
  }
}

TEST(BrokerLifecycle, AFailedDirectoryTakesItsPartitionsAlong) {
  Image image = cluster(Elr::off, led_by_us());
  image.brokers.at(kUs).log_dirs = {kDirectory, kSecondDirectory};
  Image other_failed = after(image, directory_failure(image, kUs, kSecondDirectory));
  EXPECT_EQ(partition_of(other_failed).leader, kUs);
  EXPECT_EQ(other_failed.brokers.at(kUs).log_dirs, std::vector{kDirectory});
  Image failed = after(image, directory_failure(image, kUs, kDirectory));
  EXPECT_EQ(partition_of(failed).leader, std::nullopt);
  EXPECT_EQ(partition_of(failed).directories, std::vector{kDirectory});
  EXPECT_EQ(failed.brokers.at(kUs).log_dirs, std::vector{kSecondDirectory});
}

}  // namespace
}  // namespace cordwood::broker::metadata
