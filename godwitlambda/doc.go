// Package godwitlambda runs handlers as AWS Lambda functions whose events come from a queue of SQS.
//
// Its nouns: a [Handler] is what the function's main passes to lambda.Start of github.com/aws/aws-lambda-go. An event
// is a batch of messages that Lambda has received from the queue of the handler's channel. The answer names the
// messages of the event that are to be delivered again; Lambda deletes the others.
//
//	func main() {
//		ctx := context.Background()
//		backend, err := snssqs.Open(ctx, nil)
//		if err != nil {
//			log.Fatal(err)
//		}
//		h, err := godwitlambda.NewHandler(ctx, backend, "orders", pack, &godwit.ConsumerOptions{
//			ProcessingTimeout: 20 * time.Second, // below the function's timeout
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//		lambda.Start(h)
//	}
//
// A [godwit.Consumer] handles the messages of each event, with its policy, processing timeout, lanes, middleware,
// hooks, filter and bodies in a store. Differences from a consumer that polls:
//
//   - The event source mapping needs the response type ReportBatchItemFailures. Without it Lambda ignores the answer,
//     and deletes messages that have failed.
//   - The deployment makes the queue, its dead letters and the mapping; a handler creates nothing.
//   - A message that is to be retried is in the answer, with all messages of its message group behind it if the queue
//     is FIFO. Its wait is the time until the queue shows it again. The function does not wait for it.
//   - A rejected message is copied to the dead letters by the function, and then counts as handled.
//   - Two seconds before the function's deadline no more handlers start. Handlers that run are canceled 0.75
//     seconds later, with the cause godwit.ErrShutdown, and their messages are delivered again at once.
//   - Leases are not renewed. Lambda does not accept a visibility timeout of the queue that is shorter than the
//     function's timeout.
//   - Objects of large messages stay in the store until its lifecycle deletes them, because Lambda deletes the messages
//     after the function has answered.
//
// docs/lambda.md has the mapping and the permissions.
package godwitlambda
