import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Transactions: implicit ones (KIP-890) by the newer client, explicit ones by the older. */
final class TransactionTests {
    // A record sent with the old epoch is refused with the one, whatever else with the other.
    private static final String FENCED = "ProducerFencedException|InvalidProducerEpochException";

    static void addTo(Map<String, Main.Test> tests) {
        tests.put("transactions", TransactionTests::transactions);
        tests.put("txn-fencing", TransactionTests::fencing);
        tests.put("txn-offsets", TransactionTests::offsets);
        tests.put("txn-bad-timeout", TransactionTests::badTimeout);
        tests.put("txn-codecs", TransactionTests::codecs);
        tests.put("txn-describe", TransactionTests::describe);
        tests.put("txn-fence-from-outside", TransactionTests::fenceFromOutside);
        tests.put("txn-abort-from-outside", TransactionTests::abortFromOutside);
    }

    private static Producer<byte[], byte[]> transactional(Session s, String... more) {
        String[] all = new String[more.length + 2];
        all[0] = "transactional.id";
        all[1] = "id-" + s.topic;
        System.arraycopy(more, 0, all, 2, more.length);
        return s.producer(all);
    }

    private static Consumer<byte[], byte[]> committed(Session s) {
        return s.reader("isolation.level", "read_committed");
    }

    private static void transactions(Session s) throws Exception {
        s.create(2);
        Producer<byte[], byte[]> producer = transactional(s);
        producer.initTransactions();
        producer.beginTransaction();
        s.write(producer, "aborted");
        producer.abortTransaction();
        producer.beginTransaction();
        s.write(producer, "kept");
        Session.done(producer.send(
            new ProducerRecord<>(s.topic, 1, null, Session.bytes("other partition"))));
        Session.same(List.of("aborted", "kept"), Session.values(s.reader(), 2));
        Consumer<byte[], byte[]> reader = committed(s);
        Session.check(reader.poll(java.time.Duration.ofMillis(300)).isEmpty(), "seen too early");
        producer.commitTransaction();
        Session.same(List.of("kept"), Session.values(reader, 1));
        reader.assign(List.of(s.partition(1)));
        reader.seekToBeginning(reader.assignment());
        Session.same(List.of("other partition"), Session.values(reader, 1));
    }

    private static void fencing(Session s) throws Exception {
        s.create(1);
        Producer<byte[], byte[]> first = transactional(s);
        first.initTransactions();
        first.beginTransaction();
        s.write(first, "zombie");
        Producer<byte[], byte[]> second = transactional(s);
        second.initTransactions();
        Session.fails(FENCED, () -> {
            Session.done(first.send(s.record("k", "late")));
            first.commitTransaction();
        });
        second.beginTransaction();
        s.write(second, "heir");
        second.commitTransaction();
        Session.same(List.of("heir"), Session.values(committed(s), 1));
    }

    private static void offsets(Session s) throws Exception {
        s.create(1);
        s.write(s.producer(), "a", "b");
        Consumer<byte[], byte[]> consumer = s.consumer("group.id", s.topic);
        consumer.subscribe(Set.of(s.topic));
        Session.read(consumer, 2);
        Producer<byte[], byte[]> producer = transactional(s);
        producer.initTransactions();
        for (boolean commit : new boolean[] {false, true}) {
            producer.beginTransaction();
            s.write(producer, "out");
            producer.sendOffsetsToTransaction(
                Map.of(s.partition(0), new OffsetAndMetadata(2)), consumer.groupMetadata());
            if (commit) {
                producer.commitTransaction();
                Session.same(2L, told(consumer, s.partition(0)).offset());
            } else {
                producer.abortTransaction();
                Session.check(told(consumer, s.partition(0)) == null, "aborted offsets are told");
            }
        }
    }

    private static OffsetAndMetadata told(Consumer<byte[], byte[]> by, TopicPartition of) {
        return by.committed(Set.of(of)).get(of);
    }

    private static void badTimeout(Session s) throws Exception {
        Producer<byte[], byte[]> producer = transactional(s, "transaction.timeout.ms", "99999999");
        Session.fails("KafkaException", producer::initTransactions);
    }

    private static void codecs(Session s) throws Exception {
        s.create(1);
        for (String codec : List.of("gzip", "snappy", "lz4", "zstd")) {
            Producer<byte[], byte[]> producer =
                transactional(s, "compression.type", codec, "linger.ms", "20");
            producer.initTransactions();
            producer.beginTransaction();
            s.write(producer, IntStream.range(0, 20).mapToObj(i -> codec + i)
                .toArray(String[]::new));
            producer.commitTransaction();
        }
        List<ConsumerRecord<byte[], byte[]>> got = Session.read(committed(s), 80);
        Session.same("gzip0", Session.text(got.get(0).value()));
        Session.same("zstd19", Session.text(got.get(79).value()));
    }

    private static void describe(Session s) throws Exception {
        s.create(1);
        Producer<byte[], byte[]> producer = transactional(s);
        producer.initTransactions();
        producer.beginTransaction();
        s.write(producer, "v");
        String id = "id-" + s.topic;
        TransactionDescription told =
            Session.done(s.admin.describeTransactions(Set.of(id)).description(id));
        Session.same(TransactionState.ONGOING, told.state());
        Session.same(Set.of(s.partition(0)), told.topicPartitions());
        Session.eventually("it is listed", () -> {
            try {
                return Session.done(s.admin.listTransactions().all()).stream()
                    .anyMatch(each -> each.transactionalId().equals(id));
            } catch (IllegalArgumentException brokerIsGone) {
                // What Java's own AllBrokersStrategy makes of a broker that leaves meanwhile.
                return false;
            }
        });
        producer.commitTransaction();
        Session.eventually("it is complete", () -> Session.done(
            s.admin.describeTransactions(Set.of(id)).description(id)).state()
            == TransactionState.COMPLETE_COMMIT);
    }

    private static void fenceFromOutside(Session s) throws Exception {
        s.create(1);
        Producer<byte[], byte[]> producer = transactional(s);
        producer.initTransactions();
        producer.beginTransaction();
        s.write(producer, "v");
        Session.done(s.admin.fenceProducers(Set.of("id-" + s.topic)).all());
        Session.fails(FENCED, () -> {
            Session.done(producer.send(s.record("k", "late")));
            producer.commitTransaction();
        });
    }

    private static void abortFromOutside(Session s) throws Exception {
        s.create(1);
        Producer<byte[], byte[]> producer = transactional(s);
        producer.initTransactions();
        producer.beginTransaction();
        s.write(producer, "hangs");
        ProducerState hangs = Session.done(
            s.admin.describeProducers(Set.of(s.partition(0))).partitionResult(s.partition(0)))
            .activeProducers().get(0);
        Session.done(s.admin.abortTransaction(new AbortTransactionSpec(
            s.partition(0), hangs.producerId(), (short) hangs.producerEpoch(),
            hangs.coordinatorEpoch().orElse(0))).all());
        Session.eventually("nothing is open", () -> Session.done(
            s.admin.describeProducers(Set.of(s.partition(0))).partitionResult(s.partition(0)))
            .activeProducers().stream()
            .allMatch(each -> each.currentTransactionStartOffset().isEmpty()));
    }
}
