package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import kafka.controller.PartitionLeaderElectionAlgorithms;
import kafka.controller.ReplicaAssignment;
import kafka.zk.AdminZkClient;
import org.apache.kafka.admin.AdminUtils;
import org.apache.kafka.admin.BrokerMetadata;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.storage.internals.log.ThrottledReplicaListValidator;
import scala.Option;
import scala.collection.Seq;
import scala.collection.immutable.Set;
import scala.collection.immutable.Set$;
import scala.jdk.javaapi.CollectionConverters;

/** What brokers and the controller compute: assignments, names, throttle lists, leaders. */
public final class ClusterKinds implements Kinds {
    @Override
    public Map<String, Answer> answers() {
        Map<String, Answer> kinds = new HashMap<>();
        kinds.put("assign_replicas", ClusterKinds::assignReplicas);
        kinds.put("rack_alternated", ClusterKinds::rackAlternated);
        kinds.put("add_partitions", ClusterKinds::addPartitions);
        kinds.put("topic_name", input -> Topic.isValid(input.get("name").textValue()));
        kinds.put("topic_collision", input -> Topic.hasCollision(
            input.get("a").textValue(), input.get("b").textValue()));
        kinds.put("throttled_replica_list", ClusterKinds::throttledReplicaList);
        kinds.put("reassign_to", ClusterKinds::reassignTo);
        kinds.put("leader_election", ClusterKinds::leaderElection);
        kinds.put("group_partition", input -> Utils.abs(input.get("group").textValue().hashCode())
            % input.get("partitions").intValue());
        return kinds;
    }

    private static List<BrokerMetadata> brokers(JsonNode list) {
        return Read.list(list, broker -> new BrokerMetadata(
            broker.get("id").intValue(), Optional.ofNullable(Read.text(broker, "rack"))));
    }

    private static Object assignReplicas(JsonNode input) {
        return new TreeMap<>(AdminUtils.assignReplicasToBrokers(
            brokers(input.get("brokers")),
            input.get("n_partitions").intValue(),
            input.get("replication_factor").intValue(),
            Read.number(input, "fixed_start_index", -1),
            Read.number(input, "start_partition_id", -1)));
    }

    private static Object rackAlternated(JsonNode input) {
        Map<Integer, String> racks = new HashMap<>();
        Read.map(input.get("broker_racks"), JsonNode::textValue)
            .forEach((broker, rack) -> racks.put(Integer.valueOf(broker), rack));
        return AdminUtils.getRackAlternatedBrokerList(racks);
    }

    private static Object addPartitions(JsonNode input) {
        Map<Object, ReplicaAssignment> existing = new HashMap<>();
        Read.map(input.get("existing"), Read::ints).forEach((partition, replicas) ->
            existing.put(Integer.valueOf(partition), new ReplicaAssignment(
                seq(replicas), seq(new ArrayList<>()), seq(new ArrayList<>()))));
        Option<scala.collection.Map<Object, Seq<Object>>> manual = Option.empty();
        if (input.has("manual") && !input.get("manual").isNull()) {
            Map<Object, Seq<Object>> lists = new HashMap<>();
            Read.map(input.get("manual"), Read::ints).forEach((partition, replicas) ->
                lists.put(Integer.valueOf(partition), seq(replicas)));
            manual = Option.apply(CollectionConverters.asScala(lists));
        }
        List<BrokerMetadata> known = brokers(input.get("brokers"));
        known.sort((a, b) -> Integer.compare(a.id, b.id));
        Map<Object, ReplicaAssignment> added = CollectionConverters.asJava(
            new AdminZkClient(null, Option.empty()).createNewPartitionsAssignment("t",
                CollectionConverters.asScala(existing),
                CollectionConverters.asScala(known),
                input.get("new_total").intValue(), manual));
        Map<Object, Object> found = new TreeMap<>();
        added.forEach((partition, assignment) -> found.put(partition, ints(assignment.replicas())));
        return found;
    }

    private static Object throttledReplicaList(JsonNode input) {
        try {
            ThrottledReplicaListValidator.ensureValidString("k", input.get("value").textValue());
            return true;
        } catch (org.apache.kafka.common.config.ConfigException refused) {
            return false;
        }
    }

    private static Object reassignTo(JsonNode input) {
        ReplicaAssignment found = new ReplicaAssignment(
            seq(Read.ints(input.get("replicas"))),
            seq(Read.ints(input.get("adding"))),
            seq(Read.ints(input.get("removing")))).reassignTo(seq(Read.ints(input.get("target"))));
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("replicas", ints(found.replicas()));
        state.put("adding", ints(found.addingReplicas()));
        state.put("removing", ints(found.removingReplicas()));
        state.put("being_reassigned", found.isBeingReassigned());
        return state;
    }

    private static Object leaderElection(JsonNode input) {
        Seq<Object> assignment = seq(Read.ints(input.get("assignment")));
        Seq<Object> isr = seq(Read.ints(input.get("isr")));
        Set<Object> live = set(Read.ints(input.get("live")));
        boolean unclean = input.has("unclean") && input.get("unclean").booleanValue();
        Option<Object> leader;
        switch (input.get("strategy").textValue()) {
            case "offline":
                leader = PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection(
                    assignment, isr, live, unclean, new kafka.controller.ControllerContext());
                break;
            case "reassign":
                leader = PartitionLeaderElectionAlgorithms.reassignPartitionLeaderElection(
                    assignment, isr, live);
                break;
            case "preferred":
                leader = PartitionLeaderElectionAlgorithms.preferredReplicaPartitionLeaderElection(
                    assignment, isr, live);
                break;
            default:
                leader = PartitionLeaderElectionAlgorithms.controlledShutdownPartitionLeaderElection(
                    assignment, isr, live, set(Read.ints(input.get("shutting_down"))));
        }
        return leader.isEmpty() ? null : leader.get();
    }

    private static Seq<Object> seq(List<Integer> numbers) {
        return CollectionConverters.asScala(new ArrayList<Object>(numbers));
    }

    private static Set<Object> set(List<Integer> numbers) {
        return (Set<Object>) Set$.MODULE$.from(seq(numbers));
    }

    private static List<Object> ints(Seq<Object> numbers) {
        return CollectionConverters.asJava(numbers);
    }
}
