import java.io.FileReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** {@code Login PROPERTIES TOPIC}: twenty records there and back, as the properties say. */
final class Login {
    private static final int RECORDS = 20;
    private static final long PATIENCE_MS = 30_000;

    public static void main(String[] arguments) throws Exception {
        Properties given = new Properties();
        try (FileReader file = new FileReader(arguments[0], StandardCharsets.UTF_8)) {
            given.load(file);
        }
        given.put("max.block.ms", "10000");
        try {
            write(given, arguments[1]);
            read(given, arguments[1]);
        } catch (Exception failed) {
            for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
                System.out.println(cause);
            }
            System.exit(1);
        }
    }

    private static void write(Properties given, String topic) throws Exception {
        ByteArraySerializer plain = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(given, plain, plain)) {
            for (int n = 0; n < RECORDS; n++) {
                producer.send(new ProducerRecord<>(topic, new byte[] {(byte) n})).get();
            }
        }
    }

    private static void read(Properties given, String topic) {
        ByteArrayDeserializer plain = new ByteArrayDeserializer();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(given, plain, plain)) {
            TopicPartition partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = System.currentTimeMillis() + PATIENCE_MS;
            int got = 0;
            while (got < RECORDS) {
                got += consumer.poll(Duration.ofMillis(200)).count();
                if (System.currentTimeMillis() > end) {
                    throw new IllegalStateException("only " + got + " records came");
                }
            }
        }
    }
}
