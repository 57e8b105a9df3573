package kafkalocal

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// firstPort is the port of the first broker on the network inside the process.
const firstPort = 9092

// network is where a server listens. It survives a Kill: addresses stay the same, and it knows every connection, so
// that Kill can close all of them at the same moment.
type network struct {
	want    string                // the requested address; "" with a virtual network
	virtual *kfake.VirtualNetwork // nil: TCP

	epochs epochs

	mu        sync.Mutex // never held while listening or accepting
	had       []string   // the addresses of the brokers, by number; the same after a Kill
	listening []net.Listener
	conns     map[net.Conn]struct{}
	closed    bool // new connections are refused
}

func newNetwork(addr string) *network {
	n := &network{want: addr, conns: map[net.Conn]struct{}{}}
	if addr == "" {
		n.virtual = &kfake.VirtualNetwork{}
	}
	return n
}

// listen is called by kfake, once for each broker. kfake's own address is ignored.
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

// next returns the number of the broker that is about to listen, and its address.
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

// addrs returns the addresses of all brokers.
func (n *network) addrs() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.had)
}

// open allows connections again after a cut.
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
		_ = l.Close() // closing twice does no harm
	}
	for _, c := range conns {
		_ = c.Close()
	}
}

// dial connects to a broker. If none listens, it fails as TCP does, because clients repeat a dial only after errors
// that they know.
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

// admit registers a connection; false: it came too late.
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

// listener accepts connections and registers them with its network.
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

// conn is unregistered when it is closed, passes on whole requests, and corrects the answers that it carries.
type conn struct {
	net.Conn
	net      *network
	from     io.Reader // nil before the first Read
	requests *requests // nil: hidden by TLS
	answers  answers
}

// Read is called by kfake, which begins with the four bytes of a length prefix, or by a layer of TLS, which asks for
// more and hides the requests.
func (c *conn) Read(b []byte) (int, error) {
	if c.from == nil {
		c.from = c.Conn
		if len(b) == counted {
			c.requests = &requests{from: c.Conn}
			c.from = c.requests
		}
	}
	n, err := c.from.Read(b)
	c.answers.saw(b[:n])
	return n, err
}

// Write returns the length of b, not that of the corrected bytes.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(answerPause)); err != nil {
		return 0, err
	}
	if _, err := c.Conn.Write(c.answers.mended(b)); err != nil {
		return 0, err
	}
	if c.requests != nil {
		c.requests.answer()
	}
	return len(b), nil
}

func (c *conn) Close() error {
	c.net.forget(c)
	return c.Conn.Close()
}
