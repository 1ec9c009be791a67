// An idempotent producer on Apache Kafka's own client: `java Load BROKER TOPIC PARTITIONS PER_SECOND`.

import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Load {
    private static volatile boolean isAskedToEnd = false;

    public static void main(String[] arguments) throws Exception {
        CountDownLatch closed = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            isAskedToEnd = true;
            try {
                closed.await();
            } catch (InterruptedException ignored) {
                // The process ends either way.
            }
        }));
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings(arguments[0]))) {
            String topic = arguments[1];
            produce(producer, topic, Integer.parseInt(arguments[2]), Integer.parseInt(arguments[3]));
        }
        say("closed");
        closed.countDown();
    }

    private static Properties settings(String broker) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", broker);
        settings.put("key.serializer", StringSerializer.class.getName());
        settings.put("value.serializer", StringSerializer.class.getName());
        return settings;
    }

    private static void produce(
            KafkaProducer<String, String> producer, String topic, int partitions, int perSecond)
            throws InterruptedException {
        double perNanosecond = perSecond / 1e9;
        long began = System.nanoTime();
        for (long count = 0; !isAskedToEnd; ) {
            if (count < (System.nanoTime() - began) * perNanosecond) {
                send(producer, topic, (int) (count % partitions), count / partitions);
                count++;
            } else {
                Thread.sleep(2);
            }
        }
    }

    private static void send(
            KafkaProducer<String, String> producer, String topic, int partition, long number) {
        say("sent " + partition + " " + number);
        producer.send(
            new ProducerRecord<>(topic, partition, null, Long.toString(number)),
            (done, problem) -> say(problem == null
                ? "acked " + partition + " " + number + " " + done.offset() + " "
                    + System.currentTimeMillis()
                : "failed " + partition + " " + number + " " + problem));
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
