// A program of another team, on Kafka's own clients. It produces to a topic, or consumes from it as a member of a group:
//   Neighbor BROKER produce TOPIC N         N keyed records with the default partitioner, and prints partition and key
//   Neighbor BROKER consume TOPIC GROUP N [ASSIGNOR]   N records, commits each, and prints their values

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Neighbor {
  public static void main(String[] args) throws Exception {
    if (args[1].equals("produce")) produce(args[0], args[2], Integer.parseInt(args[3]));
    else consume(args[0], args[2], args[3], Integer.parseInt(args[4]), args.length > 5 ? args[5] : null);
  }

  static void produce(String broker, String topic, int n) throws Exception {
    try (var p = new KafkaProducer<>(Map.<String, Object>of("bootstrap.servers", broker), new StringSerializer(), new StringSerializer())) {
      for (int i = 0; i < n; i++) {
        String key = i == 0 ? "" : "größe-" + i * i;
        System.out.println(p.send(new ProducerRecord<>(topic, key, "java")).get().partition() + "\t" + key);
      }
    }
  }

  static void consume(String broker, String topic, String group, int n, String assignor) {
    var config = new HashMap<String, Object>(Map.of("bootstrap.servers", broker, "group.id", group,
        "max.poll.records", 1, "enable.auto.commit", false, "auto.offset.reset", "earliest"));
    if (assignor != null) config.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor);
    try (var c = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      c.subscribe(List.of(topic));
      for (int got = 0; got < n;) {
        for (var r : c.poll(Duration.ofSeconds(1))) {
          System.out.println(r.value());
          got++;
        }
        c.commitSync();
      }
    }
  }
}
