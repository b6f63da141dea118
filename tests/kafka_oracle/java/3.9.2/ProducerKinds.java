package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.RoundRobinPartitioner;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Utils;

/** What producers compute: hashes of keys, partitions of records. */
public final class ProducerKinds implements Kinds {
    @Override
    public Map<String, Answer> answers() {
        Map<String, Answer> kinds = new HashMap<>();
        kinds.put("murmur2", input -> Utils.murmur2(bytes(input)));
        kinds.put("key_partition", input -> Read.list(input.get("num_partitions"),
            count -> BuiltInPartitioner.partitionForKey(bytes(input), count.intValue())));
        kinds.put("rr_partitioner", ProducerKinds::roundRobin);
        kinds.put("adaptive_cft", ProducerKinds::adaptive);
        return kinds;
    }

    private static byte[] bytes(JsonNode input) {
        if (input.has("utf8")) {
            return input.get("utf8").textValue().getBytes(StandardCharsets.UTF_8);
        }
        String hex = input.get("hex").textValue();
        byte[] found = new byte[hex.length() / 2];
        for (int i = 0; i < found.length; i++) {
            found[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        }
        return found;
    }

    private static Object roundRobin(JsonNode input) {
        Node leader = new Node(0, "host", 9092);
        List<PartitionInfo> partitions = Read.list(input.get("partitions"), partition ->
            new PartitionInfo("t", partition.get(0).intValue(),
                partition.get(1).booleanValue() ? leader : null, new Node[0], new Node[0]));
        Cluster cluster = new Cluster("c", Collections.singletonList(leader), partitions,
            Collections.emptySet(), Collections.emptySet());
        List<Integer> found = new ArrayList<>();
        try (RoundRobinPartitioner partitioner = new RoundRobinPartitioner()) {
            for (int call = 0; call < input.get("calls").intValue(); call++) {
                found.add(partitioner.partition("t", null, null, null, null, cluster));
            }
        }
        return found;
    }

    private static Object adaptive(JsonNode input) throws Exception {
        List<Integer> given = Read.ints(input.get("queue_sizes"));
        int[] sizes = new int[given.size()];
        int[] ids = new int[given.size()];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = given.get(i);
            ids[i] = i;
        }
        BuiltInPartitioner partitioner = new BuiltInPartitioner(new LogContext(), "t", 1);
        partitioner.updatePartitionLoadStats(sizes, ids, sizes.length);
        Field stats = BuiltInPartitioner.class.getDeclaredField("partitionLoadStats");
        stats.setAccessible(true);
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("frequencies", null);
        found.put("cumulative", null);
        if (stats.get(partitioner) != null) {
            List<Integer> frequencies = new ArrayList<>();
            for (int i = 0; i < sizes.length; i++) {
                frequencies.add(i == 0 ? sizes[0] : sizes[i] - sizes[i - 1]);
            }
            found.put("frequencies", frequencies);
            found.put("cumulative", sizes);
        }
        return found;
    }
}
