// Amazon's extended client for SQS in Java, version 2, as the other end of TestExtendedClients in package snssqs; see
// extended.py, which is the same in Python. "async" as the first argument takes the asynchronous client.

import com.amazon.sqs.javamessaging.AmazonSQSExtendedAsyncClient;
import com.amazon.sqs.javamessaging.AmazonSQSExtendedClient;
import com.amazon.sqs.javamessaging.ExtendedAsyncClientConfiguration;
import com.amazon.sqs.javamessaging.ExtendedClientConfiguration;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.sqs.SqsAsyncClient;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.ChangeMessageVisibilityRequest;
import software.amazon.awssdk.services.sqs.model.DeleteMessageRequest;
import software.amazon.awssdk.services.sqs.model.Message;
import software.amazon.awssdk.services.sqs.model.MessageAttributeValue;
import software.amazon.awssdk.services.sqs.model.ReceiveMessageRequest;
import software.amazon.awssdk.services.sqs.model.ReceiveMessageResponse;
import software.amazon.awssdk.services.sqs.model.SendMessageBatchRequest;
import software.amazon.awssdk.services.sqs.model.SendMessageBatchRequestEntry;
import software.amazon.awssdk.services.sqs.model.SendMessageRequest;

public class Extended {
    // Queue is what both clients can do.
    interface Queue {
        void send(SendMessageRequest r) throws Exception;

        boolean sendBatch(SendMessageBatchRequest r) throws Exception;

        ReceiveMessageResponse receive(ReceiveMessageRequest r) throws Exception;

        void change(ChangeMessageVisibilityRequest r) throws Exception;

        void delete(DeleteMessageRequest r) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        boolean async = args[0].equals("async");
        String verb = args[async ? 1 : 0], url = args[async ? 2 : 1];
        ObjectMapper json = new ObjectMapper();
        JsonNode given = json.readTree(System.in);
        URI endpoint = URI.create(System.getenv("AWS_ENDPOINT_URL"));
        Queue queue = async ? async(given, endpoint) : sync(given, endpoint);
        if (verb.equals("send")) {
            send(queue, url, given);
        } else {
            json.writeValue(System.out, receive(queue, url, given));
        }
        System.exit(0); // the SDK's threads do not end
    }

    static Queue sync(JsonNode given, URI endpoint) {
        S3Client s3 = S3Client.builder().endpointOverride(endpoint).forcePathStyle(true).build();
        ExtendedClientConfiguration c = new ExtendedClientConfiguration()
                .withPayloadSupportEnabled(s3, given.get("bucket").asText(), true)
                .withAlwaysThroughS3(given.path("always").asBoolean());
        if (!given.path("legacy").asBoolean()) {
            c = c.withLegacyReservedAttributeNameDisabled();
        }
        SqsClient sqs = new AmazonSQSExtendedClient(SqsClient.builder().endpointOverride(endpoint).build(), c);
        return new Queue() {
            public void send(SendMessageRequest r) { sqs.sendMessage(r); }

            public boolean sendBatch(SendMessageBatchRequest r) { return sqs.sendMessageBatch(r).failed().isEmpty(); }

            public ReceiveMessageResponse receive(ReceiveMessageRequest r) { return sqs.receiveMessage(r); }

            public void change(ChangeMessageVisibilityRequest r) { sqs.changeMessageVisibility(r); }

            public void delete(DeleteMessageRequest r) { sqs.deleteMessage(r); }
        };
    }

    static Queue async(JsonNode given, URI endpoint) {
        S3AsyncClient s3 = S3AsyncClient.builder().endpointOverride(endpoint).forcePathStyle(true).build();
        ExtendedAsyncClientConfiguration c = new ExtendedAsyncClientConfiguration()
                .withPayloadSupportEnabled(s3, given.get("bucket").asText(), true)
                .withAlwaysThroughS3(given.path("always").asBoolean());
        if (!given.path("legacy").asBoolean()) {
            c = c.withLegacyReservedAttributeNameDisabled();
        }
        SqsAsyncClient sqs = new AmazonSQSExtendedAsyncClient(SqsAsyncClient.builder().endpointOverride(endpoint).build(), c);
        return new Queue() {
            public void send(SendMessageRequest r) throws Exception { sqs.sendMessage(r).get(); }

            public boolean sendBatch(SendMessageBatchRequest r) throws Exception { return sqs.sendMessageBatch(r).get().failed().isEmpty(); }

            public ReceiveMessageResponse receive(ReceiveMessageRequest r) throws Exception { return sqs.receiveMessage(r).get(); }

            public void change(ChangeMessageVisibilityRequest r) throws Exception { sqs.changeMessageVisibility(r).get(); }

            public void delete(DeleteMessageRequest r) throws Exception { sqs.deleteMessage(r).get(); }
        };
    }

    static void send(Queue queue, String url, JsonNode given) throws Exception {
        String group = url.endsWith(".fifo") ? "g" : null;
        Map<String, MessageAttributeValue> attributes = new HashMap<>();
        for (int i = 0; i < given.path("attributes").asInt(); i++) {
            attributes.put("a" + i, MessageAttributeValue.builder().dataType("String").stringValue("x").build());
        }
        JsonNode bodies = given.get("bodies");
        List<SendMessageBatchRequestEntry> batch = new ArrayList<>();
        for (int i = 0; i < bodies.size(); i++) {
            String body = bodies.get(i).asText();
            if (i < bodies.size() / 2) {
                queue.send(SendMessageRequest.builder().queueUrl(url).messageBody(body).messageAttributes(attributes)
                        .messageGroupId(group).build());
            } else {
                batch.add(SendMessageBatchRequestEntry.builder().id("" + i).messageBody(body).messageAttributes(attributes)
                        .messageGroupId(group).build());
            }
        }
        if (!queue.sendBatch(SendMessageBatchRequest.builder().queueUrl(url).entries(batch).build())) {
            throw new IllegalStateException("an entry of the batch has failed");
        }
    }

    static List<String> receive(Queue queue, String url, JsonNode given) throws Exception {
        List<String> names = new ArrayList<>();
        given.get("names").forEach(n -> names.add(n.asText()));
        List<String> bodies = new ArrayList<>();
        while (bodies.size() < given.get("count").asInt()) {
            List<Message> messages = queue.receive(ReceiveMessageRequest.builder().queueUrl(url).maxNumberOfMessages(10)
                    .waitTimeSeconds(2).messageAttributeNames(names).build()).messages();
            if (messages.isEmpty()) {
                throw new IllegalStateException("received " + bodies.size() + " messages");
            }
            for (Message m : messages) {
                queue.change(ChangeMessageVisibilityRequest.builder().queueUrl(url).receiptHandle(m.receiptHandle())
                        .visibilityTimeout(60).build());
                queue.delete(DeleteMessageRequest.builder().queueUrl(url).receiptHandle(m.receiptHandle()).build());
                bodies.add(m.body());
            }
        }
        return bodies;
    }
}
