package send

import (
	"context"
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Forward implements driver.Forwarder: it prepares a record with the key, the value and the headers that were received.
// A topic of dead letters keeps the partition of the letter's original, and otherwise that of its key.
func (s *Sender) Forward(ctx context.Context, f *driver.Forward) (driver.Prepared, error) {
	r, err := Raised(f)
	if err == nil && s.To.Exchange != "" && s.To.Queue != "" && !s.To.DeadLetter {
		err = failure.Permanent("all consumers of topic %s would get it: name the exchange to send it to all of them "+
			"(%s.*); only the dead letters of %s can go to this consumer alone", s.Topic, s.To.Exchange, s.To)
	}
	if err == nil {
		r.Topic = s.Topic
		if s.To.DeadLetter {
			r.Partition = partitionOf(r)
		}
		err = s.Complete(ctx, r, f)
	}
	return Prepared(r, f, err)
}

// Raised is the record of a raw message. If it is revived, it has no headers of its death any more.
func Raised(f *driver.Forward) (*kgo.Record, error) {
	r, err := wire.Record(&f.Raw)
	if err != nil {
		return nil, &driver.Error{Class: driver.Permanent, Err: err}
	}
	if f.Revive {
		r.Headers = deadletter.WithoutDeath(r.Headers)
	}
	if f.Renew {
		wire.ForgetFirst(r)
	} else {
		wire.KeepFirst(r, f.First)
	}
	return r, nil
}

// Complete edits the body, or makes sure that it lasts, and compares the size with the topic's limit.
func (s *Sender) Complete(ctx context.Context, r *kgo.Record, f *driver.Forward) error {
	var err error
	if f.Edited {
		err = s.edit(ctx, r, f.Body)
	} else {
		err = s.keepBody(ctx, r)
	}
	if err != nil {
		return err
	}
	if size := wire.Size(r); size > s.Most {
		return s.tooLarge(int64(size))
	}
	return nil
}

// edit replaces the body, as Prepare would encode a new one. A body without bytes is no tombstone.
func (s *Sender) edit(ctx context.Context, r *kgo.Record, body []byte) error {
	r.Headers = slices.DeleteFunc(slices.Clone(r.Headers), func(h kgo.RecordHeader) bool {
		return claim.Announces(h.Key)
	})
	if r.Value = body; body == nil {
		r.Value = []byte{}
	}
	if s.Of.store == nil || wire.Size(r) <= s.apart() {
		return nil
	}
	_, err := s.prepareLarge(ctx, &driver.Message{Body: body}, r)
	return err
}

// keepBody makes sure that the object of a pointer lasts for as long as the record, and is where [Backend.Orphans]
// looks for pointers to it. The object of another program stays where it is.
func (s *Sender) keepBody(ctx context.Context, r *kgo.Record) error {
	attributes := map[string]string{}
	for _, h := range r.Headers {
		if claim.Announces(h.Key) {
			attributes[h.Key] = string(h.Value)
		}
	}
	if len(attributes) == 0 {
		return nil
	}
	p, err := claim.Parse(string(r.Value), attributes)
	if err != nil || !p.Ours() {
		return nil //nolint:nilerr // the record's consumer has the same error; it can be forwarded without its body
	}
	if s.Of.store == nil {
		return failure.Permanent("its body is in S3, and the backend cannot see whether it is deleted there soon: set " +
			"kafka.Options.Store (s3store.Open)")
	}
	var now claim.Pointer
	if folder, topic := path.Split(path.Dir(p.At.Key)); strings.HasSuffix("/"+folder, "/"+s.folders+"/") &&
		s.Of.Channels.Has(topic) {
		now, err = claim.Renew(ctx, s.Of.store, s.folder(), p, s.stays)
	} else {
		now, err = claim.Copy(ctx, s.Of.store, s.folder(), p)
	}
	if err != nil || now.At == p.At {
		return err
	}
	text, err := claim.Moved(string(r.Value), now.At)
	r.Value = []byte(text)
	return err
}

// partitionOf is the partition of a record in a topic whose records keep that of their originals.
func partitionOf(r *kgo.Record) int32 {
	if home, _, ok := deadletter.HomeOf(r.Headers); ok {
		return home.N
	}
	h := fnv.New32a()
	_, _ = h.Write(r.Key) // a hash cannot fail
	return int32(h.Sum32() & 0x7fff_ffff)
}

// Prepared returns a record that is forwarded, or the error with the message's id.
func Prepared(r *kgo.Record, f *driver.Forward, err error) (driver.Prepared, error) {
	if err != nil {
		return driver.Prepared{}, fmt.Errorf("forward record %s: %w", f.ID, err)
	}
	return driver.Prepared{Wire: r, OrderKey: string(r.Key), Size: wire.Size(r)}, nil
}
