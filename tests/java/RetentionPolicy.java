import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.AlterConfigPolicy;
import org.apache.kafka.server.policy.CreateTopicPolicy;

/**
 * What the operators of some brokers allow: no topic keeps data for longer than a file says (ms).
 *
 * It stands for the policies that people give their brokers. The file is read again each time.
 */
public abstract class RetentionPolicy {
    private Path file;

    public void configure(Map<String, ?> settings) {
        file = Path.of(String.valueOf(settings.get("retention.policy.file")));
    }

    public void close() {}

    void check(String topic, Map<String, String> config) throws PolicyViolationException {
        String kept = config == null ? null : config.get("retention.ms");
        if (kept != null && Long.parseLong(kept) > most()) {
            throw new PolicyViolationException(
                "topic " + topic + ": retention.ms above " + most() + " needs a ticket");
        }
    }

    private long most() {
        try {
            return Long.parseLong(new String(Files.readAllBytes(file)).trim());
        } catch (IOException gone) {
            throw new IllegalStateException(gone);
        }
    }

    /** The policy of new topics. */
    public static final class Creations extends RetentionPolicy implements CreateTopicPolicy {
        @Override
        public void validate(RequestMetadata request) throws PolicyViolationException {
            check(request.topic(), request.configs());
        }
    }

    /** The policy of changed configs. */
    public static final class Changes extends RetentionPolicy implements AlterConfigPolicy {
        @Override
        public void validate(RequestMetadata request) throws PolicyViolationException {
            if (request.resource().type().name().equals("TOPIC")) {
                check(request.resource().name(), request.configs());
            }
        }
    }
}
