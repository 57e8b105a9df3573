package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/godwitmq/godwit/kafka/internal/client"
)

// connection returns the options of all clients.
func (o *Options) connection(log *slog.Logger) (client.Connection, error) {
	c := client.Connection{Last: o.Client, Common: []kgo.Opt{
		kgo.SeedBrokers(o.Brokers...), kgo.ClientID(cmp.Or(o.ClientID, defaultClientID)),
		kgo.WithLogger(client.Logger{To: log}),
	}}
	if o.TLS != nil {
		c.Common = append(c.Common, kgo.DialTLSConfig(o.TLS))
	}
	if o.SASL != nil {
		m, err := o.SASL.mechanism()
		if err != nil {
			return c, err
		}
		c.Common = append(c.Common, kgo.SASL(m))
	}
	if o.Rack != "" {
		c.Common = append(c.Common, kgo.Rack(o.Rack))
	}
	return c, nil
}

// refuseGroups returns an error if the caller's own options name a group. Commits would use that group, but dead
// letters, tiers and the lag use that of the channel.
func refuseGroups(c *kgo.Client) error {
	for name, opt := range map[string]any{"ConsumerGroup": kgo.ConsumerGroup, "ShareGroup": kgo.ShareGroup} {
		if group, _ := c.OptValue(opt).(string); group != "" {
			return fmt.Errorf("kafka: Options.Client has kgo.%s(%q), but a consumer's group has the name of its "+
				"channel, with Namespace before it: leave out this option, and name the group in kafka.Options.Names",
				name, group)
		}
	}
	return nil
}

// The mechanisms, by Kafka's names.
const (
	mechanismPlain  = "PLAIN"
	mechanism256    = "SCRAM-SHA-256"
	mechanism512    = "SCRAM-SHA-512"
	mechanismBearer = "OAUTHBEARER"
	mechanismAWS    = "AWS_MSK_IAM"
)

// mechanism is that of franz-go. It returns an error for credentials that the mechanism does not use, or lacks.
func (s *SASL) mechanism() (m sasl.Mechanism, err error) {
	byToken, byKeys := s.Mechanism == mechanismBearer, s.Mechanism == mechanismAWS
	switch s.Mechanism {
	case mechanismPlain:
		m = plain.Auth{User: s.User, Pass: s.Password}.AsMechanism()
	case mechanism256:
		m = scram.Auth{User: s.User, Pass: s.Password}.AsSha256Mechanism()
	case mechanism512:
		m = scram.Auth{User: s.User, Pass: s.Password}.AsSha512Mechanism()
	case mechanismAWS:
		m = mskIAM(s.Credentials)
	case mechanismBearer:
		m = bearer{oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
			token, err := s.Token(ctx)
			return oauth.Auth{Token: token}, err
		})}
	default:
		return nil, fmt.Errorf("kafka: SASL.Mechanism is %q: use PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or "+
			"AWS_MSK_IAM", s.Mechanism)
	}
	switch {
	case !byToken && !byKeys && s.User == "":
		err = fmt.Errorf("kafka: SASL.Mechanism is %s, but SASL.User is empty: set it, and SASL.Password", s.Mechanism)
	case byToken && s.Token == nil:
		err = fmt.Errorf("kafka: SASL.Mechanism is OAUTHBEARER, but SASL.Token is nil: set it to a function that " +
			"returns the token")
	case !byToken && s.Token != nil:
		err = fmt.Errorf("kafka: SASL.Token has no effect with SASL.Mechanism %s: leave it out, or use OAUTHBEARER",
			s.Mechanism)
	case !byKeys && s.Credentials != nil:
		err = fmt.Errorf("kafka: SASL.Credentials has no effect with SASL.Mechanism %s: leave it out, or use AWS_MSK_IAM",
			s.Mechanism)
	}
	return m, err
}

// bearer is the mechanism OAUTHBEARER with a clear error for a refused token: brokers answer it with a challenge, which
// franz-go takes for a defect of the answer.
type bearer struct{ sasl.Mechanism }

func (b bearer) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	s, first, err := b.Mechanism.Authenticate(ctx, host)
	return bearerSession{s}, first, err
}

type bearerSession struct{ sasl.Session }

func (s bearerSession) Challenge(challenge []byte) (done bool, answer []byte, err error) {
	if len(challenge) > 0 {
		return false, nil, fmt.Errorf("the broker refuses the token of SASL.Token, with the answer %s: %w",
			strings.ToValidUTF8(string(challenge), ""), kerr.SaslAuthenticationFailed)
	}
	return s.Session.Challenge(challenge)
}

// compression is a codec, by the name that topics use for it.
func compression(name string) (kgo.CompressionCodec, error) {
	codecs := map[string]kgo.CompressionCodec{
		"": kgo.NoCompression(), "producer": kgo.NoCompression(), "uncompressed": kgo.NoCompression(),
		"gzip":   kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	codec, ok := codecs[name]
	if !ok {
		return codec, fmt.Errorf("kafka: Compression is %q: use gzip, snappy, lz4, zstd, uncompressed or producer", name)
	}
	return codec, nil
}

// AWSCredentials are the keys of a user or a role of AWS, for the mechanism AWS_MSK_IAM.
type AWSCredentials struct {
	AccessKeyID, SecretAccessKey string
	SessionToken                 string // of a role; "": the keys of a user
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
