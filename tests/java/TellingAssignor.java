import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Configurable;

/**
 * One of Kafka's assignors, which is named by the setting "experiment.assignor". It says when its
 * member computes an assignment, which the leader of a group alone does.
 */
public class TellingAssignor implements ConsumerPartitionAssignor, Configurable {
  private ConsumerPartitionAssignor assignor;
  private String client;

  @Override
  public void configure(Map<String, ?> settings) {
    client = (String) settings.get("client.id");
    try {
      Class<?> named = Class.forName((String) settings.get("experiment.assignor"));
      assignor = (ConsumerPartitionAssignor) named.getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException wrong) {
      throw new IllegalArgumentException(wrong);
    }
  }

  @Override
  public GroupAssignment assign(Cluster cluster, GroupSubscription group) {
    GroupExperiment.say("leads", client, "-");
    return assignor.assign(cluster, group);
  }

  @Override
  public ByteBuffer subscriptionUserData(Set<String> topics) {
    return assignor.subscriptionUserData(topics);
  }

  @Override
  public void onAssignment(Assignment assignment, ConsumerGroupMetadata group) {
    assignor.onAssignment(assignment, group);
  }

  @Override
  public List<RebalanceProtocol> supportedProtocols() {
    return assignor.supportedProtocols();
  }

  @Override
  public short version() {
    return assignor.version();
  }

  @Override
  public String name() {
    return assignor.name();
  }
}
