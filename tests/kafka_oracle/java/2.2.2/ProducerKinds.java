package oracle.old;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import oracle.Kinds;
import oracle.Read;
import org.apache.kafka.clients.producer.internals.DefaultPartitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

/** What producers did with records without a key until 2.3, from a count that is given. */
public final class ProducerKinds implements Kinds {
    @Override
    public Map<String, Answer> answers() {
        return Map.of("rr_partitioner", ProducerKinds::roundRobin);
    }

    private static Object roundRobin(JsonNode input) throws Exception {
        Node leader = new Node(0, "host", 9092);
        List<PartitionInfo> partitions = Read.list(input.get("partitions"), partition ->
            new PartitionInfo("t", partition.get(0).intValue(),
                partition.get(1).booleanValue() ? leader : null, new Node[0], new Node[0]));
        Cluster cluster = new Cluster("c", Collections.singletonList(leader), partitions,
            Collections.emptySet(), Collections.emptySet());
        List<Integer> found = new ArrayList<>();
        try (DefaultPartitioner partitioner = new DefaultPartitioner()) {
            counts(partitioner).put("t", new AtomicInteger(input.get("start").intValue()));
            for (int call = 0; call < input.get("calls").intValue(); call++) {
                found.add(partitioner.partition("t", null, null, null, null, cluster));
            }
        }
        return found;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, AtomicInteger> counts(DefaultPartitioner partitioner)
            throws Exception {
        Field counts = DefaultPartitioner.class.getDeclaredField("topicCounterMap");
        counts.setAccessible(true);
        return (Map<String, AtomicInteger>) counts.get(partitioner);
    }
}
