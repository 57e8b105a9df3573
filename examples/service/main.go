package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/telemetry"
)

const (
	// orderHeader has the id of an order: an order that is sent twice is handled once.
	orderHeader = "order-id"
	// patience is how long requests may take that are under way at a stop, and the last sends.
	patience = 10 * time.Second
)

func main() {
	os.Exit(godwit.Main(func(ctx context.Context) error {
		public, err := net.Listen("tcp", "127.0.0.1:8080")
		if err != nil {
			return err
		}
		admin, err := net.Listen("tcp", "127.0.0.1:8081")
		if err != nil {
			return err
		}
		return run(ctx, public, admin, func(order, body string) { fmt.Printf("order %s: %s\n", order, body) })
	}))
}

// run serves until ctx ends.
func run(ctx context.Context, public, admin net.Listener, handle func(order, body string)) error {
	backend, err := local.Open(ctx, nil) // in production snssqs.Open, or kafka.Open
	if err != nil {
		return err
	}
	observed, err := telemetry.New(nil)
	if err != nil {
		return err
	}
	health, err := ops.NewHealth(nil) // before the consumers, so that it knows how they begin
	if err != nil {
		return err
	}
	orders, err := godwit.NewProducer(ctx, backend, "orders", observed.Producer(nil))
	if err != nil {
		return err
	}
	byOrder := func(d *godwit.Delivery) string { return d.Headers.Value(orderHeader) }
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", observed.Consumer(&godwit.ConsumerOptions{
		// In production the store is a table of the database that the handler writes to.
		Middleware: []godwit.Middleware{godwit.Idempotent(godwit.NewMemoryStore(0), byOrder, 0)},
		Hooks:      health.Hooks("orders"),
	}))
	if err != nil {
		return err
	}

	watch := http.NewServeMux()
	watch.Handle("/", health.Handler()) // /livez, /readyz, /startupz
	watch.Handle("GET /metrics", observed.Handler())
	watched := serve(admin, watch)
	served := serve(public, accept(orders))
	// The consumer does not end with ctx: requests that are under way may still send.
	consuming, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	consumed := make(chan error, 1)
	go func() {
		_, err := consumer.Run(consuming, func(_ context.Context, d *godwit.Delivery) error {
			handle(byOrder(d), string(d.Body))
			return nil
		})
		consumed <- err
	}()
	select {
	case <-ctx.Done():
	case err = <-consumed: // it cannot go on: the whole process ends, and is started again
		consumed <- nil
	}

	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err = errors.Join(err, served.stop(closing)) // 1. no new requests; those under way are answered
	stop()
	err = errors.Join(err, <-consumed) // 2. handlers end, and what waits is released to other processes
	// 3. what was sent is accepted; 4. health and metrics are served to the end
	return errors.Join(err, orders.Close(closing), watched.stop(closing), health.Close(), backend.Close(closing))
}

// accept answers POST /orders/ID when the service has accepted the message.
func accept(orders *godwit.Producer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		err = orders.Send(r.Context(), godwit.Message{
			Body: body, Headers: godwit.Headers{{Name: orderHeader, Value: r.PathValue("id")}},
		})
		if err != nil { // the client may send it again: the handler knows the order by its id
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	return mux
}

// server is an HTTP server that runs.
type server struct {
	http.Server
	ended chan error
}

func serve(l net.Listener, h http.Handler) *server {
	s := &server{Server: http.Server{Handler: h, ReadHeaderTimeout: patience}, ended: make(chan error, 1)}
	go func() { s.ended <- s.Serve(l) }()
	return s
}

// stop waits for the requests under way.
func (s *server) stop(ctx context.Context) error {
	err := s.Shutdown(ctx)
	if ended := <-s.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
