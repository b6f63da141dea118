package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import kafka.coordinator.group.Empty$;
import kafka.coordinator.group.GroupMetadata;
import kafka.coordinator.group.GroupMetadataManager$;
import kafka.coordinator.group.MemberMetadata;
import kafka.coordinator.group.PreparingRebalance$;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.List$;
import scala.jdk.javaapi.CollectionConverters;

/** What a group's coordinator keeps: its members and their leader, and its record. */
public final class GroupKinds implements Kinds {
    @Override
    public Map<String, Answer> answers() {
        Map<String, Answer> kinds = new HashMap<>();
        kinds.put("group_leaders", GroupKinds::leaders);
        kinds.put("group_record", GroupKinds::record);
        return kinds;
    }

    /** "joins" and "leaves" in turn; after each of them who leads, and how the members are listed. */
    private static Object leaders(JsonNode input) {
        GroupMetadata group = new GroupMetadata("g", Empty$.MODULE$, Time.SYSTEM);
        List<Object> found = new ArrayList<>();
        for (JsonNode event : input.get("events")) {
            if (event.has("joins")) {
                group.add(member(event.get("joins").textValue()), null);
            } else {
                group.remove(event.get("leaves").textValue());
            }
            Map<String, Object> state = new LinkedHashMap<>();
            state.put("leader", group.leaderOrNull());
            List<String> listed = new ArrayList<>();
            CollectionConverters.asJava(group.summary().members())
                .forEach(each -> listed.add(each.memberId()));
            state.put("listed", listed);
            found.add(state);
        }
        return found;
    }

    /** Key and value as a release writes them, in base64. */
    private static Object record(JsonNode input) {
        String name = input.get("group").textValue();
        GroupMetadata group = new GroupMetadata(name, Empty$.MODULE$, Time.SYSTEM);
        Map<String, byte[]> assigned = new HashMap<>();
        for (String id : Read.texts(input.get("members"))) {
            group.add(member(id), null);
            assigned.put(id, new byte[] {0, 0, 0, 7});
        }
        group.transitionTo(PreparingRebalance$.MODULE$);
        group.initNextGeneration();
        byte[] value = GroupMetadataManager$.MODULE$.groupMetadataValue(
            group, CollectionConverters.asScala(assigned),
            MetadataVersion.fromVersionString(input.get("release").textValue()));
        Base64.Encoder text = Base64.getEncoder();
        return List.of(
            text.encodeToString(GroupMetadataManager$.MODULE$.groupMetadataKey(name)),
            text.encodeToString(value));
    }

    private static MemberMetadata member(String id) {
        List<Tuple2<String, byte[]>> protocols =
            List.of(new Tuple2<>("range", new byte[] {0, 0, 0, 0, 0, 0}));
        return new MemberMetadata(
            id, Option.empty(), id, "/10.0.0.1", 60_000, 10_000, "consumer",
            List$.MODULE$.from(CollectionConverters.asScala(protocols)), new byte[0]);
    }
}
