// Amazon's extended client for SNS in Java, as the other end of TestExtendedClients in package snssqs; see extended.py.
// It can only publish. "async" as the first argument takes the asynchronous client.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.sns.SnsAsyncClient;
import software.amazon.awssdk.services.sns.SnsClient;
import software.amazon.awssdk.services.sns.model.MessageAttributeValue;
import software.amazon.awssdk.services.sns.model.PublishRequest;
import software.amazon.sns.AmazonSNSExtendedAsyncClient;
import software.amazon.sns.AmazonSNSExtendedClient;
import software.amazon.sns.SNSExtendedAsyncClientConfiguration;
import software.amazon.sns.SNSExtendedClientConfiguration;

public class ExtendedTopics {
    // Topics is what both clients can do.
    interface Topics {
        void publish(PublishRequest r) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        boolean async = args[0].equals("async");
        String verb = args[async ? 1 : 0], arn = args[async ? 2 : 1];
        if (!verb.equals("publish")) {
            throw new IllegalArgumentException(verb);
        }
        JsonNode given = new ObjectMapper().readTree(System.in);
        URI endpoint = URI.create(System.getenv("AWS_ENDPOINT_URL"));
        Topics topics = async ? async(given, endpoint) : sync(given, endpoint);
        Map<String, MessageAttributeValue> attributes = new HashMap<>();
        for (int i = 0; i < given.path("attributes").asInt(); i++) {
            attributes.put("a" + i, MessageAttributeValue.builder().dataType("String").stringValue("x").build());
        }
        for (JsonNode body : given.get("bodies")) {
            topics.publish(PublishRequest.builder().topicArn(arn).message(body.asText()).messageAttributes(attributes)
                    .messageGroupId(arn.endsWith(".fifo") ? "g" : null).build());
        }
        System.exit(0); // the SDK's threads do not end
    }

    static Topics sync(JsonNode given, URI endpoint) {
        S3Client s3 = S3Client.builder().endpointOverride(endpoint).forcePathStyle(true).build();
        SnsClient sns = new AmazonSNSExtendedClient(SnsClient.builder().endpointOverride(endpoint).build(),
                new SNSExtendedClientConfiguration().withPayloadSupportEnabled(s3, given.get("bucket").asText())
                        .withAlwaysThroughS3(given.path("always").asBoolean()));
        return r -> sns.publish(r);
    }

    static Topics async(JsonNode given, URI endpoint) {
        S3AsyncClient s3 = S3AsyncClient.builder().endpointOverride(endpoint).forcePathStyle(true).build();
        SnsAsyncClient sns = new AmazonSNSExtendedAsyncClient(SnsAsyncClient.builder().endpointOverride(endpoint).build(),
                new SNSExtendedAsyncClientConfiguration().withPayloadSupportEnabled(s3, given.get("bucket").asText())
                        .withAlwaysThroughS3(given.path("always").asBoolean()));
        return r -> sns.publish(r).get();
    }
}
