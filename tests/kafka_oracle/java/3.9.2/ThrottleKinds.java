package org.apache.kafka.tools.reassign;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import oracle.Kinds;
import oracle.Read;
import org.apache.kafka.clients.admin.PartitionReassignment;
import org.apache.kafka.common.TopicPartition;

/** The throttles that kafka-reassign-partitions sets; in its package, which alone may ask it. */
public final class ThrottleKinds implements Kinds {
    @Override
    public Map<String, Answer> answers() {
        return Map.of("throttles", ThrottleKinds::throttles);
    }

    private static Object throttles(JsonNode input) {
        Map<TopicPartition, PartitionReassignment> running = new HashMap<>();
        Read.map(input.get("current_reassignments"), state -> state).forEach((name, state) ->
            running.put(partition(name), new PartitionReassignment(
                Read.ints(state.get("replicas")), Read.ints(state.get("adding")),
                Read.ints(state.get("removing")))));
        Map<String, Map<Integer, PartitionMove>> moves =
            ReassignPartitionsCommand.calculateProposedMoveMap(
                running, lists(input.get("proposed")), lists(input.get("current")));
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("leader", ReassignPartitionsCommand.calculateLeaderThrottles(moves));
        found.put("follower", ReassignPartitionsCommand.calculateFollowerThrottles(moves));
        found.put("brokers", ReassignPartitionsCommand.calculateReassigningBrokers(moves));
        return found;
    }

    private static Map<TopicPartition, List<Integer>> lists(JsonNode object) {
        Map<TopicPartition, List<Integer>> found = new HashMap<>();
        Read.map(object, Read::ints).forEach((name, list) -> found.put(partition(name), list));
        return found;
    }

    private static TopicPartition partition(String name) {
        int dash = name.lastIndexOf('-');
        return new TopicPartition(
            name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
    }
}
