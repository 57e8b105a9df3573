package kafkalocal

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ServerOptions of a [Server]. The zero value is a broker in memory that can be reached only from inside the process.
type ServerOptions struct {
	// Addr is the host:port to listen on by TCP; port 0 chooses a free one. Set it when clients of other processes
	// connect. They are told to connect to its host, so it cannot stand for all interfaces. "": no socket; clients use
	// [Server.Reach], which is also what works in virtual time, in a bubble of testing/synctest.
	Addr string
	// Dir stores all data, and is created if needed; "": in memory. Set it when the data must outlive the process: a
	// kill -9 then loses nothing that was acknowledged. Only its owner can enter it, because it contains all messages.
	Dir string
	// Config are configs of the broker, such as group.consumer.heartbeat.interval.ms; kfake.BrokerConfigs lists those
	// with an effect. Set them to test with the configs of your cluster.
	Config map[string]string
	// Logger gets what the server logs; nil: nothing is logged. Set it to find out why a client fails.
	Logger *slog.Logger
	// Cluster are further options for kfake. Set them to test EnableSASL, TLS, or another number of brokers (which
	// needs Addr "" or port 0).
	Cluster []kfake.Opt
}

// Server is one broker, or several. It is safe for concurrent use, except that Kill, Start and Close must be called by
// one goroutine at a time.
type Server struct {
	opts ServerOptions
	net  *network

	mu      sync.Mutex // guards the following field
	cluster *kfake.Cluster
}

// NewServer starts a server, which is ready when NewServer returns.
func NewServer(o *ServerOptions) (*Server, error) {
	s := &Server{}
	s.opts = *cmp.Or(o, &ServerOptions{})
	if err := reachable(s.opts.Addr); err != nil {
		return nil, fmt.Errorf("kafkalocal: %w", err)
	}
	s.net = newNetwork(s.opts.Addr)
	if err := s.Start(); err != nil {
		return nil, err
	}
	return s, nil
}

// reachable refuses an address that clients could not connect to when the broker tells them.
func reachable(addr string) error {
	if addr == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("address %q is not of the form host:port, like 127.0.0.1:9092", addr)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("address %q stands for all interfaces, and a broker tells its clients where to connect: "+
			"name one of them, like 127.0.0.1", addr)
	}
	return nil
}

// Start starts a server after Kill, at the same address and with the same options. Faults and control functions of the
// earlier Cluster do not apply any more.
func (s *Server) Start() error {
	if s.Cluster() != nil {
		return errors.New("kafkalocal: the server is already running")
	}
	if err := enclose(s.opts.Dir); err != nil {
		return fmt.Errorf("kafkalocal: %w", err)
	}
	s.net.open()
	c, err := kfake.NewCluster(s.clusterOptions()...)
	if err != nil {
		return fmt.Errorf("kafkalocal: start the broker: %w", err)
	}
	refuse(c, s.opts.Config, &s.net.epochs)
	s.replace(c)
	return nil
}

// enclose makes a folder inaccessible for other users, whatever the modes of the files that kfake creates in it.
func enclose(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case info.Mode()&os.ModeSticky != 0:
		return fmt.Errorf("the folder %s is shared by the users of this machine: name a folder in it", dir)
	}
	return os.Chmod(dir, 0o700)
}

func (s *Server) clusterOptions() []kfake.Opt {
	opts := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.ListenFn(s.net.listen),
		kfake.ClusterID("kafkalocal"),
		kfake.DefaultNumPartitions(1),
		kfake.BrokerConfigs(s.opts.Config),
	}
	if s.opts.Dir != "" {
		opts = append(opts, kfake.DataDir(s.opts.Dir))
	}
	if s.opts.Logger != nil {
		opts = append(opts, kfake.WithLogger(logger{s.opts.Logger}))
	}
	return append(opts, s.opts.Cluster...)
}

// replace replaces the cluster and returns the earlier one.
func (s *Server) replace(c *kfake.Cluster) *kfake.Cluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.cluster
	s.cluster = c
	return before
}

// Addr returns the address as host:port.
func (s *Server) Addr() string { return s.net.addrs()[0] }

// Reach returns options by which a client of franz-go in this process reaches the server, whatever its network.
func (s *Server) Reach() []kgo.Opt {
	opts := []kgo.Opt{kgo.SeedBrokers(s.net.addrs()...)}
	if s.net.virtual != nil {
		opts = append(opts, kgo.Dialer(s.net.dial))
	}
	return opts
}

// Cluster returns the kfake cluster, for inspection, faults, control functions, topics and leaders. It is nil while the
// server is not running.
func (s *Server) Cluster() *kfake.Cluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster
}

// Close stops the server; its data in Dir remain. Closing twice is allowed.
func (s *Server) Close() error {
	if c := s.replace(nil); c != nil {
		c.Close()
	}
	s.net.cut()
	return nil
}
