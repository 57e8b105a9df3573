package driver

import "context"

// Transformer is a Backend that can send messages and finish the deliveries that they result from in one transaction.
type Transformer interface {
	// Transform opens a Receiver that reports its verdicts in transactions, together with the messages that Attach has
	// added. to is a Sender of this backend. Transform returns an error of class [Permanent], which says why, if the
	// service, the channel or the options do not allow transactions.
	Transform(ctx context.Context, from Channel, to Sender, o ReceiverOptions) (TransformReceiver, error)
}

// TransformReceiver is a Receiver with transactions. A message that was attached to a delivery, and the delivery's Done
// with it, take effect together or not at all, also after a crash: a consumer that reads only committed messages sees
// the message once for each delivery. The copies that Retry and Reject make are in transactions, too.
type TransformReceiver interface {
	Receiver

	// Attach adds messages that the Sender has prepared to a delivery that the core holds. It replaces what was
	// attached to it before. Done sends them, and every other verdict drops them. Messages of one lane are sent in the
	// order of its deliveries. Attach makes no request, and a delivery that is no longer ours is ignored. What waits
	// for its transaction is bounded by what Receive returns: it returns less while much waits.
	Attach(h Handle, messages []Prepared)
}
