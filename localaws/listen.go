package localaws

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// listener is one address of the server.
type listener struct {
	addr   string
	server *http.Server
	done   chan struct{} // closed when Serve has returned

	mu      sync.Mutex // guards the following fields
	fresh   map[net.Conn]struct{}
	closing bool
}

// Listen serves on addr, such as "127.0.0.1:4566" or "127.0.0.1:0", until Close. It returns the address with the chosen
// port.
func (s *Server) Listen(addr string) (net.Addr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("localaws: Listen was called on a closed server")
	}
	socket, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("localaws: listen: %w", err)
	}
	l := newListener(socket.Addr().String(), s.Handler())
	go func() {
		defer close(l.done)
		if err := l.server.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Logger.Error("localaws: serve", "addr", addr, "error", err)
		}
	}()
	s.listeners = append(s.listeners, l)
	return socket.Addr(), nil
}

// baseURL returns the first address that Listen opened; "": none.
func (s *Server) baseURL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.listeners) == 0 {
		return ""
	}
	return "http://" + s.listeners[0].addr
}

// Transport returns a RoundTripper that calls the server in process, without a socket, in the caller's goroutine and
// with the request's context. It answers for any host, because no web page can use it. If there is a response, it is
// returned even if the context has ended, so that a poll that is canceled at the moment when it gets messages does not
// lose them.
func (s *Server) Transport() http.RoundTripper {
	return &transport{handler: http.HandlerFunc(s.serve), clock: s.clock}
}

const (
	// headerTimeout is how long the headers of a request may take, so that a silent client does not hold a connection.
	headerTimeout = 10 * time.Second
	// idleTimeout is how long a connection may be without a request. Pools of AWS's SDKs close theirs earlier.
	idleTimeout = 2 * time.Minute
	// drain is how long Close waits for running calls. Polls end at once, and other calls are short.
	drain = 5 * time.Second
)

func newListener(addr string, handler http.Handler) *listener {
	l := &listener{addr: addr, fresh: map[net.Conn]struct{}{}, done: make(chan struct{})}
	l.server = &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, ConnState: l.follow,
	}
	return l
}

// follow records which connections have had no request yet: Shutdown waits for these, although no call is running.
func (l *listener) follow(c net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if state != http.StateNew {
		delete(l.fresh, c)
		return
	}
	l.fresh[c] = struct{}{}
	if l.closing {
		_ = c.Close()
	}
}

// closeFresh closes the connections without a request, and those that are still to come.
func (l *listener) closeFresh() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing = true
	for c := range l.fresh {
		_ = c.Close() // its goroutine ends
	}
}

// close waits for running calls. What a client does or fails to do is no error of the server: calls that have not ended
// in time, such as those whose bodies do not come, are cut.
func (l *listener) close(log *slog.Logger) error {
	l.closeFresh()
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	err := l.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("localaws: calls were cut at the end, because they did not end by themselves", "addr", l.addr,
			"waited", drain)
		err = l.server.Close()
	}
	<-l.done
	return err
}
