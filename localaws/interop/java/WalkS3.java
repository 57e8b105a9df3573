import java.net.URI;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
import software.amazon.awssdk.core.ResponseBytes;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.*;
import software.amazon.awssdk.services.s3.presigner.S3Presigner;

// A walk through S3 with the AWS SDK for Java v2, its synchronous and its asynchronous client, which sign chunks and
// send checksums in trailers, and its multipart client.
public class WalkS3 {
    static final URI SERVER = URI.create(System.getenv("AWS_ENDPOINT_URL"));
    static final S3Client s3 = S3Client.builder().endpointOverride(SERVER).forcePathStyle(true).build();
    static final S3Client chunked = S3Client.builder().endpointOverride(SERVER)
        .serviceConfiguration(c -> c.pathStyleAccessEnabled(true).chunkedEncodingEnabled(true)).build();
    static final S3AsyncClient async = S3AsyncClient.builder().endpointOverride(SERVER).forcePathStyle(true).build();
    static final String BUCKET = "java-files";
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
        } catch (CompletionException | S3Exception thrown) {
            S3Exception e = (S3Exception) (thrown instanceof S3Exception ? thrown : thrown.getCause());
            String got = e.awsErrorDetails() == null ? "" : e.awsErrorDetails().errorCode();
            same(what + " (" + e.getMessage() + ")", got + " " + e.statusCode(), code + " " + status);
            return;
        }
        throw new AssertionError(what + ": no error, want " + code);
    }

    static byte[] bytes(int n) {
        byte[] all = new byte[n];
        new Random(7).nextBytes(all);
        return all;
    }

    static byte[] get(String key) {
        return s3.getObjectAsBytes(r -> r.bucket(BUCKET).key(key).checksumMode(ChecksumMode.ENABLED)).asByteArray();
    }

    static void synchronous() {
        s3.createBucket(r -> r.bucket(BUCKET));
        byte[] body = bytes(300_000);
        for (ChecksumAlgorithm a : List.of(ChecksumAlgorithm.CRC32, ChecksumAlgorithm.CRC32_C, ChecksumAlgorithm.SHA1, ChecksumAlgorithm.SHA256)) {
            for (S3Client c : List.of(s3, chunked)) {
                PutObjectResponse put = c.putObject(r -> r.bucket(BUCKET).key("ö +%/" + a).checksumAlgorithm(a), RequestBody.fromBytes(body));
                same("type of " + a, put.checksumTypeAsString(), "FULL_OBJECT");
                same("body of " + a, Arrays.equals(get("ö +%/" + a), body), true);
            }
        }
        same("no aws-chunked", s3.headObject(r -> r.bucket(BUCKET).key("ö +%/SHA256")).contentEncoding(), null);
        s3.putObject(r -> r.bucket(BUCKET).key("stream"), RequestBody.fromInputStream(new java.io.ByteArrayInputStream(body), body.length));
        same("a stream", Arrays.equals(get("stream"), body), true);
        refused("a wrong checksum", "BadDigest", 400,
            () -> s3.putObject(r -> r.bucket(BUCKET).key("bad").checksumCRC32("AAAAAA=="), RequestBody.fromString("x")));
        refused("nothing is stored", "NoSuchKey", 404, () -> get("bad"));
        refused("if absent", "PreconditionFailed", 412,
            () -> s3.putObject(r -> r.bucket(BUCKET).key("stream").ifNoneMatch("*"), RequestBody.fromString("x")));
        refused("a big upload to no bucket", "NoSuchBucket", 404,
            () -> s3.putObject(r -> r.bucket("java-none").key("k"), RequestBody.fromBytes(bytes(9_000_000))));
        s3.copyObject(r -> r.sourceBucket(BUCKET).sourceKey("stream").destinationBucket(BUCKET).destinationKey("copy"));
        same("copy", Arrays.equals(get("copy"), body), true);
        same("keys", s3.listObjectsV2Paginator(r -> r.bucket(BUCKET).maxKeys(2)).contents().stream().map(S3Object::key).collect(Collectors.toList()),
            List.of("copy", "stream", "ö +%/CRC32", "ö +%/CRC32C", "ö +%/SHA1", "ö +%/SHA256"));
        same("deleted", s3.deleteObjects(r -> r.bucket(BUCKET).delete(d -> d.objects(o -> o.key("copy"), o -> o.key("none")))).deleted().size(), 2);
        s3.putBucketLifecycleConfiguration(r -> r.bucket(BUCKET).lifecycleConfiguration(c -> c.rules(rule -> rule.id("r")
            .status("Enabled").filter(f -> f.prefix("tmp/")).expiration(e -> e.days(3)))));
        same("lifecycle", s3.getBucketLifecycleConfiguration(r -> r.bucket(BUCKET)).rules().get(0).filter().prefix(), "tmp/");
    }

    static void parts() {
        byte[] five = bytes(5 << 20);
        String id = s3.createMultipartUpload(r -> r.bucket(BUCKET).key("parts").checksumAlgorithm(ChecksumAlgorithm.SHA256)).uploadId();
        UploadPartResponse one = s3.uploadPart(r -> r.bucket(BUCKET).key("parts").uploadId(id).partNumber(1).checksumAlgorithm(ChecksumAlgorithm.SHA256), RequestBody.fromBytes(five));
        UploadPartResponse two = s3.uploadPart(r -> r.bucket(BUCKET).key("parts").uploadId(id).partNumber(2).checksumAlgorithm(ChecksumAlgorithm.SHA256), RequestBody.fromString("end"));
        CompleteMultipartUploadResponse done = s3.completeMultipartUpload(r -> r.bucket(BUCKET).key("parts").uploadId(id).multipartUpload(m -> m.parts(
            p -> p.partNumber(1).eTag(one.eTag()).checksumSHA256(one.checksumSHA256()),
            p -> p.partNumber(2).eTag(two.eTag()).checksumSHA256(two.checksumSHA256()))));
        same("composite", done.checksumTypeAsString(), "COMPOSITE");
        same("parts", get("parts").length, (5 << 20) + 3);
    }

    static void asynchronous() {
        byte[] body = bytes(300_000);
        async.putObject(r -> r.bucket(BUCKET).key("async").checksumAlgorithm(ChecksumAlgorithm.CRC32_C), AsyncRequestBody.fromBytes(body)).join();
        ResponseBytes<GetObjectResponse> got = async.getObject(r -> r.bucket(BUCKET).key("async"), AsyncResponseTransformer.toBytes()).join();
        same("async", Arrays.equals(got.asByteArray(), body), true);
        refused("async, no key", "NoSuchKey", 404, () -> async.getObject(r -> r.bucket(BUCKET).key("none"), AsyncResponseTransformer.toBytes()).join());
        try (S3AsyncClient inParts = S3AsyncClient.builder().endpointOverride(SERVER).forcePathStyle(true).multipartEnabled(true).build()) {
            byte[] large = bytes(20 << 20);
            PutObjectResponse put = inParts.putObject(r -> r.bucket(BUCKET).key("large"), AsyncRequestBody.fromBytes(large)).join();
            same("in parts", put.eTag().contains("-"), true);
            same("large", Arrays.equals(inParts.getObject(r -> r.bucket(BUCKET).key("large"), AsyncResponseTransformer.toBytes()).join().asByteArray(), large), true);
            inParts.copyObject(r -> r.sourceBucket(BUCKET).sourceKey("large").destinationBucket(BUCKET).destinationKey("large-copy")).join();
            same("copied", s3.headObject(r -> r.bucket(BUCKET).key("large-copy")).contentLength(), (long) (20 << 20));
        }
    }

    public static void main(String[] arguments) {
        synchronous();
        parts();
        asynchronous();
        System.out.println(checks + " checks");
        System.exit(0);
    }
}
