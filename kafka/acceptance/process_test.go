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

// process is a running consumer with a backend of its own.
type process struct {
	w        *world
	cable    *cable
	backend  *kafka.Backend
	consumer *godwit.Consumer
	cancel   context.CancelFunc
	done     chan struct{} // closed when Run has returned
	report   godwit.Report
	err      error
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
	p.consumer = consumer
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

// stop ends the process as a deployment does, and returns what Run returned. A second call returns the same.
func (p *process) stop() (godwit.Report, error) {
	p.cancel()
	return p.wait()
}

// wait waits until Run has returned, and returns its results.
func (p *process) wait() (godwit.Report, error) {
	<-p.done
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = p.backend.Close(ctx) // the backend of a crashed process cannot leave its group
	return p.report, p.err
}

// crash cuts the process off from the broker, so that none of its requests arrive any more, and ends it. Its handlers
// run until they return, as in a process that is killed a moment later. Until the test ends, the process may try to
// commit.
func (p *process) crash() {
	p.cable.cut()
	p.cancel()
	for quiet := 0; quiet < 5; quiet++ {
		time.Sleep(10 * time.Millisecond)
		switch h := p.consumer.Health(); {
		case h.State == godwit.StateExited:
			return
		case h.State != godwit.StateExiting || h.Running > 0:
			quiet = 0
		}
	}
}

// cable is the network connection between a process and the broker. After it is cut, all connections are closed and new
// ones fail.
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

// dialerOf returns the dialer that the options of a client contain.
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

// mend permits connections again.
func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = false
}
