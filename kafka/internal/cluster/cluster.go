package cluster

import (
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/client"
)

// Cluster is the brokers, with a client for requests outside of any group. Several goroutines may call its methods.
type Cluster struct {
	*client.Client
	Admin *kadm.Client
	Log   *slog.Logger

	connection client.Connection

	mu     sync.Mutex
	limits map[string]int32 // max.message.bytes by topic, of topics that were looked up
}

// Open creates the client, with options of its own. It makes no request.
func Open(connection client.Connection, log *slog.Logger, own func(c *Cluster) []kgo.Opt) (*Cluster, error) {
	c := &Cluster{Log: log, connection: connection, limits: map[string]int32{}}
	var err error
	if c.Client, err = connection.Open(own(c)...); err != nil {
		return nil, err
	}
	c.Admin = kadm.NewClient(c.Client.Client)
	return c, nil
}

// Dial creates another client, with options of its own.
func (c *Cluster) Dial(own ...kgo.Opt) (*client.Client, error) { return c.connection.Open(own...) }

// Read opens a reader, with options of its own.
func (c *Cluster) Read(from map[string]map[int32]kgo.Offset, patience time.Duration, own ...kgo.Opt) (*Reader, error) {
	one, err := c.connection.Read(from, own...)
	return &Reader{one, patience}, err
}
