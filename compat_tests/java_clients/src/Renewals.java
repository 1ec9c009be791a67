import java.io.FileReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.LongSerializer;

/**
 * {@code Renewals PROPERTIES TOPIC}: records there and back, one after the other, until producer
 * and consumer have each authenticated anew three times on the connections that they have.
 */
final class Renewals {
    private static final int RENEWALS = 3;
    private static final long PATIENCE_MS = 60_000;

    public static void main(String[] arguments) throws Exception {
        Properties given = new Properties();
        try (FileReader file = new FileReader(arguments[0], StandardCharsets.UTF_8)) {
            given.load(file);
        }
        TopicPartition partition = new TopicPartition(arguments[1], 0);
        LongSerializer plain = new LongSerializer();
        LongDeserializer read = new LongDeserializer();
        try (KafkaProducer<Long, Long> producer = new KafkaProducer<>(given, plain, plain);
                KafkaConsumer<Long, Long> consumer = new KafkaConsumer<>(given, read, read)) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = System.currentTimeMillis() + PATIENCE_MS;
            long sent = 0;
            long got = 0;
            boolean isDone = false;
            while (!isDone || got < sent) {
                if (System.currentTimeMillis() > end) {
                    throw new IllegalStateException("only " + renewals(producer.metrics()) + " and "
                            + renewals(consumer.metrics()) + " times anew, " + got + " of " + sent);
                }
                if (!isDone) {
                    producer.send(new ProducerRecord<>(arguments[1], sent++)).get();
                }
                for (ConsumerRecord<Long, Long> record : consumer.poll(Duration.ofMillis(50))) {
                    check(record.value() == got++, "record " + record.value() + " is not next");
                }
                isDone = renewals(producer.metrics()) >= RENEWALS
                        && renewals(consumer.metrics()) >= RENEWALS;
            }
            checkThatNothingFailed(producer.metrics());
            checkThatNothingFailed(consumer.metrics());
        } catch (Exception failed) {
            for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
                System.out.println(cause);
            }
            System.exit(1);
        }
    }

    private static void checkThatNothingFailed(Map<MetricName, ? extends Metric> told) {
        check(total(told, "failed-reauthentication-total") == 0, "it failed");
        check(total(told, "connection-close-total") == 0, "a connection was closed");
    }

    private static double renewals(Map<MetricName, ? extends Metric> told) {
        return total(told, "successful-reauthentication-total");
    }

    private static double total(Map<MetricName, ? extends Metric> told, String name) {
        return told.entrySet().stream()
                .filter(one -> one.getKey().name().equals(name))
                .mapToDouble(one -> (Double) one.getValue().metricValue())
                .sum();
    }

    private static void check(boolean isSo, String otherwise) {
        if (!isSo) {
            throw new IllegalStateException(otherwise);
        }
    }
}
