// Java's own clients walk through a broker: they are stricter about what it answers than franz-go is. The argument is host:port.
// Each step says what it wants; the same is wanted of Apache Kafka itself.

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;

import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Walk {
  static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
  static final int EACH = 9; // records for each codec
  static final Duration SOON = Duration.ofMillis(200);

  static final String run = Long.toHexString(System.nanoTime());
  static final String topic = "walk-" + run, other = "walk-too-" + run;
  static String broker;
  static Admin admin;
  static int steps, failed;
  static int written; // records of topic

  public static void main(String[] args) {
    broker = args[0];
    admin = Admin.create(with());
    topics();
    records();
    for (String protocol : List.of("classic", "consumer")) group(protocol);
    groups();
    transactions();
    shares();
    end();
    admin.close();
    System.out.printf("%d steps, %d failed%n", steps, failed);
    System.exit(failed == 0 ? 0 : 1);
  }

  static void topics() {
    step("topics with configs, and with what the broker has by default", "3 partitions, 1 replica, retention 60000", () -> {
      CreateTopicsResult made = admin.createTopics(List.of(
          new NewTopic(topic, 3, (short) 1).configs(Map.of("retention.ms", "60000")), new NewTopic(other, Optional.empty(), Optional.empty())));
      made.all().get();
      return made.numPartitions(topic).get() + " partitions, " + made.replicationFactor(topic).get() + " replica, retention "
          + made.config(topic).get().get("retention.ms").value();
    });
    eventually("a description", "3 partitions, 1 in sync", () -> {
      var partitions = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions();
      return partitions.size() + " partitions, " + partitions.get(0).isr().size() + " in sync";
    });
    step("what there is already", "TopicExistsException", () -> admin.createTopics(List.of(new NewTopic(topic, 3, (short) 1))).all().get());
    step("a topic that there is not", "UnknownTopicOrPartitionException", () -> admin.describeTopics(List.of("no-" + run)).allTopicNames().get());
    step("as many partitions as there are", "InvalidPartitionsException",
        () -> admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get());
    var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    step("a list that gets longer", null, () -> admin.incrementalAlterConfigs(Map.of(resource,
        List.of(new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.APPEND)))).all().get());
    eventually("the list", "delete,compact", () -> admin.describeConfigs(List.of(resource)).all().get().get(resource).get("cleanup.policy").value());
  }

  static void records() {
    for (String codec : CODECS) {
      step("records, compressed: " + codec, EACH, () -> {
        try (var p = producer("compression.type", codec, "linger.ms", 20)) {
          var sent = new ArrayList<Future<RecordMetadata>>();
          for (int i = 0; i < EACH; i++) {
            var r = new ProducerRecord<>(topic, i % 3, "k" + i, (codec + i + " ").repeat(20));
            r.headers().add("h", "1".getBytes()).add("h", null);
            sent.add(p.send(r));
          }
          for (var f : sent) f.get();
          written += sent.size();
          return sent.size();
        }
      });
    }
    step("a record too large", "RecordTooLargeException", () -> {
      try (var p = producer("max.request.size", 10_000_000)) {
        return p.send(new ProducerRecord<>(topic, "k", "x".repeat(3_000_000))).get();
      }
    });
    step("a name that no topic can have", "InvalidTopicException", () -> {
      try (var p = producer("max.block.ms", 5000)) {
        return p.send(new ProducerRecord<>("no topic", "k", "x")).get();
      }
    });
  }

  static void group(String protocol) {
    Object[] member = {"group.id", protocol + run, "group.protocol", protocol};
    step("a group, " + protocol, written, () -> {
      try (var c = consumer(member)) {
        c.subscribe(List.of(topic));
        int n = read(c, written).size();
        c.commitSync();
        return n;
      }
    });
    step("the group again, " + protocol, "one new record", () -> {
      try (var c = consumer(member); var p = producer()) {
        c.subscribe(List.of(topic));
        until(() -> {
          c.poll(SOON);
          return c.assignment().size() == 3;
        });
        p.send(new ProducerRecord<>(topic, 0, "new", "one new record")).get();
        written++;
        return read(c, 1).get(0).value();
      } finally {
        consumeLast(member);
      }
    });
    step("two members, " + protocol, "3, then 1 and 2, then 3", () -> {
      Object[] both = {"group.id", "two-" + protocol + run, "group.protocol", protocol};
      try (var a = consumer(both)) {
        a.subscribe(List.of(topic));
        until(() -> polled(a) == 3);
        try (var b = consumer(both)) {
          b.subscribe(List.of(topic));
          until(() -> polled(a) + polled(b) == 3 && b.assignment().size() > 0 && a.assignment().size() > 0);
        }
        until(() -> polled(a) == 3);
        // An empty group that has committed nothing is gone when a broker cleans up, every ten minutes.
        a.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(0)));
        return "3, then 1 and 2, then 3";
      }
    });
  }

  /** consumeLast commits what a step has sent, so that the next finds nothing. */
  static void consumeLast(Object[] member) {
    try (var c = consumer(member)) {
      c.subscribe(List.of(topic));
      read(c, 1);
      c.commitSync();
    }
  }

  static void groups() {
    eventually("the groups", "[classic Classic, consumer Consumer, two-classic Classic, two-consumer Consumer]", () -> {
      var names = new TreeSet<String>();
      for (var g : admin.listGroups(ListGroupsOptions.forConsumerGroups()).all().get())
        if (g.groupId().endsWith(run)) names.add(g.groupId().replace(run, "") + " " + g.type().get());
      return names.toString();
    });
    step("a group of the newer protocol", "uniform", () -> admin.describeConsumerGroups(List.of("consumer" + run)).all().get().get("consumer" + run).partitionAssignor());
    step("groups forgotten", null, () -> admin.deleteConsumerGroups(List.of("classic" + run, "consumer" + run)).all().get());
  }

  static void transactions() {
    step("transactions, with offsets", "5 [t1, t3]", () -> {
      var first = new TopicPartition(topic, 0);
      try (var p = producer("transactional.id", "x" + run); var c = consumer("group.id", "x" + run)) {
        p.initTransactions();
        c.subscribe(List.of(topic));
        read(c, 5);
        p.beginTransaction();
        p.send(new ProducerRecord<>(other, "t1"));
        p.sendOffsetsToTransaction(Map.of(first, new OffsetAndMetadata(5)), c.groupMetadata());
        p.commitTransaction();
        p.beginTransaction();
        p.send(new ProducerRecord<>(other, "t2"));
        p.flush();
        p.abortTransaction();
        p.beginTransaction();
        p.send(new ProducerRecord<>(other, "t3"));
        p.commitTransaction();
        return c.committed(Set.of(first)).get(first).offset() + " " + committed(2);
      }
    });
    step("a producer whose place another took", "fenced", () -> {
      var old = producer("transactional.id", "y" + run);
      old.initTransactions();
      old.beginTransaction();
      old.send(new ProducerRecord<>(other, "old")).get();
      try (var young = producer("transactional.id", "y" + run)) {
        young.initTransactions();
        young.beginTransaction();
        young.send(new ProducerRecord<>(other, "young")).get();
        young.commitTransaction();
      }
      try {
        old.send(new ProducerRecord<>(other, "older")).get();
        old.commitTransaction();
        return "not fenced";
      } catch (Exception e) {
        String why = name(e);
        return why.equals("ProducerFencedException") || why.equals("InvalidProducerEpochException") ? "fenced" : why;
      } finally {
        old.close(Duration.ofSeconds(2));
      }
    });
    step("what was committed", "[t1, t3, young]", () -> committed(3));
  }

  static void shares() {
    int all = written;
    step("a share group, one record given back", all + " records, 1 of them twice", () -> {
      admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, "s" + run),
          List.of(new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET)))).all().get();
      var seen = new HashSet<String>();
      var again = new int[1];
      try (var c = new KafkaShareConsumer<>(with("group.id", "s" + run, "share.acknowledgement.mode", "explicit"), new StringDeserializer(), new StringDeserializer())) {
        c.subscribe(List.of(topic));
        until(() -> {
          for (var r : c.poll(SOON)) {
            boolean first = seen.isEmpty();
            if (!seen.add(r.partition() + ":" + r.offset())) again[0]++;
            c.acknowledge(r, first ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT);
          }
          c.commitSync();
          return seen.size() == all && again[0] > 0;
        });
      }
      return seen.size() + " records, " + again[0] + " of them twice";
    });
  }

  static void end() {
    step("records deleted", 5L, () -> {
      var first = new TopicPartition(topic, 0);
      return admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(5))).lowWatermarks().get(first).get().lowWatermark();
    });
    step("topics deleted", null, () -> admin.deleteTopics(List.of(topic, other)).all().get());
  }

  /** committed is what there is of other's partition 0 to those who read no open transactions, once there is so much. */
  static String committed(int n) {
    try (var c = consumer("isolation.level", "read_committed")) {
      c.assign(List.of(new TopicPartition(other, 0)));
      return read(c, n).stream().map(ConsumerRecord::value).toList().toString();
    }
  }

  static List<ConsumerRecord<String, String>> read(Consumer<String, String> c, int n) {
    var got = new ArrayList<ConsumerRecord<String, String>>();
    until(() -> {
      c.poll(SOON).forEach(got::add);
      return got.size() >= n;
    });
    return got;
  }

  static int polled(Consumer<String, String> c) {
    c.poll(Duration.ofMillis(50));
    return c.assignment().size();
  }

  static KafkaProducer<String, String> producer(Object... config) {
    return new KafkaProducer<>(with(config), new StringSerializer(), new StringSerializer());
  }

  static KafkaConsumer<String, String> consumer(Object... config) {
    Properties p = with(config);
    p.put("auto.offset.reset", "earliest");
    p.put("enable.auto.commit", "false");
    return new KafkaConsumer<>(p, new StringDeserializer(), new StringDeserializer());
  }

  static Properties with(Object... config) {
    Properties p = new Properties();
    p.put("bootstrap.servers", broker);
    for (int i = 0; i < config.length; i += 2) p.put(config[i], config[i + 1]);
    return p;
  }

  static void until(BooleanSupplier holds) {
    for (long end = System.nanoTime() + Duration.ofSeconds(20).toNanos(); !holds.getAsBoolean(); )
      if (System.nanoTime() > end) throw new IllegalStateException("not within 20 s");
  }

  /** step compares what f returns, or the name of what it throws, with what is wanted. */
  static void step(String name, Object want, Callable<?> f) {
    steps++;
    String got = answer(f);
    if (got.equals(String.valueOf(want))) return;
    failed++;
    System.out.printf("%s:%n  got  %s%n  want %s%n", name, got, want);
  }

  /** eventually is step for what a broker tells a moment late. */
  static void eventually(String name, Object want, Callable<?> f) {
    try {
      until(() -> answer(f).equals(String.valueOf(want)));
    } catch (IllegalStateException e) { // step says what it is instead
    }
    step(name, want, f);
  }

  static String answer(Callable<?> f) {
    try {
      return String.valueOf(f.call());
    } catch (Exception e) {
      return name(e);
    }
  }

  static String name(Throwable e) {
    while (e instanceof ExecutionException && e.getCause() != null) e = e.getCause();
    return e instanceof IllegalStateException ? e.getMessage() : e.getClass().getSimpleName();
  }
}
