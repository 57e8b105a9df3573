//go:build synctests

package acceptance

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// process is a consumer that runs, with a backend of its own.
type process struct {
	w       *world
	cable   *cable
	backend *kafka.Backend
	cancel  context.CancelFunc
	done    chan struct{} // closed when Run has returned
	report  godwit.Report
	err     error
}

// start runs a consumer of the channel.
func (w *world) start(ko kafka.Options, co godwit.ConsumerOptions, h godwit.Handler) *process {
	w.t.Helper()
	return w.startOn(channel, ko, co, h)
}

func (w *world) startOn(channel string, ko kafka.Options, co godwit.ConsumerOptions, h godwit.Handler) *process {
	w.t.Helper()
	c := w.newCable()
	p := &process{w: w, cable: c, backend: w.open(ko, c), done: make(chan struct{})}
	if co.Logger == nil {
		co.Logger = ko.Logger
	}
	consumer, err := godwit.NewConsumer(w.t.Context(), p.backend, channel, &co)
	if err != nil {
		w.t.Fatal(err)
	}
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(p.done)
		p.report, p.err = consumer.Run(ctx, h)
	}()
	w.started = append(w.started, p)
	w.t.Cleanup(func() { _, _ = p.stop() })
	return p
}

// stop ends the process as a deploy does, and returns what Run returned. Stopping it again returns the same.
func (p *process) stop() (godwit.Report, error) {
	p.cancel()
	return p.wait()
}

// wait returns what Run returned.
func (p *process) wait() (godwit.Report, error) {
	<-p.done
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = p.backend.Close(ctx) // a crashed one cannot say goodbye
	return p.report, p.err
}

// crash cuts the process off from the broker, so that nothing of it arrives any more, and ends it. Until its handlers
// have returned they go on, as they would for a moment in a process that is killed.
func (p *process) crash() {
	p.cable.cut()
	_, _ = p.stop()
}

// cable is how a process reaches the broker.
type cable struct {
	to func(ctx context.Context, network, addr string) (net.Conn, error)

	mu    sync.Mutex
	conns []net.Conn
	gone  bool
}

var errCut = errors.New("the cable is cut")

func (w *world) newCable() *cable {
	c := &cable{to: (&net.Dialer{}).DialContext}
	if w.server != nil {
		c.to = dialerOf(w.reach)
	}
	return c
}

// dialerOf is the dialer among a client's options.
func dialerOf(opts []kgo.Opt) func(context.Context, string, string) (net.Conn, error) {
	c, err := kgo.NewClient(opts...)
	if err != nil {
		return func(context.Context, string, string) (net.Conn, error) { return nil, err }
	}
	defer c.Close()
	return c.OptValue(kgo.Dialer).(func(context.Context, string, string) (net.Conn, error))
}

func (c *cable) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := c.to(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	gone := c.gone
	c.conns = append(c.conns, conn)
	c.mu.Unlock()
	if gone {
		_ = conn.Close()
		return nil, errCut
	}
	return conn, nil
}

func (c *cable) cut() {
	c.mu.Lock()
	conns := c.conns
	c.conns, c.gone = nil, true
	c.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
	}
}
