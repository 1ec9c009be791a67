import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;

/**
 * Behaviours through Kafka's Java clients: {@code Main HOST:PORT} reads lines of
 * {@code TEST TOPIC} and answers each with {@code ok} or with what was wrong, on one line.
 */
final class Main {
    interface Test {
        void run(Session session) throws Exception;
    }

    private static final Map<String, Test> TESTS = new TreeMap<>();

    public static void main(String[] arguments) throws Exception {
        RecordTests.addTo(TESTS);
        StorageTests.addTo(TESTS);
        AdminTests.addTo(TESTS);
        ConfigTests.addTo(TESTS);
        GroupTests.addTo(TESTS);
        TransactionTests.addTo(TESTS);
        BufferedReader asked =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            String[] words = line.split(" ");
            System.out.println(outcome(words[0], new Session(arguments[0], words[1])));
        }
    }

    private static String outcome(String name, Session session) {
        try (session) {
            Test test = TESTS.get(name);
            if (test == null) {
                return "no test " + name;
            }
            test.run(session);
            return "ok";
        } catch (Throwable problem) {
            StringWriter told = new StringWriter();
            problem.printStackTrace(new PrintWriter(told));
            return told.toString().strip().replace("\n", " | ");
        }
    }
}
