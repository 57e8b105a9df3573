package kafkalocal

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

// firstPort is the first broker's in the network inside the process, where nothing else has ports.
const firstPort = 9092

// network is where a server listens. It outlives a kill: addresses stay, and it knows every connection, so that a kill
// can cut them all in the same moment.
type network struct {
	want    string                // what was asked for; "" with a virtual network
	virtual *kfake.VirtualNetwork // nil: TCP

	epochs epochs

	mu        sync.Mutex // held for a few instructions, never while listening or accepting
	had       []string   // the addresses of the brokers, by number; the same after a kill
	listening []net.Listener
	conns     map[net.Conn]struct{}
	closed    bool // connections that arrive now are refused
}

func newNetwork(addr string) *network {
	n := &network{want: addr, conns: map[net.Conn]struct{}{}}
	if addr == "" {
		n.virtual = &kfake.VirtualNetwork{}
	}
	return n
}

// listen is called by kfake, once for every broker; the address that kfake has in mind is of no interest.
func (n *network) listen(string, string) (net.Listener, error) {
	number, addr := n.next()
	var l net.Listener
	var err error
	if n.virtual != nil {
		l, err = n.virtual.Listen("tcp", addr)
	} else {
		l, err = net.Listen("tcp", addr)
	}
	if err != nil {
		return nil, err
	}
	return n.listens(number, l), nil
}

// next is the number of the broker that is about to listen, and where it should.
func (n *network) next() (int, string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	number := len(n.listening)
	if number < len(n.had) {
		return number, n.had[number]
	}
	if n.virtual != nil {
		return number, fmt.Sprintf("localhost:%d", firstPort+number)
	}
	return number, n.want
}

func (n *network) listens(number int, l net.Listener) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	if number == len(n.had) {
		n.had = append(n.had, l.Addr().String())
	}
	n.listening = append(n.listening, l)
	return &listener{Listener: l, net: n}
}

// addrs are the addresses of all brokers.
func (n *network) addrs() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.had)
}

// open lets connections in, after a cut.
func (n *network) open() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listening, n.closed = nil, false
	n.epochs.forget()
}

// cut closes the listeners and every connection.
func (n *network) cut() {
	n.mu.Lock()
	n.closed = true
	listening := n.listening
	conns := slices.Collect(maps.Keys(n.conns))
	n.mu.Unlock()
	for _, l := range listening {
		_ = l.Close() // closed twice, at worst
	}
	for _, c := range conns {
		_ = c.Close()
	}
}

// dial connects to a broker. Where none listens it fails as TCP does: clients go on trying after that, and not after what
// they do not know.
func (n *network) dial(ctx context.Context, kind, addr string) (net.Conn, error) {
	if n.virtual == nil {
		return (&net.Dialer{}).DialContext(ctx, kind, addr)
	}
	c, err := n.virtual.DialContext(ctx, kind, addr)
	if err != nil && ctx.Err() == nil {
		err = &net.OpError{Op: "dial", Net: kind, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	return c, err
}

// admit keeps a connection in mind; false: it came too late.
func (n *network) admit(c net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.conns[c] = struct{}{}
	}
	return !n.closed
}

func (n *network) forget(c net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, c)
}

// listener accepts connections that its network knows.
type listener struct {
	net.Listener
	net *network
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		known := &conn{Conn: c, net: l.net, answers: answers{epochs: &l.net.epochs}}
		if l.net.admit(known) {
			return known, nil
		}
		_ = c.Close()
	}
}

// conn is forgotten when it is closed, and mends the answers that it carries.
type conn struct {
	net.Conn
	net     *network
	answers answers
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.answers.saw(b[:n])
	return n, err
}

// Write tells of what it was given, not of what that became.
func (c *conn) Write(b []byte) (int, error) {
	if _, err := c.Conn.Write(c.answers.mended(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (c *conn) Close() error {
	c.net.forget(c)
	return c.Conn.Close()
}
