import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Consumers of groups that join and leave as they are told, and a producer that writes to every
 * partition alike.
 *
 * Arguments: bootstrap servers, records per second and partition, topic:partitions ...
 * Standard input: "join GROUP ASSIGNOR CLIENT TOPIC,TOPIC", "leave CLIENT", "end". ASSIGNOR is a
 * class, or one that wraps another, and that one after a slash.
 * Standard output, with milliseconds since 1970:
 *   assigned MS CLIENT PARTITIONS    what it reads from now on, beside what it has
 *   revoked MS CLIENT PARTITIONS     what it does not read any more
 *   second MS CLIENT RECORDS PARTITIONS    read in the last second, and what it has now
 *   leads MS CLIENT -    it computes an assignment (TellingAssignor)
 *   left MS CLIENT -
 */
public class GroupExperiment {
  public static void main(String[] args) throws Exception {
    Properties basic = new Properties();
    basic.put("bootstrap.servers", args[0]);
    Producing producing = new Producing(basic, Integer.parseInt(args[1]));
    for (String topic : Arrays.asList(args).subList(2, args.length)) {
      String[] parts = topic.split(":");
      producing.topics.put(parts[0], Integer.parseInt(parts[1]));
    }
    producing.start();
    Map<String, Member> members = new TreeMap<>();
    BufferedReader commands =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      String[] words = line.split(" ");
      if (words[0].equals("join")) {
        Member member = new Member(basic, words[1], words[2], words[3], words[4]);
        members.put(words[3], member);
        member.start();
      } else if (words[0].equals("leave")) {
        members.remove(words[1]).end();
      } else {
        break;
      }
    }
    for (Member member : members.values()) {
      member.end();
    }
    producing.ended = true;
    producing.join();
  }

  static synchronized void say(String what, String client, String told) {
    System.out.println(what + " " + System.currentTimeMillis() + " " + client + " " + told);
    System.out.flush();
  }

  static String names(Collection<TopicPartition> partitions) {
    List<String> names = partitions.stream().map(String::valueOf).sorted().collect(Collectors.toList());
    return names.isEmpty() ? "-" : String.join(",", names);
  }

  static class Producing extends Thread {
    final Map<String, Integer> topics = new TreeMap<>();
    final Properties settings = new Properties();
    final int rate;
    volatile boolean ended;

    Producing(Properties basic, int rate) {
      settings.putAll(basic);
      settings.put("key.serializer", ByteArraySerializer.class.getName());
      settings.put("value.serializer", ByteArraySerializer.class.getName());
      settings.put("linger.ms", "20");
      this.rate = rate;
    }

    @Override
    public void run() {
      try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
        while (!ended) {
          long begun = System.currentTimeMillis();
          topics.forEach((topic, partitions) -> {
            for (int partition = 0; partition < partitions; partition++) {
              producer.send(new ProducerRecord<>(topic, partition, null, new byte[50]));
            }
          });
          sleepUntil(begun + 1000 / rate);
        }
      }
    }
  }

  static void sleepUntil(long time) {
    try {
      Thread.sleep(Math.max(0, time - System.currentTimeMillis()));
    } catch (InterruptedException interrupted) {
      throw new IllegalStateException(interrupted);
    }
  }

  static class Member extends Thread implements ConsumerRebalanceListener {
    final Properties settings = new Properties();
    final String client;
    final List<String> topics;
    volatile boolean ended;

    Member(Properties basic, String group, String assignor, String client, String topics) {
      settings.putAll(basic);
      settings.put("group.id", group);
      settings.put("client.id", client);
      String[] classes = assignor.split("/");
      settings.put("partition.assignment.strategy", classes[0]);
      settings.put("experiment.assignor", classes[classes.length - 1]);
      settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
      settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
      settings.put("auto.offset.reset", "latest");
      settings.put("enable.auto.commit", "false");
      settings.put("heartbeat.interval.ms", "500");
      settings.put("session.timeout.ms", "30000");
      this.client = client;
      this.topics = Arrays.asList(topics.split(","));
    }

    void end() throws InterruptedException {
      ended = true;
      join();
    }

    @Override
    public void run() {
      try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
        consumer.subscribe(topics, this);
        AtomicInteger records = new AtomicInteger();
        long next = System.currentTimeMillis() + 1000;
        while (!ended) {
          records.addAndGet(consumer.poll(Duration.ofMillis(100)).count());
          if (System.currentTimeMillis() >= next) {
            say("second", client, records.getAndSet(0) + " " + names(consumer.assignment()));
            next += 1000;
          }
        }
      }
      say("left", client, "-");
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
      say("assigned", client, names(partitions));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
      say("revoked", client, names(partitions));
    }
  }
}
