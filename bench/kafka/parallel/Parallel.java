import com.sun.management.OperatingSystemMXBean;
import io.confluent.parallelconsumer.ParallelConsumerOptions;
import io.confluent.parallelconsumer.ParallelConsumerOptions.CommitMode;
import io.confluent.parallelconsumer.ParallelConsumerOptions.ProcessingOrder;
import io.confluent.parallelconsumer.ParallelStreamProcessor;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Confluent's Parallel Consumer as a contender. It consumes a topic from its start, in the order of keys, and prints one line
 * of JSON: the time for the counted records, and the CPU time of this process in that time, with compiler and garbage
 * collector. The records before the counted ones are for warming up: joining the group, the JIT compiler, and the library's
 * load factor, which grows while it runs.
 */
public final class Parallel {
    private static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private record Moment(long nanos, long cpu) {
        static Moment now() {
            return new Moment(System.nanoTime(), SYSTEM.getProcessCpuTime());
        }
    }

    private final AtomicLong handled = new AtomicLong();
    private final CountDownLatch done = new CountDownLatch(1);
    private final long warm;
    private final long records;
    private final long millis;
    private volatile Moment began;
    private volatile Moment ended;

    private Parallel(long warm, long records, long millis) {
        this.warm = warm;
        this.records = records;
        this.millis = millis;
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 7) {
            System.err.println("usage: Parallel BROKER TOPIC GROUP CONCURRENCY WARM RECORDS HANDLER_MILLIS");
            System.exit(2);
        }
        Parallel work = new Parallel(Long.parseLong(args[4]), Long.parseLong(args[5]), Long.parseLong(args[6]));
        try (ParallelStreamProcessor<String, byte[]> consumer = consumer(args[0], args[2], Integer.parseInt(args[3]))) {
            consumer.subscribe(List.of(args[1]));
            consumer.poll(context -> work.handle());
            work.done.await();
            System.out.printf("{\"nanos\": %d, \"cpu\": %d}%n", work.ended.nanos - work.began.nanos, work.ended.cpu - work.began.cpu);
            System.out.flush();
            // Exit without close, which would handle all records that the library has fetched.
            Runtime.getRuntime().halt(0);
        }
    }

    private static ParallelStreamProcessor<String, byte[]> consumer(String broker, String group, int concurrency) {
        // The settings with the most records a second and the least CPU among those tried: large polls, strings as keys (byte
        // arrays are hashed again and again), and a load factor that starts at 10.
        Map<String, Object> config = Map.of(
                ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, broker,
                ConsumerConfig.GROUP_ID_CONFIG, group,
                ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
                ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false, // the library commits
                ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 2000,
                ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class,
                ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
        // One record in each call, as the library's documentation advises for handlers of single records.
        return ParallelStreamProcessor.createEosStreamProcessor(ParallelConsumerOptions.<String, byte[]>builder()
                .consumer(new KafkaConsumer<>(config))
                .ordering(ProcessingOrder.KEY)
                .maxConcurrency(concurrency)
                .initialLoadFactor(10)
                .commitMode(CommitMode.PERIODIC_CONSUMER_ASYNCHRONOUS)
                .commitInterval(Duration.ofSeconds(1))
                .build());
    }

    private void handle() {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted while handling a record", e);
        }
        long n = handled.incrementAndGet();
        if (n == warm) {
            began = Moment.now();
        }
        if (n == warm + records) {
            ended = Moment.now();
            done.countDown();
        }
    }
}
