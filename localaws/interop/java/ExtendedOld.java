// Amazon's extended client for SQS in Java, version 1, as the other end of TestExtendedClients in package snssqs; see
// extended.py, which is the same in Python.

import com.amazon.sqs.javamessaging.AmazonSQSExtendedClient;
import com.amazon.sqs.javamessaging.ExtendedClientConfiguration;
import com.amazonaws.client.builder.AwsClientBuilder.EndpointConfiguration;
import com.amazonaws.services.s3.AmazonS3;
import com.amazonaws.services.s3.AmazonS3ClientBuilder;
import com.amazonaws.services.sqs.AmazonSQS;
import com.amazonaws.services.sqs.AmazonSQSClientBuilder;
import com.amazonaws.services.sqs.model.Message;
import com.amazonaws.services.sqs.model.MessageAttributeValue;
import com.amazonaws.services.sqs.model.ReceiveMessageRequest;
import com.amazonaws.services.sqs.model.SendMessageBatchRequest;
import com.amazonaws.services.sqs.model.SendMessageBatchRequestEntry;
import com.amazonaws.services.sqs.model.SendMessageRequest;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class ExtendedOld {
    public static void main(String[] args) throws Exception {
        ObjectMapper json = new ObjectMapper();
        JsonNode given = json.readTree(System.in);
        EndpointConfiguration endpoint = new EndpointConfiguration(System.getenv("AWS_ENDPOINT_URL"), "us-east-1");
        AmazonS3 s3 = AmazonS3ClientBuilder.standard().withEndpointConfiguration(endpoint).withPathStyleAccessEnabled(true).build();
        ExtendedClientConfiguration c = new ExtendedClientConfiguration();
        c.setLargePayloadSupportEnabled(s3, given.get("bucket").asText());
        c.setAlwaysThroughS3(given.path("always").asBoolean());
        if (!given.path("legacy").asBoolean()) { // version 1.0 has no other
            c.getClass().getMethod("setLegacyReservedAttributeNameDisabled").invoke(c);
        }
        AmazonSQS sqs = new AmazonSQSExtendedClient(AmazonSQSClientBuilder.standard().withEndpointConfiguration(endpoint).build(), c);
        if (args[0].equals("send")) {
            send(sqs, args[1], given);
        } else {
            json.writeValue(System.out, receive(sqs, args[1], given));
        }
        System.exit(0); // the SDK's threads do not end
    }

    static void send(AmazonSQS sqs, String url, JsonNode given) {
        String group = url.endsWith(".fifo") ? "g" : null;
        JsonNode bodies = given.get("bodies");
        List<SendMessageBatchRequestEntry> batch = new ArrayList<>();
        for (int i = 0; i < bodies.size(); i++) {
            Map<String, MessageAttributeValue> attributes = new HashMap<>(); // the client adds one
            for (int a = 0; a < given.path("attributes").asInt(); a++) {
                attributes.put("a" + a, new MessageAttributeValue().withDataType("String").withStringValue("x"));
            }
            String body = bodies.get(i).asText();
            if (i < bodies.size() / 2) {
                sqs.sendMessage(new SendMessageRequest(url, body).withMessageAttributes(attributes).withMessageGroupId(group));
            } else {
                batch.add(new SendMessageBatchRequestEntry("" + i, body).withMessageAttributes(attributes).withMessageGroupId(group));
            }
        }
        if (!sqs.sendMessageBatch(new SendMessageBatchRequest(url, batch)).getFailed().isEmpty()) {
            throw new IllegalStateException("an entry of the batch has failed");
        }
    }

    static List<String> receive(AmazonSQS sqs, String url, JsonNode given) {
        List<String> names = new ArrayList<>();
        given.get("names").forEach(n -> names.add(n.asText()));
        List<String> bodies = new ArrayList<>();
        while (bodies.size() < given.get("count").asInt()) {
            List<Message> messages = sqs.receiveMessage(new ReceiveMessageRequest(url).withMaxNumberOfMessages(10)
                    .withWaitTimeSeconds(2).withMessageAttributeNames(names)).getMessages();
            if (messages.isEmpty()) {
                throw new IllegalStateException("received " + bodies.size() + " messages");
            }
            for (Message m : messages) {
                sqs.changeMessageVisibility(url, m.getReceiptHandle(), 60);
                sqs.deleteMessage(url, m.getReceiptHandle());
                bodies.add(m.getBody());
            }
        }
        return bodies;
    }
}
