// Package godwittest tests an application's handlers with the real client, consumer and server, in virtual time.
//
// Its nouns: a [Harness] is a backend in this process, together with what a test does with it. A consumer or function
// that the harness runs is a [Running] until the test ends. A [Fault] is an error that the service causes. A [Message]
// is what happened to one message, attempt by attempt. A [DeadLetter] is a rejected message with its cause. A [Bucket]
// holds the objects of an application, and [Metrics] are those of its channels and its own.
//
//	func TestAHandlerThatFailsTwice(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			h := godwittest.New(t, nil)
//			consumer := h.Consumer("orders", nil)
//			h.Send(h.Producer("orders", nil), godwittest.Bodies("a kite")...)
//			h.Run(consumer, handler)
//			h.AwaitHandled("orders", 1)
//			h.AssertAttempts("orders", "a kite", 3)
//		})
//	}
//
// In a testing/synctest bubble time is virtual, and days pass at once. Outside a bubble it is real, and
// [Harness.Advance] moves only the server's clock.
//
// The harness observes the seam between godwit and its backend, so it sees everything that uses [Harness.Backend],
// including producers and consumers that the application creates itself. It inspects the server without receiving
// messages.
//
// [NewKafka] returns a harness with the embedded Kafka instead of the embedded AWS.
//
// An assertion that does not hold is repeated for a second, because a verdict is sent a moment after its handler has
// returned. Then it fails the test, and reports the actual state.
package godwittest
