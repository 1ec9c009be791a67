import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Consumer groups, both protocols. */
final class GroupTests {
    static final String[] CLASSIC = {"group.protocol", "classic"};
    static final String[] CONSUMER = {"group.protocol", "consumer"};

    static void addTo(Map<String, Main.Test> tests) {
        tests.put("group", s -> lifeOfGroup(s, CLASSIC));
        tests.put("consumer-group", s -> lifeOfGroup(s, CONSUMER));
        tests.put("rebalance", s -> rebalance(s, CLASSIC));
        tests.put("consumer-rebalance", s -> rebalance(s, CONSUMER));
        for (String name : List.of("Range", "RoundRobin", "Sticky", "CooperativeSticky")) {
            String assignor = "org.apache.kafka.clients.consumer." + name + "Assignor";
            tests.put("assignor-" + name, s -> rebalance(
                s, "group.protocol", "classic", "partition.assignment.strategy", assignor));
        }
        tests.put("pattern", s -> pattern(s, CLASSIC));
        tests.put("static", s -> staticMember(s, CLASSIC));
        tests.put("reset", GroupTests::reset);
        tests.put("group-admin", GroupTests::groupAdmin);
    }

    private static Consumer<byte[], byte[]> member(Session s, String[] settings, String... more) {
        List<String> all =
            new ArrayList<>(List.of("group.id", s.topic, "metadata.max.age.ms", "500"));
        all.addAll(List.of(settings));
        all.addAll(List.of(more));
        return s.consumer(all.toArray(new String[0]));
    }

    private static void fill(Session s, int partitions, int each) throws Exception {
        Producer<byte[], byte[]> producer = s.producer("linger.ms", "10");
        for (int i = 0; i < partitions * each; i++) {
            byte[] value = Session.bytes("v" + i);
            producer.send(new ProducerRecord<>(s.topic, i % partitions, null, value));
        }
        producer.flush();
    }

    private static void lifeOfGroup(Session s, String... protocol) throws Exception {
        s.create(2);
        fill(s, 2, 50);
        Consumer<byte[], byte[]> first = member(s, protocol);
        first.subscribe(Set.of(s.topic));
        Session.same(100, Session.read(first, 100).size());
        first.commitSync(Map.of(s.partition(0), new OffsetAndMetadata(40, "forty"),
            s.partition(1), new OffsetAndMetadata(50)));
        first.close();
        Consumer<byte[], byte[]> second = member(s, protocol);
        second.subscribe(Set.of(s.topic));
        Session.same(40L, Session.read(second, 10).get(0).offset());
        var committed = second.committed(Set.of(s.partition(0))).get(s.partition(0));
        Session.same("40 forty", committed.offset() + " " + committed.metadata());
    }

    /** A second member takes its share, and gives it back when it leaves. */
    private static void rebalance(Session s, String... settings) throws Exception {
        s.create(4);
        Consumer<byte[], byte[]> first = member(s, settings, "client.id", "first");
        first.subscribe(Set.of(s.topic));
        Session.eventually("the first has all", () -> polled(first).size() == 4);
        // A goodbye is said once: where its coordinator moves meanwhile, its session has to end.
        String[] itsOwn = {"client.id", "second", "session.timeout.ms", "6000"};
        boolean isClassic = List.of(settings).contains("classic");
        Consumer<byte[], byte[]> second =
            member(s, settings, Arrays.copyOf(itsOwn, isClassic ? 4 : 2));
        second.subscribe(Set.of(s.topic));
        Session.eventually("both have their share",
            () -> polled(first).size() == 2 & polled(second).size() == 2);
        Set<TopicPartition> all = new HashSet<>(first.assignment());
        all.addAll(second.assignment());
        Session.same(4, all.size());
        second.close();
        Session.eventually("the first has all again", () -> polled(first).size() == 4);
    }

    private static Set<TopicPartition> polled(Consumer<byte[], byte[]> consumer) {
        consumer.poll(Duration.ofMillis(50));
        return consumer.assignment();
    }

    private static void pattern(Session s, String... protocol) throws Exception {
        s.create(1);
        Consumer<byte[], byte[]> consumer = member(s, protocol);
        consumer.subscribe(Pattern.compile(Pattern.quote(s.topic) + ".*"));
        Session.eventually("one partition", () -> polled(consumer).size() == 1);
        s.createNamed(s.topic + "-new", 2);
        Session.eventually("the new topic's too", () -> polled(consumer).size() == 3);
    }

    private static void staticMember(Session s, String... protocol) throws Exception {
        s.create(2);
        Consumer<byte[], byte[]> other = member(s, protocol, "group.instance.id", "other");
        Consumer<byte[], byte[]> stays = member(s, protocol, "group.instance.id", "stays");
        other.subscribe(Set.of(s.topic));
        stays.subscribe(Set.of(s.topic));
        Session.eventually("one each", () -> polled(other).size() == 1 & polled(stays).size() == 1);
        Set<TopicPartition> had = new HashSet<>(stays.assignment());
        stays.close();
        Consumer<byte[], byte[]> again = member(s, protocol, "group.instance.id", "stays");
        again.subscribe(Set.of(s.topic));
        Session.eventually("it is back", () -> {
            Session.same(1, polled(other).size());
            return polled(again).size() == 1;
        });
        Session.same(had, again.assignment());
    }

    private static void reset(Session s) throws Exception {
        s.create(1);
        s.write(s.producer(), "old");
        Consumer<byte[], byte[]> none = member(s, CLASSIC, "auto.offset.reset", "none");
        none.subscribe(Set.of(s.topic));
        Session.fails("NoOffsetForPartitionException",
            () -> Session.eventually("an error", () -> polled(none).isEmpty() && false));
        none.close();
        Consumer<byte[], byte[]> latest = member(s, CLASSIC, "auto.offset.reset", "latest");
        latest.subscribe(Set.of(s.topic));
        Session.eventually("assigned", () -> polled(latest).size() == 1);
        Session.same(1L, latest.position(s.partition(0)));
    }

    private static void groupAdmin(Session s) throws Exception {
        s.create(1);
        s.write(s.producer(), "a", "b");
        Consumer<byte[], byte[]> member = member(s, CLASSIC, "client.id", "told");
        member.subscribe(Set.of(s.topic));
        Session.read(member, 2);
        member.commitSync();
        ConsumerGroupDescription told = Session.done(
            s.admin.describeConsumerGroups(Set.of(s.topic)).describedGroups().get(s.topic));
        Session.same(1, told.members().size());
        MemberDescription one = told.members().iterator().next();
        Session.same("told", one.clientId());
        Session.same(Set.of(s.partition(0)), one.assignment().topicPartitions());
        Session.same("range", told.partitionAssignor());
        Session.fails("GroupNotEmptyException", () -> Session.done(
            s.admin.deleteConsumerGroups(Set.of(s.topic)).all()));
        member.close();
        Session.eventually("it is listed", () -> Session.done(s.admin.listConsumerGroups().all())
            .stream().anyMatch(each -> each.groupId().equals(s.topic)));
        Session.done(s.admin.alterConsumerGroupOffsets(
            s.topic, Map.of(s.partition(0), new OffsetAndMetadata(1))).all());
        Session.same(1L, Session.done(s.admin.listConsumerGroupOffsets(s.topic)
            .partitionsToOffsetAndMetadata()).get(s.partition(0)).offset());
        Session.done(
            s.admin.deleteConsumerGroupOffsets(s.topic, Set.of(s.partition(0))).all());
        Session.same(0, Session.done(
            s.admin.listConsumerGroupOffsets(s.topic).partitionsToOffsetAndMetadata()).size());
        Session.done(s.admin.alterConsumerGroupOffsets(
            s.topic, Map.of(s.partition(0), new OffsetAndMetadata(1))).all());
        Session.done(s.admin.deleteConsumerGroups(Set.of(s.topic)).all());
        Session.fails("GroupIdNotFoundException", () -> Session.done(
            s.admin.deleteConsumerGroups(Set.of(s.topic)).all()));
    }
}
