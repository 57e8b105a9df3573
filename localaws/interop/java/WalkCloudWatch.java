import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import software.amazon.awssdk.services.cloudwatch.CloudWatchAsyncClient;
import software.amazon.awssdk.services.cloudwatch.CloudWatchClient;
import software.amazon.awssdk.services.cloudwatch.model.*;
import software.amazon.awssdk.services.sns.SnsClient;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.QueueAttributeName;

// A walk through CloudWatch with the AWS SDK for Java v2, its synchronous and its asynchronous client, which speak
// rpcv2Cbor.
public class WalkCloudWatch {
    static final URI SERVER = URI.create(System.getenv("AWS_ENDPOINT_URL"));
    static final CloudWatchClient cloudwatch = CloudWatchClient.builder().endpointOverride(SERVER).build();
    static final CloudWatchAsyncClient async = CloudWatchAsyncClient.builder().endpointOverride(SERVER).build();
    static final SqsClient sqs = SqsClient.builder().endpointOverride(SERVER).build();
    static final SnsClient sns = SnsClient.builder().endpointOverride(SERVER).build();
    static int checks = 0;

    static void same(String what, Object got, Object want) {
        checks++;
        if (!Objects.equals(got, want)) {
            throw new AssertionError(what + ": got " + got + ", want " + want);
        }
    }

    static void refused(String what, String code, int status, Runnable call) {
        try {
            call.run();
        } catch (CompletionException | CloudWatchException thrown) {
            CloudWatchException e = (CloudWatchException) (thrown instanceof CloudWatchException ? thrown : thrown.getCause());
            same(what + " (" + e.getMessage() + ")", e.awsErrorDetails().errorCode() + " " + e.statusCode(), code + " " + status);
            return;
        }
        throw new AssertionError(what + ": no error, want " + code);
    }

    // advance moves the server's clock, and returns its time.
    static Instant advance(String d) throws Exception {
        HttpRequest r = HttpRequest.newBuilder(URI.create(SERVER + "/_localaws/advance?d=" + d)).POST(HttpRequest.BodyPublishers.noBody()).build();
        String answer = HttpClient.newHttpClient().send(r, HttpResponse.BodyHandlers.ofString()).body();
        Matcher m = Pattern.compile("\"now\": *\"([^\"]+)\"").matcher(answer);
        same("a time in " + answer, m.find(), true);
        return Instant.parse(m.group(1));
    }

    static MetricDataQuery stat(String id, Metric m, String statistic) {
        return MetricDataQuery.builder().id(id).metricStat(s -> s.metric(m).period(60).stat(statistic)).build();
    }

    // begin moves the server's clock to the beginning of a minute, and returns its time. What follows has the minute for
    // itself: an alarm is evaluated, and a queue reports, at the end of each minute.
    static Instant begin() throws Exception {
        return advance(60 - advance("0s").getEpochSecond() % 60 + "s");
    }

    static List<Double> values(List<MetricDataResult> all, String id) {
        return all.stream().filter(r -> r.id().equals(id)).flatMap(r -> r.values().stream()).collect(Collectors.toList());
    }

    static void metrics() throws Exception {
        Instant now = begin(), from = now.minus(Duration.ofMinutes(10)), to = now.plus(Duration.ofMinutes(5));
        Dimension host = Dimension.builder().name("Host").value("x".repeat(300)).build();
        // More than 10 KiB, which the SDK compresses.
        cloudwatch.putMetricData(r -> r.namespace("java").metricData(IntStream.range(0, 100).mapToObj(i -> MetricDatum.builder()
            .metricName("latency").value((double) i).unit(StandardUnit.MILLISECONDS).dimensions(host).timestamp(now).build()).collect(Collectors.toList())));
        cloudwatch.putMetricData(r -> r.namespace("java").metricData(
            d -> d.metricName("size").values(1.0, 10.5).counts(2.0, 4.0).unit("Count"),
            d -> d.metricName("set").statisticValues(s -> s.sampleCount(10.0).sum(55.0).minimum(1.0).maximum(10.0))));
        same("metrics", cloudwatch.listMetricsPaginator(r -> r.namespace("java")).metrics().stream().map(Metric::metricName).sorted().collect(Collectors.toList()),
            List.of("latency", "set", "size"));
        List<Datapoint> points = cloudwatch.getMetricStatistics(r -> r.namespace("java").metricName("size").startTime(from).endTime(to)
            .period(300).statistics(Statistic.SAMPLE_COUNT, Statistic.SUM, Statistic.MAXIMUM)).datapoints();
        same("points", points.size(), 1);
        same("statistics", List.of(points.get(0).sampleCount(), points.get(0).sum(), points.get(0).maximum(), points.get(0).unitAsString()), List.of(6.0, 44.0, 10.5, "Count"));
        Metric latency = Metric.builder().namespace("java").metricName("latency").dimensions(host).build();
        Metric set = Metric.builder().namespace("java").metricName("set").build();
        List<MetricDataResult> data = cloudwatch.getMetricDataPaginator(r -> r.startTime(from).endTime(to).metricDataQueries(
            stat("p", latency, "p90"), stat("s", set, "Sum"), MetricDataQuery.builder().id("e").expression("s * 2 + 1").build()))
            .metricDataResults().stream().collect(Collectors.toList());
        same("data", List.of(values(data, "p"), values(data, "s"), values(data, "e")), List.of(List.of(89.0), List.of(55.0), List.of(111.0)));
        refused("both values", "InvalidParameterCombination", 400,
            () -> cloudwatch.putMetricData(r -> r.namespace("java").metricData(d -> d.metricName("m").value(1.0).values(1.0))));
        try {
            cloudwatch.putMetricData(r -> r.namespace("java").metricData(d -> d.metricName("m").value(1.0).unit("Yards")));
            throw new AssertionError("an unknown unit is accepted");
        } catch (InvalidParameterValueException e) {
            same("a typed error", e.statusCode(), 400);
        }
        refused("what is not built", "NotImplemented", 501, () -> cloudwatch.describeAlarmHistory(r -> r.alarmName("a")));
    }

    static void queues() throws Exception {
        begin();
        String url = sqs.createQueue(r -> r.queueName("java-metrics")).queueUrl();
        sqs.sendMessage(r -> r.queueUrl(url).messageBody("Hello"));
        Instant now = advance("1m");
        Metric size = Metric.builder().namespace("AWS/SQS").metricName("SentMessageSize").dimensions(d -> d.name("QueueName").value("java-metrics")).build();
        same("a queue", values(cloudwatch.getMetricData(r -> r.startTime(now.minus(Duration.ofMinutes(5))).endTime(now)
            .metricDataQueries(stat("m", size, "Sum"))).metricDataResults(), "m"), List.of(5.0));
        sqs.purgeQueue(r -> r.queueUrl(url));
        Instant later = advance("7h");
        Metric sent = size.toBuilder().metricName("NumberOfMessagesSent").build();
        same("a queue that sleeps has no points", values(cloudwatch.getMetricData(r -> r.startTime(later.minus(Duration.ofMinutes(30)))
            .endTime(later).metricDataQueries(stat("m", sent, "Sum"))).metricDataResults(), "m"), List.of());
    }

    static MetricAlarm alarm(String name) {
        return async.describeAlarms(r -> r.alarmNames(name)).join().metricAlarms().get(0);
    }

    static void alarms() throws Exception {
        String topic = sns.createTopic(r -> r.name("java-alerts")).topicArn();
        String url = sqs.createQueue(r -> r.queueName("java-alerts")).queueUrl();
        String arn = sqs.getQueueAttributes(r -> r.queueUrl(url).attributeNames(QueueAttributeName.QUEUE_ARN)).attributes().get(QueueAttributeName.QUEUE_ARN);
        sqs.setQueueAttributes(r -> r.queueUrl(url).attributesWithStrings(java.util.Map.of("Policy", "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\","
            + "\"Principal\":{\"Service\":\"sns.amazonaws.com\"},\"Action\":\"sqs:SendMessage\",\"Resource\":\"" + arn + "\"}]}")));
        sns.subscribe(r -> r.topicArn(topic).protocol("sqs").endpoint(arn));
        begin();
        async.putMetricAlarm(r -> r.alarmName("java-alarm").namespace("java").metricName("load").statistic(Statistic.AVERAGE).period(60)
            .evaluationPeriods(1).threshold(2.5).comparisonOperator(ComparisonOperator.GREATER_THAN_THRESHOLD).alarmActions(topic)
            .treatMissingData("notBreaching").tags(t -> t.key("team").value("a"))).join();
        same("a new alarm", alarm("java-alarm").stateValue(), StateValue.INSUFFICIENT_DATA);
        same("its tags", async.listTagsForResource(r -> r.resourceARN(alarm("java-alarm").alarmArn())).join().tags().get(0).value(), "a");
        async.putMetricData(r -> r.namespace("java").metricData(d -> d.metricName("load").value(21.5))).join();
        advance("1m");
        same("its state", alarm("java-alarm").stateValue(), StateValue.ALARM);
        same("it was told", sqs.receiveMessage(r -> r.queueUrl(url).waitTimeSeconds(5)).messages().get(0).body().contains("java-alarm"), true);
        async.setAlarmState(r -> r.alarmName("java-alarm").stateValue(StateValue.OK).stateReason("by hand")).join();
        same("by hand", List.of(alarm("java-alarm").stateReason(), alarm("java-alarm").threshold()), List.of("by hand", 2.5));
        refused("no such alarm", "ResourceNotFound", 404,
            () -> async.setAlarmState(r -> r.alarmName("java-none").stateValue(StateValue.OK).stateReason("")).join());
        async.deleteAlarms(r -> r.alarmNames("java-alarm")).join();
        same("deleted", async.describeAlarms(r -> r.alarmNames("java-alarm")).join().metricAlarms(), List.of());
    }

    public static void main(String[] arguments) throws Exception {
        metrics();
        queues();
        alarms();
        System.out.println(checks + " checks");
        System.exit(0);
    }
}
