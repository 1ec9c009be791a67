import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.FeatureMetadata;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclBindingFilter;

/** Topics and the cluster through the admin client. */
final class AdminTests {
    static void addTo(Map<String, Main.Test> tests) {
        tests.put("create-errors", AdminTests::createErrors);
        tests.put("validate-only", AdminTests::validateOnly);
        tests.put("assignment-given", AdminTests::assignmentGiven);
        tests.put("topics", AdminTests::topics);
        tests.put("recreate", AdminTests::recreate);
        tests.put("partitions", AdminTests::partitions);
        tests.put("internal", AdminTests::internal);
        tests.put("cluster", AdminTests::cluster);
        tests.put("log-dirs", AdminTests::logDirs);
        tests.put("producers", AdminTests::producers);
        tests.put("elections", AdminTests::elections);
        tests.put("features", AdminTests::features);
        tests.put("growth", AdminTests::growth);
        tests.put("telemetry", AdminTests::telemetry);
        tests.put("acls", AdminTests::acls);
    }

    private static NewTopic asked(String name, int partitions, int replicas) {
        return new NewTopic(name, partitions, (short) replicas);
    }

    private static void createErrors(Session s) throws Exception {
        s.create(1);
        Map<NewTopic, String> refused = Map.of(
            asked(s.topic, 1, 1), "TopicExistsException",
            asked(s.topic + "-zero", 0, 1), "InvalidPartitionsException",
            asked(s.topic + "-many", 1, 9), "InvalidReplicationFactorException",
            asked("not a topic", 1, 1), "InvalidTopicException",
            asked("..", 1, 1), "InvalidTopicException",
            new NewTopic(s.topic + "-where", Map.of(0, List.of(77))),
            "InvalidReplicaAssignmentException",
            asked(s.topic + "-key", 1, 1).configs(Map.of("no.such.key", "1")),
            "InvalidConfigurationException",
            asked(s.topic.replace('-', '_') + "_a.b", 1, 1), "");
        for (Map.Entry<NewTopic, String> each : refused.entrySet()) {
            if (each.getValue().isEmpty()) {
                Session.done(s.admin.createTopics(Set.of(each.getKey())).all());
                String colliding = each.getKey().name().replace('.', '_');
                Session.fails("InvalidTopicException", () -> Session.done(
                    s.admin.createTopics(Set.of(asked(colliding, 1, 1))).all()));
            } else {
                Session.fails(each.getValue(), () -> Session.done(
                    s.admin.createTopics(Set.of(each.getKey())).all()));
            }
        }
    }

    private static void validateOnly(Session s) throws Exception {
        var options = new CreateTopicsOptions().validateOnly(true);
        var told = s.admin.createTopics(
            Set.of(asked(s.topic, 3, 1).configs(Map.of("retention.ms", "1234"))), options);
        Session.same(3, Session.done(told.numPartitions(s.topic)));
        Session.same("1234", Session.done(told.config(s.topic)).get("retention.ms").value());
        Session.check(!Session.done(s.admin.listTopics().names()).contains(s.topic), "created");
    }

    private static int anyBroker(Session s) throws Exception {
        return Session.done(s.admin.describeCluster().nodes()).iterator().next().id();
    }

    private static void assignmentGiven(Session s) throws Exception {
        int broker = anyBroker(s);
        NewTopic placed = new NewTopic(s.topic, Map.of(0, List.of(broker), 1, List.of(broker)));
        Session.done(s.admin.createTopics(Set.of(placed)).all());
        Session.eventually("two partitions", () -> described(s).partitions().size() == 2);
    }

    private static TopicDescription described(Session s) throws Exception {
        return Session.done(s.admin.describeTopics(Set.of(s.topic)).topicNameValues().get(s.topic));
    }

    private static void topics(Session s) throws Exception {
        s.create(2);
        TopicDescription told = described(s);
        Session.check(!told.topicId().equals(Uuid.ZERO_UUID), "no topic id");
        for (TopicPartitionInfo each : told.partitions()) {
            Session.check(each.leader().id() > 0, "no leader");
            Session.same(Session.NODES, each.replicas().size());
            Session.same(Session.NODES, each.isr().size());
        }
        var listed = Session.done(s.admin.listTopics().namesToListings()).get(s.topic);
        Session.same(told.topicId(), listed.topicId());
        TopicCollection byId = TopicCollection.ofTopicIds(Set.of(told.topicId()));
        Session.same(s.topic, Session.done(
            s.admin.describeTopics(byId).topicIdValues().get(told.topicId())).name());
        Session.done(s.admin.deleteTopics(byId).all());
        Session.fails("UnknownTopicIdException", () ->
            Session.done(s.admin.deleteTopics(byId).all()));
        Session.fails("UnknownTopicOrPartitionException", () ->
            Session.done(s.admin.deleteTopics(Set.of(s.topic)).all()));
        Session.eventually("it is gone",
            () -> !Session.done(s.admin.listTopics().names()).contains(s.topic));
    }

    private static void recreate(Session s) throws Exception {
        s.create(1);
        s.write(s.producer(), "old");
        Uuid was = described(s).topicId();
        Session.done(s.admin.deleteTopics(Set.of(s.topic)).all());
        s.create(1);
        // Apache Kafka's broker may show the old topic until it has heard from its controller.
        Session.eventually("another topic", () -> !described(s).topicId().equals(was));
        Session.eventually("it is empty", () -> s.end(0) == 0);
        s.write(s.producer(), "new");
        Session.same(List.of("new"), Session.values(s.reader(), 1));
    }

    private static void partitions(Session s) throws Exception {
        s.create(2);
        for (int count : List.of(1, 2)) {
            Session.fails("InvalidPartitionsException", () -> Session.done(
                s.admin.createPartitions(Map.of(s.topic, NewPartitions.increaseTo(count))).all()));
        }
        Session.done(
            s.admin.createPartitions(Map.of(s.topic, NewPartitions.increaseTo(4))).all());
        Session.eventually("four partitions", () -> described(s).partitions().size() == 4);
    }

    private static void internal(Session s) throws Exception {
        s.create(1);
        s.consumer("group.id", s.topic).commitSync(
            Map.of(s.partition(0), new org.apache.kafka.clients.consumer.OffsetAndMetadata(0)));
        Session.check(Session.done(s.admin.describeTopics(Set.of("__consumer_offsets"))
            .topicNameValues().get("__consumer_offsets")).isInternal(), "not internal");
    }

    private static void cluster(Session s) throws Exception {
        DescribeClusterResult told = s.admin.describeCluster();
        Session.check(!Session.done(told.clusterId()).isEmpty(), "no cluster id");
        Session.check(Session.done(told.controller()) != null, "no controller");
        Session.check(Session.done(told.nodes()).size() >= Session.NODES, "too few nodes");
        QuorumInfo quorum = Session.done(s.admin.describeMetadataQuorum().quorumInfo());
        Session.same(Session.NODES, quorum.voters().size());
        Session.check(quorum.voters().stream().anyMatch(v -> v.replicaId() == quorum.leaderId()),
            "the leader is no voter");
        Session.check(quorum.highWatermark() > 0, "an empty metadata log");
    }

    private static void logDirs(Session s) throws Exception {
        s.create(1);
        s.write(s.producer(), "some bytes");
        Session.eventually("a size", () -> {
            // Its leader, which may be another the next time.
            int leader = described(s).partitions().get(0).leader().id();
            var told = Session.done(
                s.admin.describeLogDirs(Set.of(leader)).descriptions().get(leader));
            long size = told.values().stream()
                .map(each -> each.replicaInfos().get(s.partition(0)))
                .filter(each -> each != null).mapToLong(each -> each.size()).sum();
            return size > 60 && size < 1000;
        });
    }

    private static void producers(Session s) throws Exception {
        s.create(1);
        s.write(s.producer(), "a", "b", "c");
        List<ProducerState> active = Session.done(
            s.admin.describeProducers(Set.of(s.partition(0))).partitionResult(s.partition(0)))
            .activeProducers();
        Session.same(1, active.size());
        Session.same(2, active.get(0).lastSequence());
        Session.same(0, active.get(0).producerEpoch());
    }

    private static void elections(Session s) throws Exception {
        s.create(1);
        Map<TopicPartition, Optional<Throwable>> told = Session.done(
            s.admin.electLeaders(ElectionType.PREFERRED, Set.of(s.partition(0))).partitions());
        Session.same("ElectionNotNeededException",
            told.get(s.partition(0)).get().getClass().getSimpleName());
        Session.done(s.admin.alterPartitionReassignments(Map.of(s.partition(0),
            Optional.of(new NewPartitionReassignment(List.of(anyBroker(s)))))).all());
        Session.eventually("it is there", () -> Session.done(
            s.admin.listPartitionReassignments(Set.of(s.partition(0))).reassignments()).isEmpty());
        Session.fails("NoReassignmentInProgressException", () -> Session.done(
            s.admin.alterPartitionReassignments(Map.of(s.partition(0), Optional.empty())).all()));
    }

    private static void features(Session s) throws Exception {
        FeatureMetadata told = Session.done(s.admin.describeFeatures().featureMetadata());
        var finalized = told.finalizedFeatures();
        Session.same((short) 2, finalized.get("transaction.version").maxVersionLevel());
        Session.same((short) 1, finalized.get("group.version").maxVersionLevel());
        Session.check(told.supportedFeatures().containsKey("metadata.version"), "metadata.version");
    }

    private static void growth(Session s) throws Exception {
        Consumer<byte[], byte[]> consumer =
            s.consumer("group.id", s.topic, "metadata.max.age.ms", "300");
        s.create(1);
        consumer.subscribe(Set.of(s.topic));
        s.write(s.producer(), "first");
        Session.same(List.of("first"), Session.values(consumer, 1));
        Session.done(
            s.admin.createPartitions(Map.of(s.topic, NewPartitions.increaseTo(3))).all());
        Session.eventually("the new partitions are assigned", () -> {
            consumer.poll(Duration.ofMillis(100));
            return consumer.assignment().size() == 3;
        });
    }

    private static void telemetry(Session s) throws Exception {
        s.create(1);
        s.write(s.producer("enable.metrics.push", "true"), "v");
        Session.same(List.of("v"),
            Session.values(s.reader("enable.metrics.push", "true"), 1));
    }

    private static void acls(Session s) throws Exception {
        Session.fails("SecurityDisabledException",
            () -> Session.done(s.admin.describeAcls(AclBindingFilter.ANY).values()));
    }
}
