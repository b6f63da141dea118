package org.apache.kafka.clients.consumer.internals;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import oracle.Groups;
import oracle.Kinds;
import oracle.Read;
import oracle.Timed;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractPartitionAssignor.MemberInfo;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Utils;

/** The consumer partition assignors; in their package, which alone may ask whether racks count. */
public final class AssignorKinds implements Kinds {
    private static final int NO_GENERATION = -1;

    @Override
    public Map<String, Answer> answers() {
        Map<String, Answer> answers = new HashMap<>();
        answers.put("member_order", AssignorKinds::memberOrder);
        answers.put("rack_aware_enabled", AssignorKinds::rackAwareEnabled);
        Map<String, Supplier<ConsumerPartitionAssignor>> assignors = Map.of(
            "range", RangeAssignor::new,
            "roundrobin", RoundRobinAssignor::new,
            "sticky", StickyAssignor::new,
            "cooperative_sticky", CooperativeStickyAssignor::new);
        assignors.forEach((kind, assignor) -> {
            answers.put(kind, input -> Groups.written(
                assignor.get().assign(Groups.cluster(input), group(input, kind)).groupAssignment(),
                Assignment::partitions));
            answers.put(kind + "_seconds", input -> {
                Cluster cluster = Groups.cluster(input);
                return Timed.seconds(() -> {
                    GroupSubscription group = group(input, kind);
                    return () -> assignor.get().assign(cluster, group);
                });
            });
        });
        return answers;
    }

    private static GroupSubscription group(JsonNode input, String kind) {
        boolean sticky = kind.equals("sticky");
        Map<String, Subscription> subscriptions = new HashMap<>();
        input.get("members").forEach(member ->
            subscriptions.put(Read.text(member, "id"), subscription(member, sticky)));
        return new GroupSubscription(subscriptions);
    }

    private static Subscription subscription(JsonNode member, boolean sticky) {
        int generation = Read.number(member, "generation", NO_GENERATION);
        List<TopicPartition> owned = Groups.partitions(member.get("owned"));
        ByteBuffer data = sticky && member.hasNonNull("owned") ? stickyData(member, owned) : null;
        Subscription subscription = new Subscription(Read.texts(member.get("topics")), data,
            sticky ? List.of() : owned, generation, Optional.ofNullable(Read.text(member, "rack")));
        subscription.setGroupInstanceId(Optional.ofNullable(Read.text(member, "instance_id")));
        return subscription;
    }

    /** What a member that had this assignment sends; without a generation, as older members do. */
    private static ByteBuffer stickyData(JsonNode member, List<TopicPartition> owned) {
        StickyAssignor before = new StickyAssignor();
        int generation = Read.number(member, "generation", NO_GENERATION);
        before.onAssignment(new Assignment(owned),
            new ConsumerGroupMetadata("g", generation, "m", Optional.empty()));
        ByteBuffer data = before.subscriptionUserData(Set.of());
        if (!member.hasNonNull("generation")) {
            data.limit(data.limit() - Integer.BYTES);
        }
        return data;
    }

    private static Object memberOrder(JsonNode input) {
        List<MemberInfo> members = Read.list(input.get("members"), member ->
            new MemberInfo(Read.text(member, "id"),
                Optional.ofNullable(Read.text(member, "instance_id"))));
        List<String> ids = new ArrayList<>();
        Utils.sorted(members).forEach(member -> ids.add(member.memberId));
        return ids;
    }

    private static Object rackAwareEnabled(JsonNode input) {
        Map<TopicPartition, Set<String>> racks = new LinkedHashMap<>();
        input.get("racks_per_partition").forEach(each ->
            racks.put(new TopicPartition("t", racks.size()), new HashSet<>(Read.texts(each))));
        return new RangeAssignor().useRackAwareAssignment(
            new HashSet<>(Read.texts(input.get("consumer_racks"))),
            new HashSet<>(Read.texts(input.get("partition_racks"))), racks);
    }
}
