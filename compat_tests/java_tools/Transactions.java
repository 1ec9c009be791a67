// Transactions through Kafka's Java client (KIP-890): `Transactions HOST:PORT TEST TOPIC` exits
// with 0, or says what was wrong.

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Transactions {
    static final int FIFTY = 50;
    static String broker;
    static String topic;

    public static void main(String[] arguments) throws Exception {
        broker = arguments[0];
        topic = arguments[2];
        switch (arguments[1]) {
            case "fencing" -> fencing();
            case "timeout" -> timeout();
            case "fifty" -> fifty();
            case "copy" -> copy();
            default -> throw new IllegalArgumentException(arguments[1]);
        }
    }

    static void check(boolean ok, String what) {
        if (!ok) {
            System.out.println(what);
            System.exit(1);
        }
    }

    static void create(String name, int partitions) throws Exception {
        try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", broker))) {
            admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
        }
    }

    static KafkaProducer<String, String> producer(Map<String, Object> more) {
        Map<String, Object> settings = new HashMap<>(more);
        settings.put("bootstrap.servers", broker);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    static KafkaProducer<String, String> transactional(int timeoutMs) {
        KafkaProducer<String, String> client = producer(
            Map.of("transactional.id", "txn-" + topic, "transaction.timeout.ms", timeoutMs));
        client.initTransactions();
        return client;
    }

    static KafkaConsumer<String, String> consumer(String isolation) {
        return new KafkaConsumer<>(
            Map.of("bootstrap.servers", broker, "group.id", "group-" + topic,
                "enable.auto.commit", false, "isolation.level", isolation),
            new StringDeserializer(), new StringDeserializer());
    }

    static void send(KafkaProducer<String, String> client, String name, int partition, String value)
        throws Exception {
        client.send(new ProducerRecord<>(name, partition, null, value)).get();
    }

    static List<ConsumerRecord<String, String>> poll(KafkaConsumer<String, String> client, int count) {
        List<ConsumerRecord<String, String>> got = new ArrayList<>();
        long giveUpAt = System.nanoTime() + 30_000_000_000L;
        while (got.size() < count && System.nanoTime() < giveUpAt) {
            client.poll(Duration.ofMillis(200)).forEach(got::add);
        }
        check(got.size() == count, got.size() + " records instead of " + count);
        return got;
    }

    // Every record of the topic, joined by partition.
    static Map<Integer, String> read(String name, int partitions, String isolation, int count) {
        Map<Integer, String> found = new TreeMap<>();
        try (KafkaConsumer<String, String> client = consumer(isolation)) {
            List<TopicPartition> all = new ArrayList<>();
            for (int i = 0; i < partitions; i++) {
                all.add(new TopicPartition(name, i));
            }
            client.assign(all);
            client.seekToBeginning(all);
            for (ConsumerRecord<String, String> record : poll(client, count)) {
                found.merge(record.partition(), record.value() + " ", String::concat);
            }
        }
        return found;
    }

    static void fencing() throws Exception {
        create(topic, 1);
        KafkaProducer<String, String> first = transactional(60_000);
        first.beginTransaction();
        send(first, topic, 0, "zombie");
        KafkaProducer<String, String> second = transactional(60_000);
        second.beginTransaction();
        send(second, topic, 0, "living");
        second.commitTransaction();
        try {
            first.commitTransaction();
            check(false, "the first may commit");
        } catch (KafkaException expected) {
            first.close(Duration.ZERO);
        }
        second.close();
        check(read(topic, 1, "read_committed", 1).get(0).equals("living "), "not only the living");
        check(read(topic, 1, "read_uncommitted", 2).get(0).equals("zombie living "), "not both");
    }

    static void timeout() throws Exception {
        create(topic, 1);
        KafkaProducer<String, String> slow = transactional(1_000);
        slow.beginTransaction();
        send(slow, topic, 0, "too slow");
        try (KafkaProducer<String, String> plain = producer(Map.of())) {
            send(plain, topic, 0, "plain");
        }
        check(read(topic, 1, "read_committed", 1).get(0).equals("plain "), "not only the plain one");
        try {
            slow.commitTransaction();
            check(false, "it was committed after all");
        } catch (KafkaException expected) {
            slow.close(Duration.ZERO);
        }
    }

    static void fifty() throws Exception {
        create(topic, FIFTY);
        try (KafkaProducer<String, String> client = transactional(60_000)) {
            for (int turn = 0; turn < 6; turn++) {
                client.beginTransaction();
                for (int i = 0; i < 2 * FIFTY; i++) {
                    client.send(new ProducerRecord<>(topic, i % FIFTY, null, "" + turn));
                }
                client.flush();
                if (turn % 3 == 2) {
                    client.abortTransaction();
                } else {
                    client.commitTransaction();
                }
            }
        }
        Map<Integer, String> committed = read(topic, FIFTY, "read_committed", 8 * FIFTY);
        Map<Integer, String> everything = read(topic, FIFTY, "read_uncommitted", 12 * FIFTY);
        for (int i = 0; i < FIFTY; i++) {
            check(committed.get(i).equals("0 0 1 1 3 3 4 4 "), i + ": " + committed.get(i));
            check(everything.get(i).equals("0 0 1 1 2 2 3 3 4 4 5 5 "), i + ": " + everything.get(i));
        }
    }

    // Every third transaction is aborted; the last of each life is left open, as by a crash.
    static void copy() throws Exception {
        create(topic, 1);
        create(topic + "-out", 1);
        try (KafkaProducer<String, String> plain = producer(Map.of())) {
            for (int i = 0; i < 60; i++) {
                plain.send(new ProducerRecord<>(topic, 0, null, "" + i));
            }
        }
        copySome(6);
        copySome(6);
        StringBuilder expected = new StringBuilder();
        for (int i = 0; i < 40; i++) {
            expected.append(i).append(' ');
        }
        String got = read(topic + "-out", 1, "read_committed", 40).get(0);
        check(got.contentEquals(expected), got);
    }

    static void copySome(int turns) throws Exception {
        TopicPartition where = new TopicPartition(topic, 0);
        KafkaProducer<String, String> client = transactional(60_000);
        try (KafkaConsumer<String, String> source = consumer("read_committed")) {
            source.assign(Collections.singleton(where));
            for (int turn = 0; turn <= turns; turn++) {
                OffsetAndMetadata committed = source.committed(Set.of(where)).get(where);
                long at = committed == null ? 0 : committed.offset();
                source.seek(where, at);
                client.beginTransaction();
                List<ConsumerRecord<String, String>> got = new ArrayList<>();
                while (got.size() < 5) {
                    source.poll(Duration.ofMillis(200)).forEach(got::add);
                }
                for (ConsumerRecord<String, String> record : got.subList(0, 5)) {
                    client.send(new ProducerRecord<>(topic + "-out", 0, null, record.value()));
                }
                Map<TopicPartition, OffsetAndMetadata> next =
                    Map.of(where, new OffsetAndMetadata(at + 5));
                client.sendOffsetsToTransaction(next, source.groupMetadata());
                if (turn == turns) {
                    client.flush();
                    client.close(Duration.ZERO);
                } else if (turn % 3 == 2) {
                    client.abortTransaction();
                } else {
                    client.commitTransaction();
                }
            }
        }
    }

    private Transactions() { }
}
