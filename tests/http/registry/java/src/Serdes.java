// Confluent's own serializers and client for Java, unmodified, against the registry of a node.
//
//     java Serdes BOOTSTRAP TEST TOPIC REGISTRY
//
// Whatever is not as it should be ends it with an exception.

import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.SchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.rest.entities.SchemaReference;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

public class Serdes {
    static final String HEAD = "{\"type\": \"record\", \"name\": \"Order\", \"fields\": [";
    static final String ID = "{\"name\": \"id\", \"type\": \"int\"}";
    static final String FIRST = HEAD + ID + "]}";
    static final String SECOND =
        HEAD + ID + ", {\"name\": \"who\", \"type\": \"string\", \"default\": \"nobody\"}]}";
    static final String UNFIT = HEAD + ID + ", {\"name\": \"paid\", \"type\": \"boolean\"}]}";

    final String bootstrap;
    final String topic;
    final String registry;

    Serdes(String bootstrap, String topic, String registry) {
        this.bootstrap = bootstrap;
        this.topic = topic;
        this.registry = registry;
    }

    public static void main(String[] given) throws Exception {
        Serdes serdes = new Serdes(given[0], given[2], given[3]);
        switch (given[1]) {
            case "round" -> serdes.round();
            case "evolution" -> serdes.evolution();
            case "client" -> serdes.client();
            default -> throw new IllegalArgumentException(given[1]);
        }
    }

    // Keys and values of each schema are read as they were written.
    void round() throws Exception {
        Schema schema = new Schema.Parser().parse(SECOND);
        try (KafkaProducer<Object, Object> producer = producer(Map.of())) {
            for (int n = 0; n < 10; n++) {
                GenericRecord order =
                    new GenericRecordBuilder(schema).set("id", n).set("who", "é" + n).build();
                producer.send(new ProducerRecord<>(topic, "key" + n, order)).get();
            }
            producer.send(new ProducerRecord<>(topic, "gone", null)).get();
        }
        List<ConsumerRecord<Object, Object>> found = read(11, Map.of());
        for (int n = 0; n < 10; n++) {
            GenericRecord order = (GenericRecord) found.get(n).value();
            same(found.get(n).key().toString(), "key" + n);
            same(order.get("id"), n);
            same(order.get("who").toString(), "é" + n);
        }
        same(found.get(10).value(), null);
    }

    // A schema grows, its readers go on; one that would break them is refused.
    void evolution() throws Exception {
        Schema first = new Schema.Parser().parse(FIRST);
        Schema second = new Schema.Parser().parse(SECOND);
        try (KafkaProducer<Object, Object> producer = producer(Map.of())) {
            producer.send(new ProducerRecord<>(topic, "1", record(first, 1))).get();
            producer.send(new ProducerRecord<>(topic, "2", record(second, 2))).get();
            try {
                GenericRecord unfit =
                    new GenericRecordBuilder(new Schema.Parser().parse(UNFIT))
                        .set("id", 3).set("paid", true).build();
                producer.send(new ProducerRecord<>(topic, "3", unfit)).get();
                throw new AssertionError("what nobody could read was taken");
            } catch (org.apache.kafka.common.errors.SerializationException
                     | org.apache.kafka.common.errors.InvalidConfigurationException refused) {
                same(((RestClientException) refused.getCause()).getErrorCode(), 409);
            }
        }
        // Without registering: as the latest that is there.
        Map<String, Object> latest =
            Map.of("auto.register.schemas", false, "use.latest.version", true);
        try (KafkaProducer<Object, Object> producer = producer(latest)) {
            producer.send(new ProducerRecord<>(topic, "4", record(second, 4))).get();
        }
        List<ConsumerRecord<Object, Object>> found = read(3, Map.of());
        same(((GenericRecord) found.get(0).value()).getSchema(), first);
        same(((GenericRecord) found.get(1).value()).getSchema(), second);
        // With the latest as its readers' schema the first has the default.
        found = read(3, Map.of("use.latest.version", true));
        same(((GenericRecord) found.get(0).value()).get("who").toString(), "nobody");
    }

    void client() throws Exception {
        SchemaRegistryClient client = new CachedSchemaRegistryClient(List.of(registry), 100);
        String subject = topic + "-value";
        AvroSchema first = new AvroSchema(FIRST);
        int id = client.register(subject, first);
        same(client.register(subject, new AvroSchema(FIRST), true), id);
        same(client.getId(subject, first), id);
        same(client.getVersion(subject, first), 1);
        same(client.getSchemaById(id).canonicalString(), first.canonicalString());
        same(client.getLatestSchemaMetadata(subject).getId(), id);
        same(client.getAllVersions(subject), List.of(1));
        same(client.getAllSubjects().contains(subject), true);
        same(client.getAllContexts().contains("."), true);
        same(client.testCompatibility(subject, new AvroSchema(SECOND)), true);
        same(client.testCompatibility(subject, new AvroSchema(UNFIT)), false);
        same(client.testCompatibilityVerbose(subject, new AvroSchema(UNFIT)).isEmpty(), false);
        for (String level : List.of("NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD",
                                    "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE")) {
            same(client.updateCompatibility(subject, level), level);
            same(client.getCompatibility(subject), level);
        }
        same(client.testCompatibility(subject, new AvroSchema(UNFIT)), false);
        client.updateCompatibility(subject, "FORWARD");
        same(client.testCompatibility(subject, new AvroSchema(UNFIT)), true);
        same(client.setMode("READONLY", subject), "READONLY");
        same(client.getMode(subject), "READONLY");
        fails(42205, () -> client.register(subject, new AvroSchema(SECOND)));
        client.setMode("READWRITE", subject);
        // A schema of another subject's.
        String whole = "{\"type\": \"record\", \"name\": \"Bill\", \"fields\": ["
            + "{\"name\": \"order\", \"type\": \"Order\"}]}";
        List<SchemaReference> references = List.of(new SchemaReference("Order", subject, 1));
        AvroSchema bill = new AvroSchema(whole, references, Map.of("Order", FIRST), null);
        int billed = client.register(topic + "-bill", bill);
        CachedSchemaRegistryClient other = new CachedSchemaRegistryClient(List.of(registry), 100,
            List.of(new io.confluent.kafka.schemaregistry.avro.AvroSchemaProvider()), Map.of());
        same(((AvroSchema) other.getSchemaById(billed)).references(), references);
        fails(42206, () -> client.deleteSchemaVersion(subject, "1"));
        same(client.deleteSubject(topic + "-bill"), List.of(1));
        same(client.deleteSubject(topic + "-bill", true), List.of(1));
        same(client.deleteSubject(subject), List.of(1));
        same(client.deleteSubject(subject, true), List.of(1));
        fails(40401, () -> client.getAllVersions(subject));
    }

    interface Asked {
        void ask() throws Exception;
    }

    static void fails(int code, Asked asked) throws Exception {
        try {
            asked.ask();
        } catch (RestClientException refused) {
            same(refused.getErrorCode(), code);
            return;
        }
        throw new AssertionError("it was not refused with " + code);
    }

    static GenericRecord record(Schema schema, int id) {
        return new GenericRecordBuilder(schema).set("id", id).build();
    }

    KafkaProducer<Object, Object> producer(Map<String, Object> more) {
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap,
            "schema.registry.url", registry,
            "key.serializer", "io.confluent.kafka.serializers.KafkaAvroSerializer",
            "value.serializer", "io.confluent.kafka.serializers.KafkaAvroSerializer"));
        settings.putAll(more);
        return new KafkaProducer<>(settings);
    }

    List<ConsumerRecord<Object, Object>> read(int count, Map<String, Object> more) {
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap,
            "schema.registry.url", registry,
            "key.deserializer", "io.confluent.kafka.serializers.KafkaAvroDeserializer",
            "value.deserializer", "io.confluent.kafka.serializers.KafkaAvroDeserializer"));
        settings.putAll(more);
        List<ConsumerRecord<Object, Object>> found = new ArrayList<>();
        try (KafkaConsumer<Object, Object> consumer = new KafkaConsumer<>(settings)) {
            TopicPartition where = new TopicPartition(topic, 0);
            consumer.assign(List.of(where));
            consumer.seekToBeginning(List.of(where));
            while (found.size() < count) {
                consumer.poll(Duration.ofSeconds(1)).forEach(found::add);
            }
        }
        return found;
    }

    static void same(Object found, Object wanted) {
        if (!java.util.Objects.equals(found, wanted)) {
            throw new AssertionError(found + " is not " + wanted);
        }
    }
}
