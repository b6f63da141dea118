package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** Consumer groups in questions and answers, with what all releases of the clients have. */
public final class Groups {
    private Groups() {
    }

    /** Every rack of a partition is that of a replica. */
    public static Cluster cluster(JsonNode input) {
        List<PartitionInfo> partitions = new ArrayList<>();
        input.get("topics").fields().forEachRemaining(topic -> {
            JsonNode racks = topic.getValue().get("racks");
            int count = topic.getValue().get("partitions").intValue();
            for (int partition = 0; partition < count; partition++) {
                Node[] replicas = nodes(racks == null ? null : racks.get(partition));
                partitions.add(new PartitionInfo(
                    topic.getKey(), partition, Node.noNode(), replicas, replicas));
            }
        });
        return new Cluster("cluster", List.of(), partitions, Set.of(), Set.of());
    }

    public static List<TopicPartition> partitions(JsonNode list) {
        return Read.list(list, each ->
            new TopicPartition(each.get(0).textValue(), each.get(1).intValue()));
    }

    public static <T> Map<String, Object> written(
            Map<String, T> assignments, Function<T, List<TopicPartition>> partitions) {
        Map<String, Object> found = new LinkedHashMap<>();
        assignments.forEach((member, assignment) -> {
            List<Object> list = new ArrayList<>();
            partitions.apply(assignment).forEach(each ->
                list.add(List.of(each.topic(), each.partition())));
            found.put(member, list);
        });
        return found;
    }

    private static Node[] nodes(JsonNode racks) {
        if (racks == null || racks.isNull()) {
            return new Node[] {Node.noNode()};
        }
        return Read.texts(racks).stream()
            .map(rack -> new Node(1, "host", 9092, rack))
            .toArray(Node[]::new);
    }
}
