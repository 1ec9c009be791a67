import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** What the log does with records later: retention, compaction, deletion. */
final class StorageTests {
    static void addTo(Map<String, Main.Test> tests) {
        tests.put("retention", StorageTests::retention);
        tests.put("compaction", StorageTests::compaction);
        tests.put("recompression", StorageTests::recompression);
        tests.put("delete-records", StorageTests::deleteRecords);
        tests.put("special-offsets", StorageTests::specialOffsets);
    }

    private static void retention(Session s) throws Exception {
        s.create(1, "retention.bytes", "1000", "segment.bytes", "1048576");
        Producer<byte[], byte[]> producer = s.producer("linger.ms", "0");
        for (int i = 0; i < 6; i++) {
            Session.done(producer.send(
                new ProducerRecord<>(s.topic, 0, null, Session.filled(500_000))));
        }
        // Two a segment: what is written to stays, all others go, perhaps one after the other.
        Session.eventually("the log starts with its last segment",
            () -> s.offset(0, OffsetSpec.earliest()) == 4);
        Session.same(6L, s.end(0));
        Session.same(4L, Session.read(s.reader(), 2).get(0).offset());
    }

    private static void compaction(Session s) throws Exception {
        s.create(1, "cleanup.policy", "compact", "segment.ms", "200", "delete.retention.ms", "0",
            "min.cleanable.dirty.ratio", "0.01", "max.compaction.lag.ms", "200");
        Producer<byte[], byte[]> producer = s.producer();
        for (int round = 0; round < 4; round++) {
            for (String key : List.of("a", "b", "gone")) {
                Session.done(producer.send(s.record(key, key + round)));
            }
        }
        Session.done(producer.send(s.record("gone", null)));
        Session.eventually("only the last values are left", () -> {
            // A new active segment each time: only what lies before it is cleaned.
            Session.done(producer.send(s.record("roll", "x")));
            Map<String, String> last = new TreeMap<>();
            int count = 0;
            Consumer<byte[], byte[]> consumer = s.reader();
            long end = s.end(0);
            while (consumer.position(s.partition(0)) < end) {
                for (ConsumerRecord<byte[], byte[]> each
                        : consumer.poll(java.time.Duration.ofMillis(200))) {
                    if (!Session.text(each.key()).equals("roll")) {
                        last.put(Session.text(each.key()), Session.text(each.value()));
                        count++;
                    }
                }
            }
            consumer.close();
            return count == 2 && last.equals(Map.of("a", "a3", "b", "b3"));
        });
    }

    private static void recompression(Session s) throws Exception {
        s.create(1, "compression.type", "gzip");
        String value = "compress me ".repeat(100);
        s.write(s.producer("compression.type", "lz4", "linger.ms", "50"), value, value);
        Session.same(List.of(value, value), Session.values(s.reader(), 2));
    }

    private static void deleteRecords(Session s) throws Exception {
        s.create(1);
        s.write(s.producer(), "0", "1", "2", "3", "4");
        long moved = Session.done(s.admin.deleteRecords(
            Map.of(s.partition(0), RecordsToDelete.beforeOffset(3)))
            .lowWatermarks().get(s.partition(0))).lowWatermark();
        Session.same(3L, moved);
        Session.same(3L, s.offset(0, OffsetSpec.earliest()));
        Session.same(List.of("3", "4"), Session.values(s.reader(), 2));
        Session.fails("OffsetOutOfRangeException", () -> Session.done(s.admin.deleteRecords(
            Map.of(s.partition(0), RecordsToDelete.beforeOffset(99))).all()));
    }

    private static void specialOffsets(Session s) throws Exception {
        s.create(1);
        Producer<byte[], byte[]> producer = s.producer();
        long now = System.currentTimeMillis();
        for (long time : List.of(now, now + 5000, now + 1000)) {
            Session.done(producer.send(
                new ProducerRecord<>(s.topic, 0, time, null, Session.bytes("v"))));
        }
        Session.same(0L, s.offset(0, OffsetSpec.earliest()));
        Session.same(3L, s.offset(0, OffsetSpec.latest()));
        Session.same(1L, s.offset(0, OffsetSpec.maxTimestamp()));
        Session.same(1L, s.offset(0, OffsetSpec.forTimestamp(now + 1)));
    }
}
