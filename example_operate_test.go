package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

// On an ordered channel the messages of one order key are handled one after another, also when one of them is retried.
// Other keys continue meanwhile.
func ExampleConsumerOptions_ordered() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", &godwit.ProducerOptions{Ordered: true})
	check(err)
	check(orders.Send(ctx, godwit.Message{OrderKey: "ada", Body: []byte("add a kite")}))
	check(orders.Send(ctx, godwit.Message{OrderKey: "ada", Body: []byte("pay")}))
	check(orders.Send(ctx, godwit.Message{OrderKey: "bob", Body: []byte("pay")}))

	consumer, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{
		Ordered: true,
		Backoff: godwit.Constant(0),
	})
	check(err)
	var mu sync.Mutex
	done := map[string][]string{}
	running, stop := context.WithCancel(ctx)
	_, err = consumer.Run(running, func(_ context.Context, d *godwit.Delivery) error {
		if string(d.Body) == "add a kite" && d.Attempt == 1 {
			return errors.New("no kite is in stock")
		}
		mu.Lock()
		defer mu.Unlock()
		done[d.OrderKey] = append(done[d.OrderKey], fmt.Sprintf("%s (attempt %d)", d.Body, d.Attempt))
		if len(done["ada"])+len(done["bob"]) == 3 {
			stop()
		}
		return nil
	})
	check(err)
	fmt.Println("ada:", done["ada"])
	fmt.Println("bob:", done["bob"])
	// Output:
	// ada: [add a kite (attempt 2) pay (attempt 1)]
	// bob: [pay (attempt 1)]
}

// Several channels share one pool of handlers. No channel starves another, however full it is.
func ExampleRunAll() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	consumer := func(channel string) *godwit.Consumer {
		c, err := godwit.NewConsumer(ctx, backend, channel, nil)
		check(err)
		return c
	}
	for _, channel := range []string{"orders", "invoices", "reports"} {
		p, err := godwit.NewProducer(ctx, backend, channel, nil)
		check(err)
		for range 20 {
			check(p.Send(ctx, godwit.Message{Body: []byte("a job")}))
		}
		check(p.Close(ctx))
	}

	ctx, stop := context.WithCancel(ctx)
	var packed, mailed, written atomic.Int64
	count := func(n *atomic.Int64) godwit.Handler {
		return func(context.Context, *godwit.Delivery) error {
			n.Add(1)
			if packed.Load()+mailed.Load()+written.Load() == 60 {
				stop()
			}
			return nil
		}
	}
	pack, mail, write := count(&packed), count(&mailed), count(&written)
	orders, invoices, reports := consumer("orders"), consumer("invoices"), consumer("reports")
	check(godwit.RunAll(ctx, &godwit.FleetOptions{Concurrency: 20},
		orders.With(pack).Weight(4),       // four orders for each invoice, while both wait
		invoices.With(mail),               // weight 1
		reports.With(write).Priority(-1))) // only while a handler is free
	fmt.Println("packed", packed.Load(), "mailed", mailed.Load(), "wrote", written.Load())
	// Output:
	// packed 20 mailed 20 wrote 20
}

// A consumer that calls a service with a quota receives no more messages than may start. The others stay in the queue,
// for other consumers.
func ExampleRate() {
	ctx, stop := context.WithCancel(context.Background())
	backend, err := local.Open(ctx, nil)
	check(err)
	mails, err := godwit.NewProducer(ctx, backend, "mails", nil)
	check(err)
	check(mails.SendBatch(ctx, make([]godwit.Message, 5)))
	consumer, err := godwit.NewConsumer(ctx, backend, "mails", &godwit.ConsumerOptions{
		Rate: godwit.Rate{Events: 2, Per: time.Hour, Burst: 2},
	})
	check(err)

	var sent atomic.Int64
	report, err := consumer.Run(ctx, func(context.Context, *godwit.Delivery) error {
		if sent.Add(1) == 2 {
			stop()
		}
		return nil
	})
	check(err)
	fmt.Printf("received %d, handled %d\n", report.Received, report.Handled)
	// Output:
	// received 2, handled 2
}

// When its context ends, a consumer lets running handlers finish, and releases the rest for the next process.
func ExampleReport() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", &godwit.ProducerOptions{Ordered: true})
	check(err)
	check(orders.SendBatch(ctx, []godwit.Message{
		{Body: []byte("a kite")}, {Body: []byte("a phone")}, {Body: []byte("a book")},
	}))
	work := func(enough int) {
		running, stop := context.WithCancel(ctx)
		stopping := make(chan struct{})
		consumer, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{
			Ordered: true,
			Hooks: godwit.Hooks{State: func(_, to godwit.State) {
				if to == godwit.StateExiting {
					close(stopping)
				}
			}},
		})
		check(err)
		report, err := consumer.Run(running, func(_ context.Context, d *godwit.Delivery) error {
			if enough--; enough == 0 {
				stop()
				<-stopping // the deployment begins while this handler runs
			}
			fmt.Printf("packed %s\n", d.Body)
			return nil
		})
		check(err)
		fmt.Printf("handled %d, unsettled %d\n", report.Handled, report.Unsettled)
	}
	work(1)
	work(2)
	// Output:
	// packed a kite
	// handled 1, unsettled 0
	// packed a phone
	// packed a book
	// handled 2, unsettled 0
}

// Main ends the context at the first SIGINT or SIGTERM, so that the consumer drains. A real program passes the code to
// os.Exit.
func ExampleMain() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	check(orders.Send(ctx, godwit.Message{Body: []byte("a kite")}))
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", nil)
	check(err)
	stop := func() {} // here in place of a signal
	pack := func(_ context.Context, d *godwit.Delivery) error {
		fmt.Printf("packed %s\n", d.Body)
		stop()
		return nil
	}

	code := godwit.Main(func(ctx context.Context) error {
		ctx, stop = context.WithCancel(ctx)
		_, err := consumer.Run(ctx, pack)
		return err
	})
	fmt.Println("exit code", code)
	// Output:
	// packed a kite
	// exit code 0
}

// Health answers the probe of an orchestrator. Unhealthy says why a consumer does not do its work.
func ExampleConsumer_Health() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	check(orders.Send(ctx, godwit.Message{Body: []byte("a kite")}))
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", nil)
	check(err)
	probe := func() {
		health := consumer.Health()
		fmt.Println(health.State, health.Running, len(health.Unhealthy) == 0)
	}

	probe()
	running, stop := context.WithCancel(ctx)
	_, err = consumer.Run(running, func(context.Context, *godwit.Delivery) error {
		probe()
		stop()
		return nil
	})
	check(err)
	probe()
	// Output:
	// Initialized 0 true
	// Processing 1 true
	// Exited 0 true
}

// A program that must not create anything verifies what another one has created.
func ExampleProvisionMode() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	verify := &godwit.ConsumerOptions{Provision: godwit.ProvisionVerify}

	_, err = godwit.NewConsumer(ctx, backend, "orders", verify)
	fmt.Println("before:", err != nil)

	_, err = godwit.NewConsumer(ctx, backend, "orders", nil) // at deployment: ProvisionAuto creates
	check(err)
	_, err = godwit.NewConsumer(ctx, backend, "orders", verify)
	fmt.Println("after:", err != nil)
	// Output:
	// before: true
	// after: false
}

// Hooks feed metrics. They are called by many goroutines at once.
func ExampleHooks() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	check(orders.Send(ctx, godwit.Message{Body: []byte("a kite")}))

	var failures, dead atomic.Int64
	running, stop := context.WithCancel(ctx)
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{
		Backoff: godwit.Constant(0),
		Hooks: godwit.Hooks{
			Ended: func(_ *godwit.Delivery, _ godwit.Verdict, err error, _ time.Duration) {
				if err != nil {
					failures.Add(1)
				}
			},
			Rejected: func(*godwit.Delivery, error) {
				dead.Add(1)
				stop()
			},
		},
	})
	check(err)
	_, err = consumer.Run(running, func(context.Context, *godwit.Delivery) error {
		return errors.New("the warehouse burned down")
	})
	check(err)
	fmt.Println("failures", failures.Load(), "dead letters", dead.Load())
	// Output:
	// failures 3 dead letters 1
}

// A middleware runs around every handler of a consumer.
func ExampleMiddleware() {
	trace := func(next godwit.Handler) godwit.Handler {
		return func(ctx context.Context, d *godwit.Delivery) error {
			fmt.Println("begin", d.Headers.Value("trace"))
			defer fmt.Println("end", d.Headers.Value("trace"))
			return next(ctx, d)
		}
	}
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	check(orders.Send(ctx, godwit.Message{
		Body: []byte("a kite"), Headers: godwit.Headers{{Name: "trace", Value: "4bf92f"}},
	}))
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{
		Middleware: []godwit.Middleware{trace},
	})
	check(err)

	running, stop := context.WithCancel(ctx)
	_, err = consumer.Run(running, func(_ context.Context, d *godwit.Delivery) error {
		fmt.Printf("packed %s\n", d.Body)
		stop()
		return nil
	})
	check(err)
	// Output:
	// begin 4bf92f
	// packed a kite
	// end 4bf92f
}

// Demand tells an autoscaler how much waits.
func ExampleConsumer_Demand() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	check(orders.SendBatch(ctx, make([]godwit.Message, 30)))
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", nil)
	check(err)

	demand, err := consumer.Demand(ctx)
	check(err)
	fmt.Println("waiting:", demand.Backlog)
	// Output:
	// waiting: 30
}
