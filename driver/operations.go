package driver

import (
	"context"
	"time"
)

// Operator is a [Backend] that operators can look at and repair. A wrapper of a Backend returns the operations of the
// inner one.
type Operator interface {
	// Operations makes no request, and returns the same functions each time.
	Operations() Operations
}

// Operations is what an operator does with the channels of a backend, beside sending and receiving. A function that is
// nil is one that the backend, or the service behind it, cannot do. Nothing here is part of a message's way.
type Operations struct {
	// Catalog returns the channels that exist, by name. It changes nothing, and lists nothing of other namespaces. A
	// channel that was created or deleted within the last minutes may be missing, or still listed.
	Catalog func(ctx context.Context) ([]ChannelInfo, error)

	// Inspect reports the depth of a channel without receiving from it. The core calls it, too.
	Inspect func(ctx context.Context, c Channel) (Depth, error)

	// Address says where a channel is, for traces and metrics. It makes no request.
	Address func(c Channel) Address

	// Plan compares what exists with specifications, and changes nothing. Nothing is returned for what is as it should
	// be. With the mode [Declare] it compares everything that an owner's Ensure would change; a Provisioner that gets
	// the same specification leaves no difference but those that it cannot change. With other modes it compares what a
	// Provisioner in mode [Verify] reports. The differences are in the order of the specifications, and each is
	// returned once. An error is about the whole call.
	Plan func(ctx context.Context, specs []ChannelSpec) ([]Difference, error)

	// Wanted returns the resources that specifications of owners ask for, for tools that create them. It makes no
	// request. address returns how a policy or another resource names one: an ARN, or what a tool replaces with one.
	// Resources of [ChannelInfo].Mapped channels are not part of it. A backend with Wanted has Plan.
	Wanted func(specs []ChannelSpec, address func(resource, name string) string) ([]WantedResource, error)

	// Specs returns the specifications that leave no difference in a Plan with the mode [Declare], of queues and
	// exchanges that exist. It changes nothing. A channel that has something which no specification can say is returned
	// with the nearest one. The error for a channel that does not exist is of class [NotFound]. Of a log, it is the
	// specification and the options that Topic tells which leave no difference.
	Specs func(ctx context.Context, cs []Channel) ([]ChannelSpec, error)

	// Tag sets tags of the resource of one channel, and leaves its other tags. It is an error of class [Permanent] for
	// a resource that Godwit has not created. nil: resources of the service have no tags.
	Tag func(ctx context.Context, c Channel, tags map[string]string) error

	// Access tells whose credentials the backend has, and tries calls that read. It changes nothing. An error of the
	// service is in the result; the error of Access is about the call itself.
	Access func(ctx context.Context) (Access, error)

	// RequireReplicas plans, and unless dry is set, sets that a message of a channel is acknowledged only when two
	// replicas have it, for those of its resources that have at least three. It leaves alone what the backend was told
	// to use. Beside an error, what was changed is returned. nil: the service replicates every message before it
	// acknowledges it, as SQS.
	RequireReplicas func(ctx context.Context, c Channel, dry bool) ([]Difference, error)

	// Activity reports on several channels in one call, in their order, because services answer for many at once. It
	// covers the time from since until now. An error is about the whole call; what cannot be found out about a single
	// channel is unknown there. A channel that does not exist may be answered with zeros, so take the channels from
	// Catalog.
	Activity func(ctx context.Context, cs []Channel, since time.Time) ([]Activity, error)

	// Members returns the processes that receive from a channel now, by their ids. One that has died is among them
	// until the service notices. It is an error of class [Permanent] for an exchange. nil: the service does not know
	// who receives, as SQS.
	Members func(ctx context.Context, c Channel) ([]Member, error)

	// Past returns the minutes of several channels since a time, in the order of the channels, for charts of times in
	// which nobody has looked. The latest minutes may be missing, because services count late. An error is about the
	// whole call; why nothing is known of a single channel is in its Past. It costs more than Activity, so keep what it
	// returns. A backend with Past has Activity.
	Past func(ctx context.Context, cs []Channel, since time.Time) ([]Past, error)

	// Stored reports what the [Store] of the backend holds, and what was asked of it since a time. An error is about
	// the whole call. nil: there is no store, or nobody counts.
	Stored func(ctx context.Context, since time.Time) (Stored, error)

	// Peek reads at most max messages without receiving them: no lease, no attempt, no commit. They are in the order of
	// the channel as far as it has one, of each partition as far as there are several. Messages that a consumer holds
	// may be among them. An empty result means that there are no messages at or behind that position. An error that
	// wraps [errors.ErrUnsupported] says that the service behind this backend cannot peek, so that the caller has to
	// receive.
	Peek func(ctx context.Context, c Channel, from PeekFrom, max int) ([]Peeked, error)

	// Follow calls each with the messages of a channel or an exchange, as Peek reads them: those that are there from a
	// position on, and those that come. It ends with ctx, or with an error of each, which it returns. Without a
	// position, only messages are read that come from now on. The first call has no messages: the position is fixed
	// then. From.Last and From.Finished have no effect; finished messages are among them. Messages of a partition are
	// in their order.
	Follow func(ctx context.Context, c Channel, from PeekFrom, each func([]Peeked) error) error

	// Return opens the way back for the dead letters of a channel. A letter goes to the queue or log that it names as
	// its origin, and otherwise to the channel's own. With alone, no consumer of another channel gets it; if that is
	// impossible, the error is of class [Permanent] and says why.
	Return func(ctx context.Context, dead Channel, alone bool) (Home, error)

	// Move makes the service itself move the messages of a channel, at most perSecond of them in a second; 0: as fast
	// as the service likes. Moves returns the latest of these tasks, the newest first. CancelMove ends a running one;
	// messages that it has moved stay moved. A backend has all three or none.
	Move       func(ctx context.Context, from, to Channel, perSecond int) error
	Moves      func(ctx context.Context, from Channel) ([]MoveTask, error)
	CancelMove func(ctx context.Context, task string) error

	// Cancel cancels a message that was sent to a channel as Cancellable, by its [Receipt].CancelID. Both answers are
	// final: a cancelled message is never delivered, and one that is not cancelled is, or was. To cancel a message
	// again answers the same. An error says that the answer is unknown, so that the call is to be repeated if the class
	// of the error is passing; it is of class [Permanent] for a text that is no id, and for the id of another channel.
	// Producers call it, too. nil: messages of the backend cannot be cancelled.
	Cancel func(ctx context.Context, to Channel, id string) (cancelled bool, err error)

	// SendNow ends the wait of a message that waits for its time, by the ID that Peek gives it, or by its
	// [Receipt].CancelID: consumers of the channel send it on at once, once. sends is false if it does not wait any
	// more: it was sent on or cancelled. Errors are as those of Cancel, and also of class [Permanent] if the message
	// cannot be sent on yet. nil: the service receives no message before its time, as SQS.
	SendNow func(ctx context.Context, to Channel, id string) (sends bool, err error)

	// Clock asks for the service's time, of the clock by which it removes duplicates of a channel's messages. The error
	// of a service that tells no time is of class [Permanent]. Producers call it, too. nil: the backend has no
	// [Message].Tick.
	Clock func(ctx context.Context, to Channel) (time.Time, error)

	// Purge plans, and unless dry is set, deletes all messages of a queue or of dead letters without receiving them:
	// those that wait, that consumers hold, and that are not due yet. Consumers may still handle what they hold.
	// Messages that are sent later stay, and so do bodies in a [Store]. An error of class [Throttled] says how long to
	// wait if the service is still busy with an earlier purge. It is an error of class [Permanent] for an exchange.
	Purge func(ctx context.Context, c Channel, dry bool) (Purged, error)

	// Remove plans, and unless dry is set, deletes the resources of one channel, with the messages in them: of a queue,
	// the queue and its subscription; of an exchange, the fan-out point itself; of dead letters, their queue. Dead
	// letters stay when their channel is removed. It is an error of class [Permanent] if the backend was told to use
	// the resource, if Godwit has not created it, or if something else still depends on it: queues on their exchange,
	// and queues on their dead letters. What is created again meanwhile, by a running consumer or producer, is not
	// prevented.
	Remove func(ctx context.Context, c Channel, dry bool) (Removed, error)

	// Snapshot reads one queue, exchange or queue of dead letters directly from the service, not from a list that may
	// be late, so that it can be made again after Remove. It changes nothing. The error for a channel that does not
	// exist is of class [NotFound]. Tags, or subscribers, that cannot be read are an error. Positions of consumers are
	// not part of it.
	Snapshot func(ctx context.Context, c Channel) (Snapshot, error)

	// Restore makes what the Data of a snapshot describes and does not exist: the resource, and its subscription. It
	// leaves existing resources as they are, so a second one changes nothing. Messages do not come back. An error whose
	// After is set can be tried again then. An error with something made says what could not be made. A backend with
	// Snapshot has it.
	Restore func(ctx context.Context, data []byte) (Restored, error)

	// Pause makes the service itself refuse every receive from a channel until Resume, whatever its consumers do, and
	// also to consumers that are not Godwit's. Messages can still be sent, and deliveries that a consumer holds can be
	// settled. A Receive meanwhile returns an error that is [ErrPaused]. Provisioning does not end a pause, and does
	// not report it as a difference. Pause reports whether the channel is not paused yet, Resume whether it is paused;
	// if dry is set, nothing else happens. It is an error of class [Permanent] for an exchange, and for a resource that
	// the backend was told to use, because Godwit never changes it. A backend has both or none.
	Pause, Resume func(ctx context.Context, c Channel, dry bool) (changes bool, err error)

	// Rewind plans, and unless dry is set, changes where the consumers of a channel on a log go on, in each partition.
	// What was known of finished messages and attempts there is forgotten. While the channel has consumers it is an
	// error of class [Permanent] that names them, because their commits would undo it. Dead letters and retries that
	// wait elsewhere stay.
	Rewind func(ctx context.Context, c Channel, to Position, dry bool) ([]PartitionRewind, error)

	// Orphans returns the objects of the backend's [Store] on a log that the backend has written before a time and to
	// which no message points, neither one that waits nor a finished one that the log still has. It reads all messages
	// of the namespace, and changes nothing. An object whose message is not sent yet is returned, too, so before must
	// be longer ago than a sender may take.
	Orphans func(ctx context.Context, before time.Time) ([]Orphan, error)
}

// OperationsOf returns what an operator can do with a backend; nothing, if it is no [Operator].
func OperationsOf(b Backend) Operations {
	if o, ok := b.(Operator); ok {
		return o.Operations()
	}
	return Operations{}
}
