// Package godwittest tests an application's handlers: on the real client, consumer and server, in virtual time.
//
// Its nouns: a [Harness] is a backend of its own, in this process, and what a test does with it; what the harness runs
// is [Running] until the test ends; a [Fault] is something that the service does to the application; a [Message] is what
// became of one message, attempt by attempt; a [DeadLetter] is one that died, with its cause.
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
// In a testing/synctest bubble time is virtual, and days pass in no time. Outside of one it is real; [Harness.Advance]
// then moves the server's clock alone.
//
// The harness watches at the seam between godwit and its backend, so it sees whatever uses [Harness.Backend]: also the
// producers and consumers that the application makes itself. It looks into the server without receiving anything.
//
// [NewKafka] makes a harness on the embedded Kafka instead of the embedded AWS.
//
// An assertion that does not hold is looked at again for a second, because a verdict leaves a moment after its handler has
// returned; then it fails the test, and says what was there instead.
package godwittest
