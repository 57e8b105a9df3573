package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/snssqs"
)

// backendFlags are the flags with which an operator's command finds the channels. Addresses and credentials come from
// the environment, as for any client of AWS or Kafka.
type backendFlags struct {
	name      string // "aws" or "kafka"; "": the environment decides
	namespace string
}

const (
	onAWS   = "aws"
	onKafka = "kafka"
)

func (b *backendFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&b.name, "backend", "", "`aws` or `kafka`; without it, the one that the environment names")
	f.StringVar(&b.namespace, "namespace", "", "the `namespace` of the channels")
}

// open opens the backend. It makes no request.
func (b *backendFlags) open(ctx context.Context, cmd *cobra.Command) (driver.Backend, error) {
	name, err := b.choose(os.Getenv)
	if err != nil {
		return nil, usage(cmd, err)
	}
	if name == onKafka {
		return kafka.Open(ctx, &kafka.Options{Namespace: b.namespace})
	}
	return snssqs.Open(ctx, &snssqs.Options{Namespace: b.namespace})
}

// choose returns the name of the backend.
func (b *backendFlags) choose(env func(string) string) (string, error) {
	aws := ""
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		if aws == "" && env(name) != "" {
			aws = name
		}
	}
	brokers := env("KAFKA_BOOTSTRAP_SERVERS")
	switch {
	case b.name == onAWS, b.name == onKafka:
		return b.name, nil
	case b.name != "":
		return "", fmt.Errorf("--backend is %q: use %s or %s", b.name, onAWS, onKafka)
	case brokers != "" && aws != "":
		return "", fmt.Errorf("KAFKA_BOOTSTRAP_SERVERS and %s are both set: say which with --backend %s or --backend %s",
			aws, onKafka, onAWS)
	case brokers != "":
		return onKafka, nil
	case aws != "":
		return onAWS, nil
	}
	return "", fmt.Errorf("neither AWS nor Kafka is set in the environment: set AWS_REGION (or AWS_PROFILE, or " +
		"AWS_ENDPOINT_URL as `godwit local` prints it), or KAFKA_BOOTSTRAP_SERVERS")
}
