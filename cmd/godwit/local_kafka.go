package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"

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
	o.kafka = onLoopback(host, port)
	return nil
}

// onLoopback is the address to listen on; without a host, it is on loopback.
func onLoopback(host, port string) string { return net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port) }

// kafkaSeed returns the topics of Kafka in the seed file. Unknown fields of the file are the business of others.
func (o *localOptions) kafkaSeed() ([]kafkalocal.SeedTopic, error) {
	if o.seed == "" {
		return nil, nil
	}
	text, err := os.ReadFile(o.seed)
	if err != nil {
		return nil, fmt.Errorf("--seed: %w", err)
	}
	var file struct {
		Kafka []json.RawMessage `json:"kafka"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("--seed: %s: %w", o.seed, err)
	}
	topics := make([]kafkalocal.SeedTopic, len(file.Kafka))
	for i, raw := range file.Kafka {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&topics[i]); err != nil {
			return nil, fmt.Errorf("--seed: %s: kafka[%d]: %w", o.seed, i, err)
		}
	}
	return topics, nil
}

// serveKafka serves until the server is closed.
func (o *localOptions) serveKafka(ctx context.Context, errOut io.Writer) (*kafkalocal.Server, error) {
	topics, err := o.kafkaSeed()
	if err != nil {
		return nil, err
	}
	dir := o.kafkaData
	if dir == "" && o.data != "" {
		dir = filepath.Join(o.data, "kafka")
	}
	server, err := kafkalocal.NewServer(&kafkalocal.ServerOptions{
		Addr: o.kafka, Dir: dir,
		Logger: slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return nil, fmt.Errorf("%w (--kafka :0 chooses a free port)", err)
	}
	if err := server.Plant(ctx, topics...); err != nil {
		return nil, errors.Join(fmt.Errorf("--seed: %w", err), server.Close())
	}
	warnBeyondLoopback(errOut, server.Addr())
	return server, nil
}
