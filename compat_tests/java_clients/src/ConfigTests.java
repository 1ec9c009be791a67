import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConfigEntry.ConfigSource;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;

/** Configs of topics, brokers and groups. */
final class ConfigTests {
    static void addTo(Map<String, Main.Test> tests) {
        tests.put("describe-configs", ConfigTests::describe);
        tests.put("alter-configs", ConfigTests::alter);
        tests.put("broker-configs", ConfigTests::broker);
        tests.put("bad-configs", ConfigTests::bad);
        tests.put("quotas", ConfigTests::quotas);
    }

    private static ConfigResource topic(Session s) {
        return new ConfigResource(ConfigResource.Type.TOPIC, s.topic);
    }

    private static Config read(Session s, ConfigResource of) throws Exception {
        DescribeConfigsOptions all =
            new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        return Session.done(s.admin.describeConfigs(Set.of(of), all).all()).get(of);
    }

    private static void change(Session s, ConfigResource of, OpType how, String key, String value)
            throws Exception {
        Collection<AlterConfigOp> operations =
            List.of(new AlterConfigOp(new ConfigEntry(key, value), how));
        Session.done(s.admin.incrementalAlterConfigs(Map.of(of, operations)).all());
    }

    private static void describe(Session s) throws Exception {
        s.create(1, "retention.ms", "12345");
        Config told = read(s, topic(s));
        ConfigEntry given = told.get("retention.ms");
        Session.same("12345", given.value());
        Session.same(ConfigSource.DYNAMIC_TOPIC_CONFIG, given.source());
        Session.same(ConfigEntry.ConfigType.LONG, given.type());
        Session.check(!given.documentation().isEmpty(), "no documentation");
        ConfigEntry inherited = told.get("max.message.bytes");
        Session.same("message.max.bytes",
            inherited.synonyms().get(inherited.synonyms().size() - 1).name());
        Session.same(ConfigSource.DEFAULT_CONFIG, told.get("segment.ms").source());
        Session.check(told.get("segment.ms").isDefault(), "a default that is none");
        Session.fails("UnknownTopicOrPartitionException", () -> read(s,
            new ConfigResource(ConfigResource.Type.TOPIC, s.topic + "-none")));
    }

    private static void alter(Session s) throws Exception {
        s.create(1);
        change(s, topic(s), OpType.SET, "cleanup.policy", "compact");
        change(s, topic(s), OpType.APPEND, "cleanup.policy", "delete");
        Session.eventually("both policies",
            () -> read(s, topic(s)).get("cleanup.policy").value().equals("compact,delete"));
        change(s, topic(s), OpType.SUBTRACT, "cleanup.policy", "compact");
        Session.eventually("one policy",
            () -> read(s, topic(s)).get("cleanup.policy").value().equals("delete"));
        change(s, topic(s), OpType.DELETE, "cleanup.policy", "");
        Session.eventually("the default",
            () -> read(s, topic(s)).get("cleanup.policy").isDefault());
    }

    private static void broker(Session s) throws Exception {
        String id = Session.done(s.admin.describeCluster().nodes()).iterator().next().idString();
        ConfigResource one = new ConfigResource(ConfigResource.Type.BROKER, id);
        ConfigResource every = new ConfigResource(ConfigResource.Type.BROKER, "");
        String key = "log.cleaner.delete.retention.ms";
        change(s, every, OpType.SET, key, "1111111");
        Session.eventually("the default is seen",
            () -> read(s, one).get(key).source() == ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG);
        change(s, one, OpType.SET, key, "2222222");
        Session.eventually("the broker's own is seen",
            () -> read(s, one).get(key).value().equals("2222222"));
        change(s, one, OpType.DELETE, key, "");
        change(s, every, OpType.DELETE, key, "");
        Session.eventually("both are gone", () -> read(s, one).get(key).isDefault());
    }

    private static void bad(Session s) throws Exception {
        s.create(1);
        Map<String, String> refused = Map.of(
            "no.such.key", "1", "retention.ms", "soon", "cleanup.policy", "burn",
            "max.message.bytes", "-1", "compression.type", "rar");
        for (Map.Entry<String, String> each : refused.entrySet()) {
            Session.fails("InvalidConfigurationException",
                () -> change(s, topic(s), OpType.SET, each.getKey(), each.getValue()));
        }
        Session.fails("InvalidConfigurationException",
            () -> change(s, topic(s), OpType.APPEND, "retention.ms", "1"));
        Session.same("compression.type", read(s, topic(s)).get("compression.type").name());
    }

    private static void quotas(Session s) throws Exception {
        ClientQuotaEntity who = new ClientQuotaEntity(Map.of("client-id", s.topic));
        Session.done(s.admin.alterClientQuotas(List.of(new ClientQuotaAlteration(
            who, List.of(new ClientQuotaAlteration.Op("producer_byte_rate", 1e9))))).all());
        Session.eventually("the quota is told", () -> Session.done(
            s.admin.describeClientQuotas(ClientQuotaFilter.all()).entities()).containsKey(who));
        Session.done(s.admin.alterClientQuotas(List.of(new ClientQuotaAlteration(
            who, List.of(new ClientQuotaAlteration.Op("producer_byte_rate", null))))).all());
        Session.eventually("the quota is gone", () -> !Session.done(
            s.admin.describeClientQuotas(ClientQuotaFilter.all()).entities()).containsKey(who));
    }
}
