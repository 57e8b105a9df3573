package client

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Connection is the options of all clients of a backend.
type Connection struct {
	Common []kgo.Opt // the first ones
	Last   []kgo.Opt // those of the caller: they win
}

// Open creates a client with options of its own, between the common ones and those of the caller.
func (c *Connection) Open(own ...kgo.Opt) (*Client, error) {
	opts := make([]kgo.Opt, 0, len(c.Common)+len(own)+len(c.Last))
	opts = append(append(append(opts, c.Common...), own...), c.Last...)
	if err := kgo.ValidateOpts(opts...); err != nil {
		return nil, fmt.Errorf("kafka: franz-go refuses the options, also see Options.Client: %w", err)
	}
	return New(opts)
}

// Read creates a client that reads partitions without a group, beginning at these offsets, and is closed soon. It has
// no fetch sessions: Close of franz-go 1.22.2 ends them while a late answer with metadata may assign the partitions
// again, and the fetch of those writes to the session that Close reads.
func (c *Connection) Read(from map[string]map[int32]kgo.Offset, own ...kgo.Opt) (*Client, error) {
	return c.Open(append(own, kgo.ConsumePartitions(from), kgo.DisableFetchSessions())...)
}

// CloseNow closes a client without a group, which has nothing to tell the brokers.
func (c *Client) CloseNow() {
	c.Client.Close()
	c.Cut()
}

// New creates a client. It makes no request.
func New(opts []kgo.Opt) (*Client, error) {
	ctx, cut := context.WithCancel(context.Background())
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.WithContext(ctx)}, opts...)...)
	if err != nil {
		cut()
		return nil, fmt.Errorf("kafka: create the client: %w", err)
	}
	return &Client{Client: c, Cut: cut}, nil
}
