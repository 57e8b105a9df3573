// Package godwit sends and receives messages reliably, through Amazon SNS and SQS or through Apache Kafka.
//
// A program sends a [Message] to a channel, and has one [Handler] for the messages that arrive. The [Consumer] around
// the handler receives, keeps the order, renews leases, retries failures, moves what cannot be handled to the dead
// letters, and stops without losing a message. Embedded servers of SQS, SNS and Kafka need no installation, so the same
// program runs on a laptop and in a test.
//
// Delivery is at least once. A message that the service has accepted is not lost, and after a crash it may be handled
// twice. [Delivery semantics] lists every guarantee with the tests that show it.
//
// This page is a tour. In its code, check ends the program if there is an error; the Examples below are the same code
// in whole programs.
//
// # Channels and backends
//
// A channel is a name that messages are sent to and received from:
//
//   - orders is a queue. Each message goes to one consumer.
//   - wishlist_events.audit_log is the queue of one consumer of the exchange wishlist_events.
//   - wishlist_events.* stands for all queues of the exchange. A producer sends to it.
//   - orders@dlq holds the dead letters of orders.
//   - orders@later holds messages of orders that wait for their time, on SQS. Consumers of orders wake them.
//   - orders@ticks holds messages of schedules on their way to orders, if that has no order.
//
// A [Backend] carries the messages. It is the only thing in a program that depends on the service:
//
//	backend, err := local.Open(ctx, nil) // on AWS: snssqs.Open(ctx, nil)
//	check(err)
//
// [NewProducer] and [NewConsumer] create the queues, topics and policies that their channel needs. A [ProvisionMode]
// restricts that where another program creates them. Options may be nil, and the zero value of each option is its
// default. Everything exported is safe for concurrent use unless its comment says otherwise.
//
// # Produce
//
//	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
//	check(err)
//	check(orders.Send(ctx, godwit.Message{Body: []byte("a kite")}))
//
// [Producer.Send] returns when the service has accepted the message; senders that run at the same time share requests.
// [Producer.SendBatch] sends many messages and says which of them were not accepted. [Producer.SendAsync] returns
// before the answer. Close the producer at the end: [Producer.Close] sends what is still queued.
//
// # Consume
//
//	pack := func(_ context.Context, d *godwit.Delivery) error {
//		fmt.Printf("packed %s at attempt %d\n", d.Body, d.Attempt)
//		return nil // done: the message is deleted
//	}
//	consumer, err := godwit.NewConsumer(ctx, backend, "orders", nil)
//	check(err)
//	report, err := consumer.Run(ctx, pack)
//
// [Consumer.Run] blocks until its context ends. Up to ten handlers run at once unless the options say otherwise. The
// lease of a message is renewed for as long as the consumer holds it, so handlers may be slow; each gets five minutes
// by default, and then its context is canceled.
//
// A program that prefers a loop to a handler ranges over [Consumer.Deliveries] and settles each [Delivery] itself.
//
// Values instead of bytes need a [Codec], such as [JSON]. A [Router] has a handler for each type of message.
//
//	wishes := godwit.NewSender[wish](producer, godwit.JSON)
//	check(wishes.Send(ctx, wish{User: "ada", Item: "a kite"}, godwit.Message{}))
//
//	handler := godwit.Handle(godwit.JSON, func(_ context.Context, d godwit.Typed[wish]) error {
//		fmt.Printf("%s wants %s (%s)\n", d.Value.User, d.Value.Item, d.ContentType)
//		return nil
//	})
//
// # Retry
//
// A handler that returns an error, or panics, has failed. By default the message is delivered again after a wait that
// grows from seconds to ten minutes, and after the third failure it is rejected. [ConsumerOptions] changes both numbers
// (MaxAttempts and Backoff), and a [Policy] decides by the error:
//
//	policy := godwit.RetryPolicy(3, godwit.Steps(10*time.Second, time.Minute))
//
// The handler can mark an error: [Permanent] rejects the message at once, [RetryAfter] sets the wait, and [Fatal] stops
// the consumer and keeps the message. If everything fails because a database is down, BreakAfter stops the receiving
// until the first message succeeds again.
//
// # Dead letters
//
// A rejected message is moved to the dead letters of its channel, with the reason. Dead letters are a channel, too:
//
//	letters, err := godwit.NewConsumer(ctx, backend, "orders@dlq", nil)
//	check(err)
//	for d, err := range letters.Deliveries(ctx) {
//		check(err)
//		fmt.Printf("%s: %s\n", d.Body, d.Death.Error)
//		check(orders.Send(ctx, d.Forward()))
//		check(d.Done())
//	}
//
// [Delivery.Forward] makes a message of a dead letter that can be sent back to the channel. [Death] says why, when and
// where the message was rejected.
//
// # Order
//
// On an ordered channel the messages of one order key are handled one after another, in the order in which the service
// accepted them, retries included. Other keys continue meanwhile. Producer and consumer both set Ordered:
//
//	orders, err := godwit.NewProducer(ctx, backend, "orders", &godwit.ProducerOptions{Ordered: true})
//	check(err)
//	check(orders.Send(ctx, godwit.Message{OrderKey: "ada", Body: []byte("add a kite")}))
//	check(orders.Send(ctx, godwit.Message{OrderKey: "ada", Body: []byte("pay")}))
//
// On SQS an ordered channel also drops duplicates of a send for five minutes, by [Message] DedupID or by content. Where
// duplicates must never have an effect, [Idempotent] remembers which keys are done. From Kafka to Kafka, [Transform]
// sends each result exactly once.
//
// # One message for many consumers
//
// Each consumer of an exchange has its own queue and its own dead letters. A [Filter] selects messages by their routing
// key:
//
//	mobile, err := godwit.NewConsumer(ctx, backend, "wishlist_events.mobile", &godwit.ConsumerOptions{
//		Filter: godwit.Filter{Prefix: []string{"MOBILE."}},
//	})
//
// # Batches
//
// A handler of batches gets many deliveries in one call, for example to insert them with one statement:
//
//	insert := func(_ context.Context, ds []godwit.Typed[wish]) error {
//		fmt.Printf("inserted %d wishes\n", len(ds))
//		return nil // all of them are done
//	}
//	batches := &godwit.BatchOptions{Size: 500, Window: 100 * time.Millisecond}
//	report, err := consumer.RunBatches(ctx, godwit.HandleBatch(godwit.JSON, insert), batches)
//
// A [HandleBatchError] says which deliveries have failed, and the others are done.
//
// # Many channels in one process
//
// [RunAll] runs several consumers, a fleet, over one pool of handlers. Handlers take from the channels in turn, by
// weight and priority, so a full channel does not starve a quiet one:
//
//	check(godwit.RunAll(ctx, &godwit.FleetOptions{Concurrency: 20},
//		orders.With(pack).Weight(4),       // four orders for each invoice, while both wait
//		invoices.With(mail),               // weight 1
//		reports.With(write).Priority(-1))) // only while a handler is free
//
// # Limits
//
// What a consumer holds is bounded, by Concurrency and MaxBytes. A [Rate] limits how many messages start in a period.
// On a channel without order the order key names a tenant, and MaxPerTenant keeps the burst of one tenant from delaying
// the others. MaxConcurrency lets the number of handlers grow while messages wait for too long.
//
// # Shutdown
//
// When its context ends, a consumer stops receiving, releases what has not started, lets running handlers finish, and
// reports the last results to the service, all within ShutdownTimeout. [Main] ends the context at the first signal.
// Pass the code to os.Exit:
//
//	code := godwit.Main(func(ctx context.Context) error {
//		_, err := consumer.Run(ctx, pack)
//		return err
//	})
//
// # Observe
//
// [Consumer.Health] answers a probe and says why a consumer does not do its work. [Report] counts what became of the
// deliveries, and [Consumer.Demand] says how many consumers the backlog needs. [Hooks] see each event, and a
// [Middleware] runs around each handler. The log tells what a person on call needs to know, and nothing of a body.
//
// # Test
//
// Package godwittest runs the real consumer on an embedded server, in virtual time inside of testing/synctest: hours of
// retries take milliseconds. It injects faults, waits for results, and asserts what was handled, in which order, and
// after how many attempts.
//
//	h := godwittest.New(t, nil)
//	consumer := h.Consumer("payments", nil)
//	payments := h.Producer("payments", nil)
//	h.Run(consumer, charge(func() error { return nil }))
//	h.Send(payments, godwittest.Bodies("5 euros", "")...)
//	h.AwaitNothingLeft()
//	h.AssertHandled("payments", "5 euros")
//
// # SQS and Kafka
//
// The same handler runs on both services. They differ in what they support:
//
//   - SQS delivers in no order unless the channel is ordered (FIFO). A Kafka topic is ordered by key unless the options
//     say otherwise, and the consumer handles many keys of a partition at once.
//   - On SQS any number of processes share a channel. On Kafka the number of partitions is the limit, except in share
//     groups.
//   - SQS keeps a retry for up to twelve hours. On Kafka the consumer holds it for up to ten minutes, or it waits in a
//     topic of its own, a tier.
//   - A single message can be delayed on channels without order. A whole channel can be delayed on SQS.
//   - SNS applies filters before a message reaches the queue. On Kafka the consumer discards what it does not want.
//   - On SQS dead letters are a queue. On Kafka they are a topic. ops.Requeue sends them back on both.
//
// What a backend cannot do is an error when the producer or consumer is created, or when the message is sent.
// [Backends] has the tables.
//
// # Packages
//
//   - [github.com/godwitmq/godwit/snssqs] and [github.com/godwitmq/godwit/kafka] are the backends.
//   - [github.com/godwitmq/godwit/local] and [github.com/godwitmq/godwit/local/kafkalocal] are the same backends, each
//     on an embedded server.
//   - [github.com/godwitmq/godwit/godwittest] tests handlers.
//   - [github.com/godwitmq/godwit/driver] is for authors of backends.
//
// Bodies travel in the message or, if they are too large for it, in a bucket of S3: see package
// [github.com/godwitmq/godwit/s3store], [Delivery.Open] and [Message].
//
// [Delivery semantics]: https://github.com/godwitmq/godwit/blob/main/docs/delivery-semantics.md
// [Backends]: https://github.com/godwitmq/godwit/blob/main/docs/backends.md
package godwit
