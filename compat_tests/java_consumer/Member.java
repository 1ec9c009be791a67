// A member of a group on Apache Kafka's own consumer (members/README.md):
// `java Member '{"broker": ..., "group": ..., ...}'`, both protocols.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

public class Member {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static volatile boolean isAskedToEnd = false;

    public static void main(String[] arguments) throws Exception {
        JsonNode asked = JSON.readTree(arguments[0]);
        CountDownLatch closed = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            isAskedToEnd = true;
            try {
                closed.await();
            } catch (InterruptedException ignored) {
                // The process ends either way.
            }
        }));
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings(asked))) {
            subscribe(consumer, asked);
            while (!isAskedToEnd) {
                readOnce(consumer);
            }
        }
        tell(Map.of("e", "closed"));
        closed.countDown();
    }

    private static Properties settings(JsonNode asked) {
        boolean isClassic = asked.get("protocol").asText().equals("classic");
        Properties settings = new Properties();
        settings.put("bootstrap.servers", asked.get("broker").asText());
        settings.put("group.id", asked.get("group").asText());
        settings.put("group.protocol", asked.get("protocol").asText());
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("fetch.max.wait.ms", "50");
        settings.put("metadata.max.age.ms", "500");
        settings.put("reconnect.backoff.max.ms", "500");
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        if (isClassic) {
            String assignor = asked.get("assignor").asText().equals("cooperative")
                ? "CooperativeStickyAssignor" : "RangeAssignor";
            settings.put("session.timeout.ms", asked.get("session_ms").asText());
            settings.put("heartbeat.interval.ms", "300");
            settings.put("partition.assignment.strategy",
                "org.apache.kafka.clients.consumer." + assignor);
        }
        if (asked.hasNonNull("instance")) {
            settings.put("group.instance.id", asked.get("instance").asText());
        }
        return settings;
    }

    private static void subscribe(KafkaConsumer<String, String> consumer, JsonNode asked) {
        Listener listener = new Listener();
        if (asked.hasNonNull("topics")) {
            List<String> topics = new ArrayList<>();
            asked.get("topics").forEach(topic -> topics.add(topic.asText()));
            consumer.subscribe(topics, listener);
        } else if (asked.get("protocol").asText().equals("classic")) {
            consumer.subscribe(Pattern.compile(asked.get("pattern").asText()), listener);
        } else {
            consumer.subscribe(new SubscriptionPattern(asked.get("pattern").asText()), listener);
        }
    }

    private static void readOnce(KafkaConsumer<String, String> consumer) throws Exception {
        try {
            ConsumerRecords<String, String> polled = consumer.poll(Duration.ofMillis(100));
            Map<TopicPartition, OffsetAndMetadata> read = new HashMap<>();
            for (ConsumerRecord<String, String> record : polled) {
                tell(Map.of("e", "record", "t", record.topic(), "p", record.partition(),
                    "o", record.offset(), "v", record.value()));
                read.put(new TopicPartition(record.topic(), record.partition()),
                    new OffsetAndMetadata(record.offset() + 1));
            }
            if (!read.isEmpty()) {
                consumer.commitSync(read, Duration.ofSeconds(30));
                List<Object> offsets = new ArrayList<>();
                read.forEach((partition, offset) -> offsets.add(
                    List.of(partition.topic(), partition.partition(), offset.offset())));
                tell(Map.of("e", "committed", "offsets", offsets));
            }
        } catch (KafkaException failure) {
            tell(Map.of("e", "failed", "why", failure.toString()));
        }
    }

    private static synchronized void tell(Map<String, Object> facts) {
        try {
            System.out.println(JSON.writeValueAsString(facts));
        } catch (java.io.IOException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private static class Listener implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tellPartitions("assigned", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            tellPartitions("revoked", partitions);
        }

        private static void tellPartitions(String event, Collection<TopicPartition> partitions) {
            List<Object> named = new ArrayList<>();
            partitions.forEach(each -> named.add(List.of(each.topic(), each.partition())));
            tell(Map.of("e", event, "partitions", named));
        }
    }
}
