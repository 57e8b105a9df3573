package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/godwitmq/godwit/local/kafkalocal"
)

// checkKafka checks the options for Kafka. An error means wrong usage.
func (o *localOptions) checkKafka() error {
	if o.kafka == "" {
		if o.kafkaData != "" {
			return errors.New("--kafka-data needs --kafka")
		}
		return nil
	}
	host, port, err := net.SplitHostPort(o.kafka)
	if err != nil {
		return fmt.Errorf("--kafka %q is not of the form host:port, like 127.0.0.1:9092 or :9092", o.kafka)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("--kafka %q stands for all interfaces, and Kafka tells its clients where to connect: name "+
			"one address of this machine", o.kafka)
	}
	if host == "" {
		o.kafka = net.JoinHostPort("127.0.0.1", port)
	}
	return nil
}

// serveKafka serves until the server is closed.
func (o *localOptions) serveKafka(errOut io.Writer) (*kafkalocal.Server, error) {
	server, err := kafkalocal.NewServer(&kafkalocal.ServerOptions{
		Addr: o.kafka, Dir: o.kafkaData,
		Logger: slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return nil, fmt.Errorf("%w (--kafka :0 chooses a free port)", err)
	}
	warnBeyondLoopback(errOut, server.Addr())
	return server, nil
}
