import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.ShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Share groups through Kafka's share consumer: {@code ShareMain HOST:PORT} reads lines of
 * {@code TEST TOPIC} and answers each with {@code ok} or with what was wrong, on one line.
 */
final class ShareMain {
    private static final long PATIENCE_MS = 60_000;
    private static final Duration A_WHILE = Duration.ofMillis(500);

    private final String broker;
    private final String topic;

    private ShareMain(String broker, String topic) {
        this.broker = broker;
        this.topic = topic;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader asked =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            String[] words = line.split(" ");
            System.out.println(outcome(words[0], new ShareMain(arguments[0], words[1])));
        }
    }

    private static String outcome(String name, ShareMain test) {
        try {
            switch (name) {
                case "implicit" -> test.implicit();
                case "explicit" -> test.explicit();
                case "renewed" -> test.renewed();
                case "limited" -> test.limited();
                case "two" -> test.two();
                default -> throw new IllegalArgumentException("no test " + name);
            }
            return "ok";
        } catch (Throwable problem) {
            StringWriter told = new StringWriter();
            problem.printStackTrace(new PrintWriter(told));
            return told.toString().strip().replace("\n", " | ");
        }
    }

    /** Accepted by the next poll, or a commit; nothing comes twice. */
    private void implicit() throws Exception {
        filled(50);
        try (ShareConsumer<String, String> first = member()) {
            check(values(read(first, 50)).equals(numbers(50)), "not all, in their order");
            committed(first);
        }
        write(List.of("late"));
        try (ShareConsumer<String, String> second = member()) {
            check(values(read(second, 1)).equals(List.of("late")), "what was accepted came again");
        }
    }

    /** Released: again, a second time. Rejected and accepted: not again. */
    private void explicit() throws Exception {
        filled(3);
        try (ShareConsumer<String, String> one = member("share.acknowledgement.mode", "explicit")) {
            List<ConsumerRecord<String, String>> records = read(one, 3);
            one.acknowledge(records.get(0), AcknowledgeType.RELEASE);
            one.acknowledge(records.get(1), AcknowledgeType.REJECT);
            one.acknowledge(records.get(2), AcknowledgeType.ACCEPT);
            committed(one);
            List<ConsumerRecord<String, String>> again = read(one, 1);
            check(values(again).equals(List.of("0")), "another one came again: " + values(again));
            check(again.get(0).deliveryCount().equals(Optional.of((short) 2)), "not a second time");
            one.acknowledge(again.get(0), AcknowledgeType.ACCEPT);
            committed(one);
            check(one.poll(A_WHILE).isEmpty(), "something came again");
        }
    }

    /** A renewed record stays with its consumer, and may be accepted then. */
    private void renewed() throws Exception {
        filled(1);
        try (ShareConsumer<String, String> one = member("share.acknowledgement.mode", "explicit")) {
            ConsumerRecord<String, String> record = read(one, 1).get(0);
            one.acknowledge(record, AcknowledgeType.RENEW);
            committed(one);
            one.poll(A_WHILE);
            one.acknowledge(record, AcknowledgeType.ACCEPT);
            committed(one);
            check(one.acquisitionLockTimeoutMs().equals(Optional.of(30_000)), "another lock");
        }
    }

    /** With a record limit no poll brings more, whatever the batches. */
    private void limited() throws Exception {
        filled(20);
        String[] settings = {"share.acquire.mode", "record_limit", "max.poll.records", "7"};
        try (ShareConsumer<String, String> one = member(settings)) {
            List<String> found = new ArrayList<>();
            long until = System.currentTimeMillis() + PATIENCE_MS;
            while (found.size() < 20 && System.currentTimeMillis() < until) {
                int before = found.size();
                one.poll(A_WHILE).forEach(record -> found.add(record.value()));
                check(found.size() - before <= 7, (found.size() - before) + " at once");
            }
            check(found.equals(numbers(20)), "not all: " + found);
        }
    }

    /** What one of two members has, the other does not get. */
    private void two() throws Exception {
        filled(100);
        Map<String, Integer> found = new HashMap<>();
        try (ShareConsumer<String, String> one = member();
                ShareConsumer<String, String> other = member()) {
            long until = System.currentTimeMillis() + PATIENCE_MS;
            while (found.size() < 100 && System.currentTimeMillis() < until) {
                for (ShareConsumer<String, String> member : List.of(one, other)) {
                    member.poll(Duration.ofMillis(100))
                        .forEach(record -> found.merge(record.value(), 1, Integer::sum));
                }
            }
        }
        check(found.size() == 100, found.size() + " of 100 came");
        check(found.values().stream().allMatch(count -> count == 1), "some came twice: " + found);
    }

    private void filled(int count) throws Exception {
        try (Admin admin = Admin.create(settings())) {
            NewTopic wanted = new NewTopic(topic, Optional.of(1), Optional.empty());
            admin.createTopics(List.of(wanted)).all().get();
            ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, topic);
            AlterConfigOp start = new AlterConfigOp(
                new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(group, List.of(start))).all().get();
        }
        write(numbers(count));
    }

    private void write(List<String> values) throws Exception {
        try (Producer<String, String> producer =
                new KafkaProducer<>(settings(), new StringSerializer(), new StringSerializer())) {
            for (String value : values) {
                producer.send(new ProducerRecord<>(topic, value)).get();
            }
        }
    }

    private ShareConsumer<String, String> member(String... pairs) {
        Map<String, Object> settings = settings();
        settings.put("group.id", topic);
        for (int at = 0; at < pairs.length; at += 2) {
            settings.put(pairs[at], pairs[at + 1]);
        }
        ShareConsumer<String, String> member = new KafkaShareConsumer<>(
            settings, new StringDeserializer(), new StringDeserializer());
        member.subscribe(List.of(topic));
        return member;
    }

    private Map<String, Object> settings() {
        return new HashMap<>(Map.of("bootstrap.servers", broker));
    }

    private List<ConsumerRecord<String, String>> read(
            ShareConsumer<String, String> member, int count) {
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        long until = System.currentTimeMillis() + PATIENCE_MS;
        while (found.size() < count && System.currentTimeMillis() < until) {
            member.poll(A_WHILE).forEach(found::add);
        }
        check(found.size() == count, found.size() + " records instead of " + count);
        return found;
    }

    private static void committed(ShareConsumer<String, String> member) {
        for (Optional<KafkaException> failed : member.commitSync().values()) {
            failed.ifPresent(problem -> {
                throw problem;
            });
        }
    }

    private static List<String> values(List<ConsumerRecord<String, String>> records) {
        return records.stream().map(ConsumerRecord::value).collect(Collectors.toList());
    }

    private static List<String> numbers(int count) {
        return IntStream.range(0, count).mapToObj(Integer::toString).collect(Collectors.toList());
    }

    private static void check(boolean isTrue, String otherwise) {
        if (!isTrue) {
            throw new AssertionError(otherwise);
        }
    }
}
