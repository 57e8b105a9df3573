import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.net.URI;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.util.VersionInfo;
import software.amazon.awssdk.services.sns.SnsClient;
import software.amazon.awssdk.services.sns.model.InvalidParameterException;
import software.amazon.awssdk.services.sns.model.NotFoundException;
import software.amazon.awssdk.services.sns.model.PublishBatchRequestEntry;
import software.amazon.awssdk.services.sqs.SqsAsyncClient;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.*;

// A walk through queues and topics with the AWS SDK for Java v2, which checks the digests of what it sends and receives;
// also its own batching client, SqsAsyncBatchManager.
public class Walk {
    static final URI SERVER = URI.create(System.getenv("AWS_ENDPOINT_URL"));
    static final SqsClient sqs = SqsClient.builder().endpointOverride(SERVER).build();
    static final SnsClient sns = SnsClient.builder().endpointOverride(SERVER).build();
    static int checks = 0;

    static void same(String what, Object got, Object want) {
        checks++;
        if (!Objects.equals(got, want)) {
            throw new AssertionError(what + ": got " + got + ", want " + want);
        }
    }

    static <E extends Exception> E refused(String what, Class<E> kind, Runnable call) {
        try {
            call.run();
        } catch (Exception e) {
            same(what + " (" + e.getMessage() + ")", e.getClass(), kind);
            return kind.cast(e);
        }
        throw new AssertionError(what + ": no error, want " + kind);
    }

    static String create(String name, Map<String, String> attributes) {
        return sqs.createQueue(r -> r.queueName(name).attributesWithStrings(attributes)).queueUrl();
    }

    static String attribute(String url, QueueAttributeName name) {
        return sqs.getQueueAttributes(r -> r.queueUrl(url).attributeNames(name)).attributes().get(name);
    }

    static String arn(String url) {
        return attribute(url, QueueAttributeName.QUEUE_ARN);
    }

    static List<Message> take(String url, int n, int wait) {
        return sqs.receiveMessage(r -> r.queueUrl(url).maxNumberOfMessages(n).waitTimeSeconds(wait)
            .messageSystemAttributeNames(MessageSystemAttributeName.ALL).messageAttributeNames("All")).messages();
    }

    static List<Message> take(String url) {
        return take(url, 10, 5);
    }

    static List<String> bodies(List<Message> messages) {
        return messages.stream().map(Message::body).collect(Collectors.toList());
    }

    static void queues() {
        String url = create("java-plain", Map.of("VisibilityTimeout", "41"));
        same("GetQueueUrl", sqs.getQueueUrl(r -> r.queueName("java-plain")).queueUrl(), url);
        refused("created again with others", QueueNameExistsException.class, () -> create("java-plain", Map.of("VisibilityTimeout", "7")));
        refused("an attribute that is none", InvalidAttributeNameException.class, () -> create("java-other", Map.of("Nope", "7")));
        refused("a queue that is not there", QueueDoesNotExistException.class, () -> sqs.getQueueUrl(r -> r.queueName("java-none")));
        sqs.setQueueAttributes(r -> r.queueUrl(url).attributes(Map.of(QueueAttributeName.MAXIMUM_MESSAGE_SIZE, "2048")));
        same("attributes", sqs.getQueueAttributes(r -> r.queueUrl(url).attributeNamesWithStrings("VisibilityTimeout", "MaximumMessageSize")).attributesAsStrings(),
            Map.of("VisibilityTimeout", "41", "MaximumMessageSize", "2048"));
        sqs.tagQueue(r -> r.queueUrl(url).tags(Map.of("team", "a")));
        same("tags", sqs.listQueueTags(r -> r.queueUrl(url)).tags(), Map.of("team", "a"));
        for (int i = 0; i < 3; i++) {
            create("java-page-" + i, Map.of());
        }
        same("pages", sqs.listQueuesPaginator(r -> r.queueNamePrefix("java-page-").maxResults(2)).stream().map(p -> p.queueUrls().size()).collect(Collectors.toList()), List.of(2, 1));
        SqsException e = refused("too long", SqsException.class, () -> sqs.sendMessage(r -> r.queueUrl(url).messageBody("x".repeat(2049))));
        same("its code", e.awsErrorDetails().errorCode(), "InvalidParameterValue");
    }

    static void messages() {
        String url = create("java-messages", Map.of());
        String body = "grün <&>\"\r\n☃ 😀";
        byte[] every = new byte[256];
        for (int i = 0; i < 256; i++) {
            every[i] = (byte) i;
        }
        Map<String, MessageAttributeValue> attributes = Map.of(
            "text", MessageAttributeValue.builder().dataType("String").stringValue("ä").build(),
            "number", MessageAttributeValue.builder().dataType("Number").stringValue("1.5").build(),
            "bytes", MessageAttributeValue.builder().dataType("Binary.raw").binaryValue(SdkBytes.fromByteArray(every)).build());
        SendMessageResponse sent = sqs.sendMessage(r -> r.queueUrl(url).messageBody(body).messageAttributes(attributes)
            .messageSystemAttributes(Map.of(MessageSystemAttributeNameForSends.AWS_TRACE_HEADER, MessageSystemAttributeValue.builder().dataType("String").stringValue("Root=1-a").build())));
        Message m = take(url).get(0);
        same("body", m.body(), body);
        same("id", m.messageId(), sent.messageId());
        same("attributes", m.messageAttributes(), attributes);
        same("digest", m.md5OfMessageAttributes(), sent.md5OfMessageAttributes());
        same("trace", m.attributes().get(MessageSystemAttributeName.AWS_TRACE_HEADER), "Root=1-a");
        sqs.changeMessageVisibility(r -> r.queueUrl(url).receiptHandle(m.receiptHandle()).visibilityTimeout(0));
        Message again = take(url).get(0);
        same("count", again.attributes().get(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT), "2");
        sqs.deleteMessage(r -> r.queueUrl(url).receiptHandle(again.receiptHandle()));
        same("deleted", attribute(url, QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES_NOT_VISIBLE), "0");
        refused("a handle that is none", ReceiptHandleIsInvalidException.class, () -> sqs.deleteMessage(r -> r.queueUrl(url).receiptHandle("nonsense")));
        refused("control characters", InvalidMessageContentsException.class, () -> sqs.sendMessage(r -> r.queueUrl(url).messageBody("\u0001")));
    }

    static void batches() {
        String url = create("java-batch", Map.of());
        SendMessageBatchResponse sent = sqs.sendMessageBatch(r -> r.queueUrl(url).entries(e -> e.id("a").messageBody("1"), e -> e.id("late").messageBody("2").delaySeconds(901), e -> e.id("c").messageBody("3")));
        same("sent", sent.successful().stream().map(SendMessageBatchResultEntry::id).collect(Collectors.toList()), List.of("a", "c"));
        same("not sent", sent.failed().stream().map(f -> f.id() + " " + f.code() + " " + f.senderFault()).collect(Collectors.toList()), List.of("late InvalidParameterValue true"));
        String handle = take(url).get(0).receiptHandle();
        DeleteMessageBatchResponse out = sqs.deleteMessageBatch(r -> r.queueUrl(url).entries(e -> e.id("a").receiptHandle(handle), e -> e.id("b").receiptHandle("nonsense")));
        same("removed", out.successful().stream().map(DeleteMessageBatchResultEntry::id).collect(Collectors.toList()), List.of("a"));
        same("not removed", out.failed().stream().map(f -> f.id() + " " + f.code()).collect(Collectors.toList()), List.of("b ReceiptHandleIsInvalid"));
        refused("two of one id", BatchEntryIdsNotDistinctException.class, () -> sqs.sendMessageBatch(r -> r.queueUrl(url).entries(e -> e.id("a").messageBody("1"), e -> e.id("a").messageBody("1"))));
    }

    static void fifo() {
        String url = create("java.fifo", Map.of("FifoQueue", "true", "ContentBasedDeduplication", "true"));
        List<SendMessageResponse> sent = new ArrayList<>();
        for (String[] m : new String[][] {{"1", "a"}, {"2", "a"}, {"3", "b"}, {"1", "a"}}) {
            sent.add(sqs.sendMessage(r -> r.queueUrl(url).messageBody(m[0]).messageGroupId(m[1])));
        }
        same("a duplicate", sent.get(3).messageId() + sent.get(3).sequenceNumber(), sent.get(0).messageId() + sent.get(0).sequenceNumber());
        same("numbers grow", sent.get(0).sequenceNumber().compareTo(sent.get(1).sequenceNumber()) < 0, true);
        Message head = take(url, 1, 5).get(0);
        same("the head", head.body(), "1");
        same("its group is locked", bodies(take(url)), List.of("3"));
        sqs.deleteMessage(r -> r.queueUrl(url).receiptHandle(head.receiptHandle()));
        same("and free again", bodies(take(url)), List.of("2"));
    }

    static void deadLetters() throws InterruptedException {
        String dlq = create("java-dead", Map.of());
        String url = create("java-mortal", Map.of("VisibilityTimeout", "0", "RedrivePolicy", "{\"deadLetterTargetArn\":\"" + arn(dlq) + "\",\"maxReceiveCount\":1}"));
        same("sources", sqs.listDeadLetterSourceQueues(r -> r.queueUrl(dlq)).queueUrls(), List.of(url));
        sqs.sendMessage(r -> r.queueUrl(url).messageBody("x"));
        same("once", bodies(take(url)), List.of("x"));
        same("not again", take(url, 10, 0), List.of());
        same("a dead letter", take(dlq).get(0).attributes().get(MessageSystemAttributeName.DEAD_LETTER_QUEUE_SOURCE_ARN), arn(url));
        sqs.purgeQueue(r -> r.queueUrl(dlq));
        sqs.sendMessage(r -> r.queueUrl(dlq).messageBody("y"));
        sqs.startMessageMoveTask(r -> r.sourceArn(arn(dlq)).destinationArn(arn(url)));
        same("moved", bodies(take(url)), List.of("y"));
        ListMessageMoveTasksResultEntry task = sqs.listMessageMoveTasks(r -> r.sourceArn(arn(dlq))).results().get(0);
        same("the task", task.status() + " " + task.approximateNumberOfMessagesMoved(), "COMPLETED 1");
        refused("a source that is not there", ResourceNotFoundException.class, () -> sqs.startMessageMoveTask(r -> r.sourceArn(arn(dlq) + "x")));
    }

    static void topics() {
        String topic = sns.createTopic(r -> r.name("java-news")).topicArn();
        String raw = create("java-raw", Map.of()), letters = create("java-letters", Map.of());
        for (String url : List.of(raw, letters)) {
            String policy = "{\"Statement\":{\"Effect\":\"Allow\",\"Principal\":{\"Service\":\"sns.amazonaws.com\"},\"Action\":\"sqs:SendMessage\",\"Resource\":\"" + arn(url)
                + "\",\"Condition\":{\"ArnEquals\":{\"aws:SourceArn\":\"" + topic + "\"}}}}";
            sqs.setQueueAttributes(r -> r.queueUrl(url).attributes(Map.of(QueueAttributeName.POLICY, policy)));
        }
        String filtered = sns.subscribe(r -> r.topicArn(topic).protocol("sqs").endpoint(arn(raw)).returnSubscriptionArn(true)
            .attributes(Map.of("RawMessageDelivery", "true", "FilterPolicy", "{\"shop\":[{\"suffix\":\"-1\"}],\"gone\":[{\"exists\":false}]}"))).subscriptionArn();
        sns.subscribe(r -> r.topicArn(topic).protocol("sqs").endpoint(arn(letters)));
        for (String shop : List.of("eu-1", "eu-2")) {
            sns.publish(r -> r.topicArn(topic).message(shop).messageAttributes(Map.of("shop",
                software.amazon.awssdk.services.sns.model.MessageAttributeValue.builder().dataType("String").stringValue(shop).build())));
        }
        List<Message> got = take(raw);
        same("filtered and raw", bodies(got), List.of("eu-1"));
        same("its attributes", got.get(0).messageAttributes().get("shop").stringValue(), "eu-1");
        String all = String.join("\n", bodies(take(letters)));
        same("all, in envelopes", List.of(all.contains("\"Message\" : \"eu-1\""), all.contains("\"Message\" : \"eu-2\""), all.contains("\"TopicArn\" : \"" + topic + "\"")), List.of(true, true, true));
        same("batch", sns.publishBatch(r -> r.topicArn(topic).publishBatchRequestEntries(PublishBatchRequestEntry.builder().id("a").message("1").build())).successful().get(0).id(), "a");
        refused("a filter that is none", InvalidParameterException.class, () -> sns.setSubscriptionAttributes(r -> r.subscriptionArn(filtered).attributeName("FilterPolicy").attributeValue("{\"a\":1}")));
        refused("a topic that is not there", NotFoundException.class, () -> sns.publish(r -> r.topicArn(topic + "x").message("x")));
        sns.deleteTopic(r -> r.topicArn(topic));
        same("deleted", sns.listTopicsPaginator().topics().stream().filter(t -> t.topicArn().equals(topic)).count(), 0L);
    }

    // The SDK's own batching: sends join, receives are prefetched.
    static void batchManager() {
        String url = create("java-manager", Map.of());
        try (SqsAsyncClient async = SqsAsyncClient.builder().endpointOverride(SERVER).build(); var manager = async.batchManager()) {
            var sends = IntStream.range(0, 37).mapToObj(i -> manager.sendMessage(r -> r.queueUrl(url).messageBody("m" + i))).collect(Collectors.toList());
            sends.forEach(java.util.concurrent.CompletableFuture::join);
            List<String> got = new ArrayList<>();
            for (int empty = 0; got.size() < 37 && empty < 10; empty++) {
                for (Message m : manager.receiveMessage(r -> r.queueUrl(url).waitTimeSeconds(1)).join().messages()) {
                    got.add(m.body());
                    manager.deleteMessage(r -> r.queueUrl(url).receiptHandle(m.receiptHandle())).join();
                    empty = 0;
                }
            }
            same("each once", got.stream().distinct().count() + " of " + got.size(), "37 of 37");
        }
        same("nothing left", attribute(url, QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES), "0");
    }

    public static void main(String[] arguments) throws Exception {
        queues();
        messages();
        batches();
        fifo();
        deadLetters();
        topics();
        batchManager();
        System.out.println("AWS SDK for Java " + VersionInfo.SDK_VERSION + ": " + checks + " checks passed");
    }
}
