package localaws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// listener is one address of the server.
type listener struct {
	addr   string
	server *http.Server
	done   chan struct{} // closed when Serve has returned
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
	l := &listener{
		addr: socket.Addr().String(),
		server: &http.Server{
			Handler:           s.Handler(),
			ReadHeaderTimeout: 10 * time.Second, // so that a silent client does not hold a connection
			ErrorLog:          nil,
		},
		done: make(chan struct{}),
	}
	go func() {
		defer close(l.done)
		if err := l.server.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Logger.Error("localaws: serve", "addr", addr, "error", err)
		}
	}()
	s.listeners = append(s.listeners, l)
	return socket.Addr(), nil
}

// drain is how long Close waits for running calls. Polls end at once, and other calls are short.
const drain = 5 * time.Second

func (l *listener) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	err := l.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, l.server.Close())
	}
	<-l.done
	return err
}
