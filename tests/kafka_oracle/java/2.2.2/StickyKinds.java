package oracle.old;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import oracle.Groups;
import oracle.Kinds;
import oracle.Read;
import oracle.Timed;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.PartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.internals.PartitionAssignor.Subscription;
import org.apache.kafka.common.Cluster;

/** The sticky assignor as it was before it was written anew. */
public final class StickyKinds implements Kinds {
    @Override
    public Map<String, Answer> answers() {
        return Map.of("sticky", StickyKinds::assigned, "sticky_seconds", StickyKinds::seconds);
    }

    private static Object assigned(JsonNode input) {
        return Groups.written(
            new StickyAssignor().assign(Groups.cluster(input), subscriptions(input)),
            Assignment::partitions);
    }

    private static Object seconds(JsonNode input) {
        Cluster cluster = Groups.cluster(input);
        return Timed.seconds(() -> {
            Map<String, Subscription> subscriptions = subscriptions(input);
            return () -> new StickyAssignor().assign(cluster, subscriptions);
        });
    }

    private static Map<String, Subscription> subscriptions(JsonNode input) {
        Map<String, Subscription> subscriptions = new HashMap<>();
        input.get("members").forEach(member ->
            subscriptions.put(Read.text(member, "id"), subscription(member)));
        return subscriptions;
    }

    private static Subscription subscription(JsonNode member) {
        List<String> topics = Read.texts(member.get("topics"));
        if (!member.hasNonNull("owned")) {
            return new Subscription(topics);
        }
        StickyAssignor before = new StickyAssignor();
        before.onAssignment(new Assignment(Groups.partitions(member.get("owned"))));
        return new Subscription(topics, before.subscription(new HashSet<>(topics)).userData());
    }
}
