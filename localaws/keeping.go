package localaws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/cloudwatch"
	"github.com/godwitmq/godwit/localaws/keep"
	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
	"github.com/godwitmq/godwit/localaws/sns"
	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// serverRecord is the key of the record of the server itself.
const serverRecord = "server"

// keeping is what a server does with its store. A server in memory has the zero value.
type keeping struct {
	store keep.Store
	clock *clock.Clock
	start keptServer
	// window is for the messages of all queues.
	window *queue.Window
	kept   *kept // until it is restored
}

// hot is how many bytes of messages are also in memory: a short backlog is received without reading from the disk.
const hot = 16 << 20

// keptServer is the record of the server itself.
type keptServer struct {
	Epoch  uint32        // number of the start, from 1 on
	Offset time.Duration // of the clock
}

// kept is what the store had at the start.
type kept struct {
	sqs *sqs.Kept
	sns sns.Kept
	s3  bucket.Kept

	cloudwatch cloudwatch.Kept
}

// load reads the store, sets the clock, and begins a new epoch.
func (k *keeping) load(store keep.Store, c *clock.Clock, log *slog.Logger) error {
	if store == nil {
		return nil
	}
	k.store, k.clock = store, c
	k.window = &queue.Window{Most: hot}
	k.kept = &kept{sqs: sqs.NewKept(sqs.Options{Clock: c, Store: store, Window: k.window})}
	k.kept.s3.Blob = func(size int64) (bucket.Storage, error) { return rest.Storage(size) }
	if err := store.Load(k.add); err != nil {
		return fmt.Errorf("localaws: Options.Store: %w", err)
	}
	c.Restore(k.start.Offset)
	if back := k.kept.sqs.Newest().Sub(c.Now()); back > 0 {
		log.Warn("the machine's clock went back since the last start: the server's clock does not, so that deadlines hold",
			"ahead", k.start.Offset+back)
		c.Restore(k.start.Offset + back)
	}
	k.start.Epoch++
	k.write()
	return k.sync()
}

func (k *keeping) add(key string, value []byte) error {
	if key == serverRecord {
		return json.Unmarshal(value, &k.start)
	}
	for _, add := range []func(string, []byte) (bool, error){
		k.kept.sns.Add, k.kept.s3.Add, k.kept.cloudwatch.Add, k.kept.sqs.Add,
	} {
		if ok, err := add(key, value); ok || err != nil {
			return err
		}
	}
	return fmt.Errorf("the record %q is of an unknown kind: use the release that has written it", key)
}

// restore creates what the store had.
func (k *keeping) restore(in func(wire.Place) *services) error {
	if k.store == nil {
		return nil
	}
	kept := k.kept
	k.kept = nil
	return errors.Join(
		kept.sqs.Restore(func(at wire.Place) *sqs.Service { return in(at).sqs }),
		kept.sns.Restore(func(at wire.Place) *sns.Service { return in(at).sns }),
		kept.cloudwatch.Restore(func(at wire.Place) *cloudwatch.Service { return in(at).cloudwatch }),
	)
}

// buckets returns what the store had of S3.
func (k *keeping) buckets() *bucket.Kept {
	if k.kept == nil {
		return nil
	}
	return &k.kept.s3
}

// seed returns the seed of this start: one that repeated the ids of an earlier start would give two messages one id.
func (k *keeping) seed(seed uint64) uint64 {
	const odd = 0x9e3779b97f4a7c15
	return seed + uint64(max(k.start.Epoch, 1)-1)*odd
}

// write writes the record of the server.
func (k *keeping) write() {
	if k.store == nil {
		return
	}
	k.start.Offset = k.clock.Offset()
	b, err := json.Marshal(k.start)
	if err != nil { // two numbers
		panic("localaws: a record cannot be written: " + err.Error())
	}
	k.store.Write(keep.Change{Key: serverRecord, Value: b})
}

// sync waits until everything is kept.
func (k *keeping) sync() error {
	if k.store == nil {
		return nil
	}
	return k.store.Sync()
}

// settle is the same as sync for what has no caller to whom an error can be returned.
func (k *keeping) settle(log *slog.Logger) {
	if err := k.sync(); err != nil {
		log.Error("what was done is not kept yet", "err", err)
	}
}

// around returns a Run that answers when the changes of the call are kept, and that refuses the call while nothing can
// be kept. A receive goes on, and only one of an ordered queue waits, by itself.
func (k *keeping) around(c *wire.Call, run wire.Run) wire.Run {
	if k.store == nil || reads(c.Action) {
		return run
	}
	return func(ctx context.Context) (any, error) {
		if err := k.store.Failure(); err != nil {
			return nil, notKept(c, err)
		}
		out, err := run(ctx)
		if failure := k.store.Sync(); failure != nil {
			return nil, notKept(c, failure)
		}
		return out, err
	}
}

// reads reports whether an action changes nothing that has to be kept before the answer.
func reads(action string) bool {
	return slices.ContainsFunc([]string{"Get", "List", "Head", "Describe", "Receive", "Check"},
		func(prefix string) bool { return strings.HasPrefix(action, prefix) })
}

// notKept returns the answer to a call whose changes are not on disk. They may be later.
func notKept(c *wire.Call, err error) *wire.Error {
	e := &wire.Error{Code: "InternalError", Status: http.StatusInternalServerError, Fault: true}
	if strings.HasPrefix(c.Service, "s3") {
		e.Code, e.Status = "ServiceUnavailable", http.StatusServiceUnavailable
	}
	e.Message = fmt.Sprintf("The server cannot keep the change: %v", err)
	return e
}
