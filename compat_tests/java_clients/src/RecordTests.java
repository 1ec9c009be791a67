import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.TimestampType;

/** Producing and consuming. */
final class RecordTests {
    static void addTo(Map<String, Main.Test> tests) {
        tests.put("codecs", RecordTests::codecs);
        tests.put("headers", RecordTests::headers);
        tests.put("nulls", RecordTests::nulls);
        tests.put("ordering", RecordTests::ordering);
        tests.put("partitioning", RecordTests::partitioning);
        tests.put("large", RecordTests::large);
        tests.put("too-large", RecordTests::tooLarge);
        tests.put("acks", RecordTests::acks);
        tests.put("seek", RecordTests::seek);
        tests.put("by-time", RecordTests::byTime);
        tests.put("timestamps", RecordTests::timestamps);
        tests.put("mid-batch", RecordTests::midBatch);
        tests.put("out-of-range", RecordTests::outOfRange);
        tests.put("refusals", RecordTests::refusals);
        tests.put("unknown-topic", RecordTests::unknownTopic);
        tests.put("fetch-limits", RecordTests::fetchLimits);
        tests.put("long-poll", RecordTests::longPoll);
        tests.put("many-partitions", RecordTests::manyPartitions);
    }

    private static void codecs(Session s) throws Exception {
        s.create(1);
        List<String> expected = new ArrayList<>();
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            String[] values = IntStream.range(0, 50)
                .mapToObj(i -> (codec + " " + i + " ").repeat(30)).toArray(String[]::new);
            s.write(s.producer("compression.type", codec, "linger.ms", "20"), values);
            expected.addAll(List.of(values));
        }
        Session.same(expected, Session.values(s.reader(), expected.size()));
    }

    private static void headers(Session s) throws Exception {
        s.create(1);
        ProducerRecord<byte[], byte[]> record = s.record("k", "v");
        record.headers().add("a", Session.bytes("1")).add("a", Session.bytes("2"))
            .add("empty", new byte[0]).add("null", null).add("ключ", Session.bytes("значение"));
        Session.done(s.producer().send(record));
        List<String> got = new ArrayList<>();
        for (Header each : Session.read(s.reader(), 1).get(0).headers()) {
            got.add(each.key() + "=" + Session.text(each.value()));
        }
        Session.same(List.of("a=1", "a=2", "empty=", "null=null", "ключ=значение"), got);
    }

    private static void nulls(Session s) throws Exception {
        s.create(1);
        String[][] pairs = {{null, null}, {"", ""}, {null, "v"}, {"k", null}, {"k", ""}};
        Producer<byte[], byte[]> producer = s.producer();
        for (String[] each : pairs) {
            Session.done(producer.send(s.record(each[0], each[1])));
        }
        int at = 0;
        for (ConsumerRecord<byte[], byte[]> got : Session.read(s.reader(), pairs.length)) {
            String told = Session.text(got.key()) + "/" + Session.text(got.value());
            Session.same(pairs[at][0] + "/" + pairs[at][1], told);
            at++;
        }
    }

    private static void ordering(Session s) throws Exception {
        s.create(1);
        String[] values = IntStream.range(0, 3000).mapToObj(Integer::toString)
            .toArray(String[]::new);
        s.write(s.producer("batch.size", "2000"), values);
        Session.same(List.of(values), Session.values(s.reader(), values.length));
    }

    private static void partitioning(Session s) throws Exception {
        s.create(4);
        Producer<byte[], byte[]> producer = s.producer();
        for (int i = 0; i < 4; i++) {
            ProducerRecord<byte[], byte[]> asked =
                new ProducerRecord<>(s.topic, i, null, Session.bytes("v"));
            Session.same(i, Session.done(producer.send(asked)).partition());
        }
        byte[] key = Session.bytes("the same key");
        Future<RecordMetadata> first = producer.send(new ProducerRecord<>(s.topic, key, key));
        Future<RecordMetadata> second = producer.send(new ProducerRecord<>(s.topic, key, key));
        Session.same(Session.done(first).partition(), Session.done(second).partition());
    }

    private static void large(Session s) throws Exception {
        s.create(1, "max.message.bytes", "5000000");
        Producer<byte[], byte[]> producer = s.producer(
            "max.request.size", "6000000", "batch.size", "6000000", "buffer.memory", "20000000");
        byte[] value = Session.filled(3_000_000);
        Session.done(producer.send(new ProducerRecord<>(s.topic, 0, null, value)));
        Session.same(value.length, Session.read(s.reader(), 1).get(0).value().length);
    }

    private static void tooLarge(Session s) throws Exception {
        s.create(1, "max.message.bytes", "2000");
        Producer<byte[], byte[]> producer = s.producer("enable.idempotence", "false");
        byte[] value = Session.filled(3000);
        Session.fails("RecordTooLargeException",
            () -> Session.done(producer.send(new ProducerRecord<>(s.topic, 0, null, value))));
        s.write(producer, "fits");
        Session.same(List.of("fits"), Session.values(s.reader(), 1));
    }

    private static void acks(Session s) throws Exception {
        s.create(1);
        for (String acks : List.of("0", "1", "all")) {
            String idempotent = Boolean.toString(acks.equals("all"));
            s.write(s.producer("acks", acks, "enable.idempotence", idempotent), acks);
        }
        Session.eventually("three records", () -> s.end(0) == 3);
    }

    private static void seek(Session s) throws Exception {
        s.create(1);
        s.write(s.producer(), "0", "1", "2", "3", "4");
        Consumer<byte[], byte[]> consumer = s.reader();
        Session.same(5, Session.read(consumer, 5).size());
        consumer.seek(s.partition(0), 3);
        Session.same(List.of("3", "4"), Session.values(consumer, 2));
        consumer.seek(s.partition(0), 1);
        Session.same(List.of("1", "2", "3", "4"), Session.values(consumer, 4));
        consumer.seekToEnd(consumer.assignment());
        Session.same(5L, consumer.position(s.partition(0)));
        consumer.seekToBeginning(consumer.assignment());
        Session.same(0L, consumer.position(s.partition(0)));
    }

    private static void byTime(Session s) throws Exception {
        s.create(1);
        long base = System.currentTimeMillis() - 100_000;
        Producer<byte[], byte[]> producer = s.producer();
        for (int i = 0; i < 5; i++) {
            Session.done(producer.send(
                new ProducerRecord<>(s.topic, 0, base + i * 1000L, null, Session.bytes("v"))));
        }
        Consumer<byte[], byte[]> consumer = s.reader();
        TopicPartition partition = s.partition(0);
        Map<Long, Long> expected = Map.of(0L, 0L, base + 1, 1L, base + 4000, 4L);
        for (Map.Entry<Long, Long> each : expected.entrySet()) {
            OffsetAndTimestamp found =
                consumer.offsetsForTimes(Map.of(partition, each.getKey())).get(partition);
            Session.same(each.getValue(), found.offset());
        }
        Object none = consumer.offsetsForTimes(Map.of(partition, base + 4001)).get(partition);
        Session.check(none == null, "an offset after the last timestamp: " + none);
    }

    private static void timestamps(Session s) throws Exception {
        long past = System.currentTimeMillis() - 3_600_000;
        s.create(1);
        Session.done(s.producer().send(
            new ProducerRecord<>(s.topic, 0, past, null, Session.bytes("v"))));
        ConsumerRecord<byte[], byte[]> got = Session.read(s.reader(), 1).get(0);
        Session.same(past + " " + TimestampType.CREATE_TIME,
            got.timestamp() + " " + got.timestampType());
        Session other = new Session(s.broker, s.topic + "-append");
        try (other) {
            other.create(1, "message.timestamp.type", "LogAppendTime");
            RecordMetadata at = Session.done(other.producer().send(
                new ProducerRecord<>(other.topic, 0, past, null, Session.bytes("v"))));
            got = Session.read(other.reader(), 1).get(0);
            Session.same(TimestampType.LOG_APPEND_TIME, got.timestampType());
            Session.same(at.timestamp(), got.timestamp());
            Session.check(got.timestamp() > past, "the producer's time was kept");
        }
    }

    private static void midBatch(Session s) throws Exception {
        s.create(1);
        String[] values = IntStream.range(0, 100).mapToObj(Integer::toString)
            .toArray(String[]::new);
        s.write(s.producer("linger.ms", "100", "compression.type", "zstd"), values);
        Consumer<byte[], byte[]> consumer = s.reader();
        consumer.seek(s.partition(0), 57);
        Session.same(List.of(values).subList(57, 100), Session.values(consumer, 43));
    }

    private static void outOfRange(Session s) throws Exception {
        s.create(1);
        s.write(s.producer(), "0", "1");
        Consumer<byte[], byte[]> strict = s.consumer("auto.offset.reset", "none");
        strict.assign(List.of(s.partition(0)));
        strict.seek(s.partition(0), 1000);
        Session.fails("OffsetOutOfRangeException", () -> Session.eventually(
            "an error", () -> !strict.poll(Duration.ofMillis(200)).isEmpty()));
        Consumer<byte[], byte[]> lenient = s.reader();
        lenient.seek(s.partition(0), 1000);
        Session.same(List.of("0", "1"), Session.values(lenient, 2));
    }

    private static void refusals(Session s) throws Exception {
        s.create(1, "cleanup.policy", "compact", "message.timestamp.before.max.ms", "1000",
            "message.timestamp.after.max.ms", "1000");
        Producer<byte[], byte[]> producer = s.producer("enable.idempotence", "false");
        Session.fails("InvalidRecordException",
            () -> Session.done(producer.send(s.record(null, "v"))));
        Session.fails("InvalidTimestampException", () -> Session.done(producer.send(
            new ProducerRecord<>(s.topic, 0, 1000L, Session.bytes("k"), Session.bytes("v")))));
        s.write(producer, "good");
        Session.same(1L, s.end(0));
    }

    private static void unknownTopic(Session s) throws Exception {
        s.create(1);
        Producer<byte[], byte[]> producer = s.producer("max.block.ms", "1000");
        Session.fails("TimeoutException", () -> Session.done(
            producer.send(new ProducerRecord<>(s.topic, 7, null, Session.bytes("v")))));
        Session.fails("InvalidTopicException", () -> Session.done(
            producer.send(new ProducerRecord<>("not a topic", Session.bytes("v")))));
    }

    private static void fetchLimits(Session s) throws Exception {
        s.create(1);
        Producer<byte[], byte[]> producer = s.producer("batch.size", "1");
        for (int i = 0; i < 5; i++) {
            Session.done(producer.send(
                new ProducerRecord<>(s.topic, 0, null, Session.filled(10_000))));
        }
        Consumer<byte[], byte[]> consumer =
            s.reader("fetch.max.bytes", "1000", "max.partition.fetch.bytes", "1000");
        Session.same(5, Session.read(consumer, 5).size());
    }

    private static void longPoll(Session s) throws Exception {
        s.create(1);
        Consumer<byte[], byte[]> consumer = s.reader("fetch.max.wait.ms", "30000");
        Session.check(consumer.poll(Duration.ofMillis(300)).isEmpty(), "records from nowhere");
        s.write(s.producer(), "late");
        long started = System.nanoTime();
        Session.same(List.of("late"), Session.values(consumer, 1));
        long waited = Duration.ofNanos(System.nanoTime() - started).toSeconds();
        Session.check(waited < 25, "the waiting fetch was not woken: " + waited + " s");
    }

    private static void manyPartitions(Session s) throws Exception {
        s.create(40);
        Producer<byte[], byte[]> producer = s.producer("linger.ms", "50");
        List<TopicPartition> all = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            all.add(s.partition(i));
            producer.send(new ProducerRecord<>(s.topic, i, null, Session.bytes("v" + i)));
        }
        producer.flush();
        Consumer<byte[], byte[]> consumer = s.consumer();
        consumer.assign(all);
        consumer.seekToBeginning(all);
        Session.same(40L,
            Session.read(consumer, 40).stream().map(ConsumerRecord::partition).distinct().count());
    }
}
