package snssqs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/snssqs"
)

// onAWS opens a backend as on AWS, where a poll whose client disconnects may strand messages, and records the polls.
func (w *world) onAWS() *polls {
	w.Helper()
	b, err := snssqs.Open(w.Context(), &snssqs.Options{AWS: &w.conf, Transport: w.server.Transport()})
	if err != nil {
		w.Fatal(err)
	}
	w.b = b
	p := &polls{}
	w.server.Control("sqs.ReceiveMessage", func(_ context.Context, r *localaws.Request) localaws.Outcome {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all = append(p.all, *r.Input.(*sqs.ReceiveMessageInput))
		return localaws.Outcome{Strand: true, DelayAfter: p.late}
	})
	return p
}

// polls are the receives that the server got.
type polls struct {
	mu   sync.Mutex
	all  []sqs.ReceiveMessageInput
	late time.Duration // the delay of answers
}

// receiving starts a Receive with a wait of 20 s.
func (w *world) receiving(ctx context.Context, r driver.Receiver) <-chan []driver.Delivery {
	got := make(chan []driver.Delivery, 1)
	go func() {
		ds, err := r.Receive(ctx, driver.Ask{Max: 10}, nil)
		if err != nil {
			w.Errorf("receive: %v", err)
		}
		got <- ds
	}()
	synctest.Wait()
	return got
}

func (w *world) waiting(ch driver.Channel) driver.Receiver {
	w.Helper()
	r, err := w.b.Receiver(w.Context(), ch, driver.ReceiverOptions{Concurrency: 10, Wait: 20 * time.Second})
	if err != nil {
		w.Fatal(err)
	}
	w.receivers = append(w.receivers, r)
	return r
}

// A brief poll of an empty queue waits for a second, and another one for the receiver's whole wait.
func TestABriefPoll(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		r := w.waiting(orders)
		for brief, want := range map[bool]time.Duration{true: driver.BriefWait, false: 20 * time.Second} {
			begun := time.Now()
			ds, err := r.Receive(w.Context(), driver.Ask{Max: 1, Brief: brief}, nil)
			if took := time.Since(begun); took != want || len(ds) > 0 || err != nil {
				t.Errorf("brief %v: after %v %d deliveries, %v; want %v", brief, took, len(ds), err, want)
			}
		}
	})
}

// On a FIFO queue a poll that is not needed any more is recalled by its attempt id: the embedded server answers it at
// once, and its messages are received.
func TestAnEndedPollOfAFIFOQueue(t *testing.T) {
	for _, ownWait := range []string{"0", "20"} {
		inWorld(t, localaws.Options{}, func(w *world) {
			ch := driver.Channel{Queue: "orders", Ordered: true}
			w.ensure(owner(ch))
			w.set("orders.fifo", map[string]string{"ReceiveMessageWaitTimeSeconds": ownWait})
			p := w.onAWS()
			r := w.waiting(ch)
			ctx, cancel := context.WithCancel(w.Context())
			got, begun := w.receiving(ctx, r), time.Now()
			cancel()
			if ds := <-got; len(ds) > 0 || time.Since(begun) > time.Second {
				t.Errorf("an idle poll brought %d after %v", len(ds), time.Since(begun))
			}
			if len(p.all) != 2 || p.all[0].ReceiveRequestAttemptID != p.all[1].ReceiveRequestAttemptID ||
				p.all[1].WaitTimeSeconds != nil && *p.all[1].WaitTimeSeconds > 1 {
				t.Errorf("polls %+v", p.all)
			}
			time.Sleep(21 * time.Second) // the stranded poll has ended
			p.late = time.Second
			w.send(w.sender(ch), driver.Message{Body: []byte("1"), OrderKey: "ada"},
				driver.Message{Body: []byte("2"), OrderKey: "ada"}, driver.Message{Body: []byte("3"), OrderKey: "bob"})
			ctx, cancel = context.WithCancel(w.Context())
			got = w.receiving(ctx, r)
			cancel()
			ds := <-got
			if len(ds) != 3 {
				t.Fatalf("%d of 3 messages were asked for again", len(ds))
			}
			release := make([]driver.Settlement, len(ds))
			for i := range ds {
				release[i] = driver.Settlement{Handle: ds[i].Handle, Action: driver.Release}
			}
			if err := r.Settle(context.Background(), release); err != nil {
				t.Error(err)
			}
			if a := w.attributes("orders.fifo"); a["ApproximateNumberOfMessages"] != "3" {
				t.Errorf("the queue is %v", a)
			}
		})
	}
}

// A server may keep a poll open although the same attempt has been answered without messages. The poll is awaited, so
// what comes meanwhile is not stranded. If its connection breaks, its messages are requested again.
func TestAnEndedPollOfAFIFOQueueThatStaysOpen(t *testing.T) {
	for _, broken := range []bool{false, true} {
		inWorld(t, localaws.Options{}, func(w *world) {
			ch := driver.Channel{Queue: "orders", Ordered: true}
			w.ensure(owner(ch))
			var mu sync.Mutex
			recalled := false
			b, err := snssqs.Open(w.Context(), &snssqs.Options{AWS: &w.conf, Transport: roundTrip(
				func(r *http.Request) (*http.Response, error) {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						return nil, err
					}
					open := bytes.Contains(body, []byte(`"WaitTimeSeconds":20`))
					mu.Lock()
					if bytes.Contains(body, []byte("ReceiveRequestAttemptId")) && !open && !recalled {
						recalled = true // the server sees another attempt
						body = bytes.Replace(body, []byte(`"ReceiveRequestAttemptId":"`),
							[]byte(`"ReceiveRequestAttemptId":"x`), 1)
					}
					mu.Unlock()
					r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
					answer, err := w.server.Transport().RoundTrip(r)
					if broken && open && err == nil {
						return nil, errors.New("connection reset")
					}
					return answer, err
				})})
			if err != nil {
				t.Fatal(err)
			}
			w.b = b
			r := w.waiting(ch)
			ctx, cancel := context.WithCancel(w.Context())
			got := w.receiving(ctx, r)
			cancel()
			synctest.Wait() // the first recall is answered
			w.send(w.sender(ch), driver.Message{Body: []byte("1"), OrderKey: "ada"})
			if ds := <-got; len(ds) != 1 {
				t.Errorf("broken %v: %d of 1 message was received", broken, len(ds))
			}
		})
	}
}

// roundTrip is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// On a standard queue a canceled poll is awaited, and returns the messages that come meanwhile; Close ends it.
func TestAnEndedPollOfAStandardQueue(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.onAWS()
		r := w.waiting(orders)
		ctx, cancel := context.WithCancel(w.Context())
		got := w.receiving(ctx, r)
		cancel()
		time.Sleep(time.Second)
		w.foreign("orders", "x", nil)
		ds := <-got
		if len(ds) != 1 {
			t.Fatalf("received %d; the message is stranded", len(ds))
		}
		if err := r.Settle(context.Background(), []driver.Settlement{{Handle: ds[0].Handle}}); err != nil {
			t.Error(err)
		}
		got, begun := w.receiving(w.Context(), r), time.Now()
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if ds := <-got; len(ds) > 0 || time.Since(begun) > 0 {
			t.Errorf("a closed receiver's poll brought %d after %v", len(ds), time.Since(begun))
		}
	})
}

// An open poll never makes a shutdown fail. If the poll lasts longer than the shutdown, the shutdown ends it.
func TestAStopWithAnOpenPoll(t *testing.T) {
	for name, c := range map[string]struct {
		ordered     bool
		wait, stop  time.Duration
		least, most time.Duration
	}{
		"FIFO": {ordered: true, stop: 10 * time.Second},
		"standard, short poll": {
			wait: 5 * time.Second, stop: 10 * time.Second, least: time.Second,
			most: 5 * time.Second,
		},
		"standard, defaults":   {stop: 30 * time.Second, least: time.Second, most: 20 * time.Second},
		"standard, short stop": {wait: 20 * time.Second, stop: 2 * time.Second, most: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, localaws.Options{}, func(w *world) {
				w.onAWS()
				consumer, err := godwit.NewConsumer(w.Context(), w.b, "orders",
					&godwit.ConsumerOptions{Ordered: c.ordered, WaitTime: c.wait, ShutdownTimeout: c.stop})
				if err != nil {
					t.Fatal(err)
				}
				stop := time.Now().Add(61 * time.Second)
				ctx, cancel := context.WithDeadline(w.Context(), stop)
				defer cancel()
				if _, err := consumer.Run(ctx,
					func(context.Context, *godwit.Delivery) error { return nil }); err != nil {
					t.Errorf("stopping an idle consumer: %v", err)
				}
				if took := time.Since(stop); took < c.least || took > c.most {
					t.Errorf("the stop took %v", took)
				}
			})
		})
	}
}

// The shutdown of an idle consumer waits at most for its open poll. It never fails, logs no warning and strands no
// message, however short its timeout, and with any transport. The cost of shorter polls is logged once.
func TestAnIdleStopStrandsNothing(t *testing.T) {
	for _, c := range []struct {
		stop, wait time.Duration
		polls      string // in the log
	}{
		{time.Second, 0, "polls_a_minute=600"},
		{10 * time.Second, 5 * time.Second, "polls_a_minute=12"},
		{30 * time.Second, 20 * time.Second, ""},
	} {
		for _, transport := range []string{"in process", "HTTP"} {
			for at := range 7 { // at several moments of the poll
				t.Run(fmt.Sprint(c.stop, transport, at), func(t *testing.T) {
					inWorld(t, localaws.Options{}, func(w *world) {
						w.onAWS()
						if transport == "HTTP" {
							w.overHTTP()
						}
						var log bytes.Buffer
						o := godwit.ConsumerOptions{
							ShutdownTimeout: c.stop,
							Logger:          slog.New(slog.NewTextHandler(&log, nil)),
						}
						consumer, err := godwit.NewConsumer(w.Context(), w.b, "orders", &o)
						if err != nil {
							t.Fatal(err)
						}
						stop := time.Now().Add(time.Minute + time.Duration(at)*3100*time.Millisecond)
						ctx, cancel := context.WithDeadline(w.Context(), stop)
						defer cancel()
						_, err = consumer.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil })
						if took := time.Since(stop); err != nil || took > c.wait+100*time.Millisecond {
							t.Errorf("the stop took %v of %v: %v", took, c.stop, err)
						}
						w.foreign("orders", "x", nil)
						synctest.Wait() // until a stranded poll has received it
						if n := w.attributes("orders")["ApproximateNumberOfMessages"]; n != "1" {
							t.Errorf("of 1 message %s can be received", n)
						}
						text := log.String()
						if strings.Contains(text, "WARN") || strings.Count(text, "polls_a_minute") > 1 ||
							!strings.Contains(text, c.polls) ||
							c.polls == "" && strings.Contains(text, "polls_a_minute") {
							t.Errorf("logged %s", text)
						}
					})
				})
			}
		}
	}
}

// A consumer has many polls open when a burst has ended. What comes while it stops is received once by it, and is not
// passed on from poll to poll until the queue moves it to the dead letters. The same holds for a pause.
func TestWhatComesDuringAStopIsReceivedOnce(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		for _, end := range []string{"stop", "pause"} {
			for _, idle := range []time.Duration{0, 100 * time.Millisecond, 5 * time.Second} {
				t.Run(fmt.Sprintf("ordered %v, %s after %v", ordered, end, idle), func(t *testing.T) {
					inWorld(t, localaws.Options{}, func(w *world) {
						w.onAWS()
						w.server.Control("sqs.*", func(context.Context, *localaws.Request) localaws.Outcome {
							return localaws.Outcome{Delay: 20 * time.Millisecond}
						})
						var during sync.Map // ids of messages that came during the stop, and how often
						var ended atomic.Bool
						c, err := godwit.NewConsumer(w.Context(), w.b, "orders", &godwit.ConsumerOptions{
							Ordered: ordered, Concurrency: 256,
							Hooks: godwit.Hooks{Received: func(d *godwit.Delivery) {
								if ended.Load() {
									n, _ := during.LoadOrStore(d.ID, new(atomic.Int32))
									n.(*atomic.Int32).Add(1)
								}
							}},
						})
						if err != nil {
							t.Fatal(err)
						}
						p, err := godwit.NewProducer(w.Context(), w.b, "orders",
							&godwit.ProducerOptions{Ordered: ordered})
						if err != nil {
							t.Fatal(err)
						}
						defer func() { _ = p.Close(context.Background()) }()
						send := func(n int) {
							ms := make([]godwit.Message, n)
							for i := range ms {
								ms[i] = godwit.Message{Body: []byte("x"), OrderKey: fmt.Sprint(rand.Int())}
								if !ordered {
									ms[i].OrderKey = ""
								}
							}
							if err := p.SendBatch(w.Context(), ms); err != nil {
								t.Error(err)
							}
						}
						send(1000)
						var handled atomic.Int32
						ctx, cancel := context.WithCancel(w.Context())
						defer cancel()
						done := make(chan godwit.Report, 1)
						go func() {
							r, err := c.Run(ctx, func(context.Context, *godwit.Delivery) error {
								time.Sleep(10 * time.Millisecond)
								handled.Add(1)
								return nil
							})
							if err != nil {
								t.Error(err)
							}
							done <- r
						}()
						for handled.Load() < 1000 {
							time.Sleep(time.Millisecond)
						}
						time.Sleep(idle)
						ended.Store(true)
						if end == "stop" {
							cancel()
						} else {
							c.Pause()
						}
						send(5)
						time.Sleep(25 * time.Second)
						cancel()
						r := <-done
						during.Range(func(id, n any) bool {
							if n := n.(*atomic.Int32).Load(); n > 1 {
								t.Errorf("message %v was received %d times after the %s", id, n, end)
							}
							return true
						})
						suffix := ""
						if ordered {
							suffix = ".fifo"
						}
						a := w.attributes("orders" + suffix)
						dead := w.attributes("orders--dlq" + suffix)["ApproximateNumberOfMessages"]
						left := 1005 - int(handled.Load())
						if dead != "0" || a["ApproximateNumberOfMessages"] != fmt.Sprint(left) ||
							a["ApproximateNumberOfMessagesNotVisible"] != "0" {
							t.Errorf("%s dead letters, %d left, the queue is %v, report %+v", dead, left, a, r)
						}
					})
				})
			}
		}
	}
}

// Many processes that are stopped at the same time, each with many polls open, do not pass messages on to each other
// until the queue moves them to the dead letters. So does a rolling deployment.
func TestManyProcessesStopTogether(t *testing.T) {
	for name, apart := range map[string]time.Duration{"together": 0, "rolling": 2 * time.Second} {
		for _, ordered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, ordered %v", name, ordered), func(t *testing.T) {
				inWorld(t, localaws.Options{}, func(w *world) {
					w.onAWS()
					w.server.Control("sqs.*", func(context.Context, *localaws.Request) localaws.Outcome {
						return localaws.Outcome{Delay: 20 * time.Millisecond}
					})
					const processes = 50
					var running sync.WaitGroup
					var handled atomic.Int32
					var stops []context.CancelFunc
					for range processes {
						c, err := godwit.NewConsumer(w.Context(), w.b, "orders", &godwit.ConsumerOptions{
							Ordered: ordered, Concurrency: 100,
						})
						if err != nil {
							t.Fatal(err)
						}
						ctx, stop := context.WithCancel(w.Context())
						defer stop()
						stops = append(stops, stop)
						running.Go(func() {
							if _, err := c.Run(ctx, func(context.Context, *godwit.Delivery) error {
								time.Sleep(10 * time.Millisecond)
								handled.Add(1)
								return nil
							}); err != nil {
								t.Error(err)
							}
						})
					}
					p, err := godwit.NewProducer(w.Context(), w.b, "orders", &godwit.ProducerOptions{Ordered: ordered})
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = p.Close(context.Background()) }()
					sent := 0
					send := func(n int) {
						ms := make([]godwit.Message, n)
						for i := range ms {
							sent++
							ms[i] = godwit.Message{Body: []byte("x")}
							if ordered {
								ms[i].OrderKey = fmt.Sprint(sent)
							}
						}
						if err := p.SendBatch(w.Context(), ms); err != nil {
							t.Error(err)
						}
					}
					send(5000)
					time.Sleep(500 * time.Millisecond)
					for _, stop := range stops {
						stop()
						time.Sleep(apart)
						if apart > 0 {
							send(2)
						}
					}
					for range 20 {
						send(5)
						time.Sleep(time.Second)
					}
					running.Wait()
					time.Sleep(time.Minute) // messages near the limit are released with a delay
					suffix := ""
					if ordered {
						suffix = ".fifo"
					}
					dead := w.attributes("orders--dlq" + suffix)["ApproximateNumberOfMessages"]
					left := w.attributes("orders" + suffix)["ApproximateNumberOfMessages"]
					if want := fmt.Sprint(sent - int(handled.Load())); dead != "0" || left != want {
						t.Errorf("%s dead letters, %s left, want %s", dead, left, want)
					}
				})
			})
		}
	}
}

// overHTTP puts net/http's client and server between the backend and localaws. The connections are in memory, because
// sockets do not work in virtual time.
func (w *world) overHTTP() {
	w.Helper()
	l := pipes{make(chan net.Conn), make(chan struct{})}
	server := http.Server{Handler: w.server.Handler()}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, conn := net.Pipe()
		select {
		case l.conns <- conn:
			return client, nil
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}}
	b, err := snssqs.Open(w.Context(), &snssqs.Options{AWS: &w.conf, Transport: transport})
	if err != nil {
		w.Fatal(err)
	}
	w.b = b
	w.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-served
	})
}

// pipes is a listener for connections in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "localaws", Net: "pipe"} }
