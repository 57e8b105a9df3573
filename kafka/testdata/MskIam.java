// What Amazon's own library sends to authenticate at MSK with AWS_MSK_IAM, which is msk_iam.json: with
// software.amazon.msk:aws-msk-iam-auth:2.3.2 and its dependencies in the class path,
//   java -cp 'lib/*' MskIam.java >msk_iam.json
// The keys are those of the examples in AWS's documentation.

import java.nio.charset.StandardCharsets;

import software.amazon.awssdk.auth.credentials.AwsSessionCredentials;
import software.amazon.msk.auth.iam.internals.AWS4SignedPayloadGenerator;
import software.amazon.msk.auth.iam.internals.AuthenticationRequestParams;

public class MskIam {
  public static void main(String[] args) throws Exception {
    var keys = AwsSessionCredentials.create("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "to+ken/with=signs");
    var params = AuthenticationRequestParams.create("b-1.shop.abc123.c2.kafka.eu-west-1.amazonaws.com", keys, "godwit");
    System.out.println(new String(new AWS4SignedPayloadGenerator().signedPayload(params), StandardCharsets.UTF_8));
  }
}
