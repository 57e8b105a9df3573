package kafka

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/godwitmq/godwit/kafka/internal/client"
)

// clientOptions are the options of every client. The options in more, of one kind of client, follow the common ones,
// and the options of the caller come last, so that they win.
func (o *Options) clientOptions(log *slog.Logger, more ...kgo.Opt) ([]kgo.Opt, error) {
	brokers, err := o.brokers()
	if err != nil {
		return nil, err
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(brokers...), kgo.ClientID(cmp.Or(o.ClientID, defaultClientID)),
		kgo.WithLogger(client.Logger{To: log}),
	}
	if o.TLS != nil {
		opts = append(opts, kgo.DialTLSConfig(o.TLS))
	}
	if o.SASL != nil {
		m, err := o.SASL.mechanism()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(m))
	}
	if o.Rack != "" {
		opts = append(opts, kgo.Rack(o.Rack))
	}
	opts = append(append(opts, more...), o.Client...)
	if err := kgo.ValidateOpts(opts...); err != nil {
		return nil, fmt.Errorf("kafka: franz-go refuses the options, also see Options.Client: %w", err)
	}
	return opts, nil
}

// brokers are the addresses in the options, or else those in the environment.
func (o *Options) brokers() ([]string, error) {
	value := os.Getenv(brokersVariable)
	switch {
	case len(o.Brokers) > 0:
		return o.Brokers, nil
	case value == "":
		return []string{defaultBroker}, nil
	}
	brokers := strings.Split(value, ",")
	for i := range brokers {
		brokers[i] = strings.TrimSpace(brokers[i])
		if _, _, err := net.SplitHostPort(brokers[i]); err != nil {
			return nil, fmt.Errorf("kafka: %q in the environment variable %s is not of the form host:port; separate "+
				"several addresses by commas: %w", brokers[i], brokersVariable, err)
		}
	}
	return brokers, nil
}

// refuseGroups returns an error if the caller's own options name a group. Commits would use that group, but dead
// letters, tiers and the lag use the name of the channel.
func refuseGroups(c *kgo.Client) error {
	for name, opt := range map[string]any{"ConsumerGroup": kgo.ConsumerGroup, "ShareGroup": kgo.ShareGroup} {
		if group, _ := c.OptValue(opt).(string); group != "" {
			return fmt.Errorf("kafka: Options.Client has kgo.%s(%q), but a consumer's group has the name of its "+
				"channel, with Namespace before it: leave out this option, and use the channel %q, or "+
				"exchange.consumer if the topic has another name", name, group, group)
		}
	}
	return nil
}

func (s *SASL) mechanism() (sasl.Mechanism, error) {
	switch s.Mechanism {
	case "PLAIN":
		return plain.Auth{User: s.User, Pass: s.Password}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: s.User, Pass: s.Password}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: s.User, Pass: s.Password}.AsSha512Mechanism(), nil
	case "OAUTHBEARER":
		if s.Token == nil {
			return nil, fmt.Errorf("kafka: SASL.Mechanism is OAUTHBEARER, but SASL.Token is nil: set it to a " +
				"function that returns the token")
		}
		return bearer{oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
			token, err := s.Token(ctx)
			return oauth.Auth{Token: token}, err
		})}, nil
	}
	return nil, fmt.Errorf("kafka: SASL.Mechanism is %q: use PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER",
		s.Mechanism)
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

// compression returns the option of producers for a codec, by the name that topics use for it.
func compression(name string) ([]kgo.Opt, error) {
	codecs := map[string]kgo.CompressionCodec{
		"": kgo.NoCompression(), "producer": kgo.NoCompression(), "uncompressed": kgo.NoCompression(),
		"gzip":   kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	codec, ok := codecs[name]
	if !ok {
		return nil, fmt.Errorf("kafka: Compression is %q: use gzip, snappy, lz4, zstd, uncompressed or producer", name)
	}
	return []kgo.Opt{kgo.ProducerBatchCompression(codec)}, nil
}
