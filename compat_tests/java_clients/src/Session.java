import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** What one test works with: the broker, a topic of its own, and clients that end with it. */
final class Session implements AutoCloseable {
    static final long PATIENCE_MS = 60_000;
    /** How many the server has; of what a test makes each has a replica. */
    static final int NODES = Integer.parseInt(System.getenv().getOrDefault("COMPAT_NODES", "1"));

    final String broker;
    final String topic;
    final Admin admin;
    private final Deque<AutoCloseable> open = new ArrayDeque<>();

    Session(String broker, String topic) {
        this.broker = broker;
        this.topic = topic;
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", broker);
        admin = Admin.create(settings);
        open.push(admin);
    }

    @Override
    public void close() throws Exception {
        while (!open.isEmpty()) {
            open.pop().close();
        }
    }

    TopicPartition partition(int index) {
        return new TopicPartition(topic, index);
    }

    /** Settings as pairs: {@code "acks", "1", "linger.ms", "0"}. */
    static Map<String, Object> settings(String... pairs) {
        Map<String, Object> settings = new HashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            settings.put(pairs[i], pairs[i + 1]);
        }
        return settings;
    }

    Producer<byte[], byte[]> producer(String... pairs) {
        Map<String, Object> settings = settings(pairs);
        settings.put("bootstrap.servers", broker);
        Producer<byte[], byte[]> producer =
            new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        open.push(() -> producer.close(Duration.ofSeconds(5)));
        return producer;
    }

    Consumer<byte[], byte[]> consumer(String... pairs) {
        Map<String, Object> settings = settings(pairs);
        settings.put("bootstrap.servers", broker);
        settings.putIfAbsent("auto.offset.reset", "earliest");
        settings.putIfAbsent("enable.auto.commit", "false");
        Consumer<byte[], byte[]> consumer = new KafkaConsumer<>(
            settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        open.push(consumer);
        return consumer;
    }

    /** A consumer of the topic's first partition, from its beginning. */
    Consumer<byte[], byte[]> reader(String... pairs) {
        Consumer<byte[], byte[]> consumer = consumer(pairs);
        consumer.assign(List.of(partition(0)));
        consumer.seekToBeginning(consumer.assignment());
        return consumer;
    }

    void create(int partitions, String... configs) throws Exception {
        createNamed(topic, partitions, configs);
    }

    /** Create a topic and wait until every partition has a leader that serves. */
    void createNamed(String name, int partitions, String... configs) throws Exception {
        Map<String, String> given = new HashMap<>();
        settings(configs).forEach((key, value) -> given.put(key, value.toString()));
        NewTopic asked = new NewTopic(name, Optional.of(partitions), Optional.empty());
        done(admin.createTopics(List.of(asked.configs(given))).all());
        Map<TopicPartition, OffsetSpec> all = new HashMap<>();
        for (int i = 0; i < partitions; i++) {
            all.put(new TopicPartition(name, i), OffsetSpec.latest());
        }
        eventually("leaders", () -> {
            try {
                return done(admin.listOffsets(all).all()).size() == partitions;
            } catch (RetriableException notYet) {
                return false;
            }
        });
    }

    interface Condition {
        boolean holds() throws Exception;
    }

    static void eventually(String what, Condition condition) throws Exception {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS);
        while (!condition.holds()) {
            check(System.nanoTime() < end, "never: " + what);
            Thread.sleep(20);
        }
    }

    /** The result of a call; its failure is the cause itself, not what wraps it. */
    static <T> T done(Future<T> future) throws Exception {
        try {
            return future.get(PATIENCE_MS, TimeUnit.MILLISECONDS);
        } catch (ExecutionException wrapped) {
            throw wrapped.getCause() instanceof Exception cause ? cause : wrapped;
        }
    }

    static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    static void same(Object expected, Object got) {
        check(expected.equals(got), "expected " + expected + ", got " + got);
    }

    interface Action {
        void run() throws Exception;
    }

    /** The action must end with a failure of that kind, or of one of several: {@code A|B}. */
    static void fails(String kinds, Action action) throws Exception {
        List<String> allowed = List.of(kinds.split("\\|"));
        try {
            action.run();
        } catch (Exception problem) {
            for (Throwable each = problem; each != null; each = each.getCause()) {
                if (allowed.contains(each.getClass().getSimpleName())) {
                    return;
                }
            }
            throw problem;
        }
        throw new AssertionError("expected " + kinds + ", but it went well");
    }

    ProducerRecord<byte[], byte[]> record(String key, String value) {
        return new ProducerRecord<>(topic, 0, bytes(key), bytes(value));
    }

    void write(Producer<byte[], byte[]> producer, String... values) throws Exception {
        List<Future<?>> sent = new ArrayList<>();
        for (String value : values) {
            sent.add(producer.send(record("key", value)));
        }
        for (Future<?> each : sent) {
            done(each);
        }
    }

    static List<ConsumerRecord<byte[], byte[]>> read(Consumer<byte[], byte[]> from, int count) {
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS);
        while (got.size() < count) {
            check(System.nanoTime() < end, got.size() + " of " + count + " records came");
            from.poll(Duration.ofMillis(200)).forEach(got::add);
        }
        same(count, got.size());
        return got;
    }

    static List<String> values(Consumer<byte[], byte[]> from, int count) {
        return read(from, count).stream().map(each -> text(each.value())).toList();
    }

    long end(int partition) throws Exception {
        return offset(partition, OffsetSpec.latest());
    }

    long offset(int partition, OffsetSpec spec) throws Exception {
        TopicPartition asked = partition(partition);
        return done(admin.listOffsets(Map.of(asked, spec)).partitionResult(asked)).offset();
    }

    static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    static byte[] filled(int size) {
        byte[] value = new byte[size];
        Arrays.fill(value, (byte) 'x');
        return value;
    }
}
