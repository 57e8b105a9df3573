package kafkalocal

import (
	"cmp"
	"context"
	"errors"

	"github.com/godwitmq/godwit/kafka"
)

// Options of a backend with its server. The zero value is usable.
type Options struct {
	// Server are the options of the broker; nil: in memory, in this process. Set them to keep the data on disk, to
	// listen on a port, or to change the configs of the broker.
	Server *ServerOptions
	// Kafka are the options of the backend; nil: its defaults. Brokers must be empty, because those of the server are
	// used. Set them as the program does on a cluster.
	Kafka *kafka.Options
}

// Backend is a kafka.Backend with its own server.
type Backend struct {
	*kafka.Backend
	server *Server
}

// Open starts a server in this process and opens a backend on it. In virtual time, call it inside the bubble.
func Open(ctx context.Context, o *Options) (*Backend, error) {
	o = cmp.Or(o, &Options{})
	var opts kafka.Options
	if o.Kafka != nil {
		opts = *o.Kafka
	}
	if len(opts.Brokers) > 0 {
		return nil, errors.New("kafkalocal: Options.Kafka sets Brokers, but the backend uses the embedded server: leave Brokers empty, " +
			"or use kafka.Open")
	}
	server, err := NewServer(o.Server)
	if err != nil {
		return nil, err
	}
	opts.Brokers = server.net.addrs()
	opts.Client = append(server.Reach(), opts.Client...) // the caller's own come last
	b, err := kafka.Open(ctx, &opts)
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &Backend{Backend: b, server: server}, nil
}

// Server returns the embedded server, for inspection, for injecting faults, and for Kill.
func (b *Backend) Server() *Server { return b.server }

// Close closes the backend and stops the server.
func (b *Backend) Close(ctx context.Context) error {
	return errors.Join(b.Backend.Close(ctx), b.server.Close())
}
