package kafka

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
)

// AWSCredentials are the keys of a user or a role of AWS, for the mechanism AWS_MSK_IAM.
type AWSCredentials struct {
	AccessKeyID, SecretAccessKey string
	SessionToken                 string // of a role; "": the keys are those of a user
}

// awsEnvironment reads the keys from the environment variables that all clients of AWS know.
func awsEnvironment(context.Context) (AWSCredentials, error) {
	c := AWSCredentials{
		AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		SessionToken: os.Getenv("AWS_SESSION_TOKEN"),
	}
	if c.AccessKeyID == "" || c.SecretAccessKey == "" {
		return c, errors.New("AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is not in the environment: set both, or " +
			"kafka.SASL.Credentials for keys from elsewhere")
	}
	return c, nil
}

// mskIAM is the mechanism of Amazon MSK: for each connection, a signature of the broker's host that is valid for five
// minutes.
func mskIAM(credentials func(ctx context.Context) (AWSCredentials, error)) sasl.Mechanism {
	if credentials == nil {
		credentials = awsEnvironment
	}
	return aws.ManagedStreamingIAM(func(ctx context.Context) (aws.Auth, error) {
		c, err := credentials(ctx)
		if err != nil {
			return aws.Auth{}, fmt.Errorf("get the credentials for AWS_MSK_IAM: %w", err)
		}
		return aws.Auth{
			AccessKey: c.AccessKeyID, SecretKey: c.SecretAccessKey, SessionToken: c.SessionToken, UserAgent: userAgent,
		}, nil
	})
}

// userAgent is the name of the client in the policies of MSK and in CloudTrail. Without it, franz-go would write the
// name of the machine.
const userAgent = "godwit"
