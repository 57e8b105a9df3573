package send

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/layout"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

const (
	// largeRoom is how much smaller than the topic's limit a record is that keeps its body, because its copies in tiers
	// and dead letters have more headers.
	largeRoom = 1 << 10
	// pointerRoom is more than a pointer has bytes, unless the store's prefix is very long.
	pointerRoom = 600
	day         = 24 * time.Hour
)

// BodyFolder is where the bodies of a cluster's topics are, each topic in a folder below. The cluster is part of it, so
// that the objects of several clusters in one bucket can be told from each other, and from those of SNS and SQS. The
// end says, as for topics of SNS, that several groups may read a body.
func BodyFolder(cluster string) string {
	plain := func(r rune) rune {
		if r < 0x80 && (r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '_' // also for a dot: a folder cannot be ".."
	}
	return "kafka/" + cmp.Or(strings.Map(plain, cluster), "unknown") + "/topics"
}

// folder is where the bodies of the sender's own topic are.
func (s *Sender) folder() string { return s.folders + "/" + s.Topic }

// apart is the size of a record above which its body goes to the store.
func (s *Sender) apart() int { return max(s.Most-largeRoom, 1) }

// prepareLarge writes the body of a message to the store, and makes its record a pointer to it. r has no body yet.
func (s *Sender) prepareLarge(ctx context.Context, m *driver.Message, r *kgo.Record) (int, error) {
	length := m.Size
	if m.Reader == nil {
		length = int64(len(m.Body))
	}
	r.Value = nil
	wire.SetHeader(r, claim.SizeAttribute, strconv.FormatInt(length, 10))
	if size := wire.Size(r) + pointerRoom; size > s.Most {
		return 0, s.tooLarge(int64(size))
	}
	p, err := claim.Write(ctx, s.Of.store, s.folder(), m, s.zip, nil)
	if err != nil {
		return 0, err
	}
	r.Value = []byte(p.Text(claim.Current))
	size := wire.Size(r)
	if size > s.Most {
		return 0, s.tooLarge(int64(size))
	}
	return size, nil
}

// announcing returns an error for a header that would make readers take the body for a pointer.
func announcing(hs []driver.Header) error {
	for _, h := range hs {
		if claim.Announces(h.Name) {
			return failure.Permanent("header %s says that the value of a record points to its body in a store: give the "+
				"header another name", h.Name)
		}
	}
	return nil
}

// outlasts returns an error if the store deletes bodies while records of a topic, or their dead letters, still point to
// them. Otherwise it returns how long they do.
func (o *Senders) outlasts(ctx context.Context, topic string) (stays time.Duration, err error) {
	if o.store == nil || o.store.Lifetime() == 0 {
		return 0, nil
	}
	configs, err := o.cluster.Configs(ctx, topic)
	if err != nil {
		return 0, fmt.Errorf("look up how long topic %s keeps records, to compare it with kafka.Options.Store (it needs "+
			"permission to describe the topic's configuration, unless s3store.Options.Lifetime is negative): %w", topic,
			failure.Classify(err))
	}
	keeps := int64(o.store.Lifetime() / day)
	retention, err := strconv.ParseInt(cluster.ConfigOf(configs, "retention.ms"), 10, 64)
	switch policy := cluster.ConfigOf(configs, "cleanup.policy"); {
	case strings.Contains(policy, "compact"):
		return 0, failure.Permanent("topic %s keeps records without a limit (cleanup.policy is %s), and kafka.Options.Store "+
			"deletes bodies after %d days: use a store with a prefix of its own whose s3store.Options.Lifetime is "+
			"negative", topic, policy, keeps)
	case err != nil:
		return 0, failure.Permanent("topic %s has no retention.ms to compare with kafka.Options.Store, which deletes bodies "+
			"after %d days: make s3store.Options.Lifetime negative", topic, keeps)
	case retention < 0, retention > math.MaxInt64/4:
		return 0, failure.Permanent("topic %s keeps records without a limit (retention.ms is %d), and kafka.Options.Store "+
			"deletes bodies after %d days: set the topic's retention, or use a store with a prefix of its own whose "+
			"s3store.Options.Lifetime is negative", topic, retention, keeps)
	}
	letters := max(retention, layout.BesideRetention.Milliseconds())
	if needs := daysOf(retention + letters); needs > keeps {
		return 0, failure.Permanent("topic %s keeps records for %d days and their dead letters for %d more, and "+
			"kafka.Options.Store deletes bodies after %d days: raise s3store.Options.Lifetime to %d days, or shorten "+
			"the topic's retention", topic, daysOf(retention), daysOf(letters), keeps, needs)
	}
	return time.Duration(retention+letters) * time.Millisecond, nil
}

// daysOf is a number of milliseconds in days, rounded up.
func daysOf(ms int64) int64 {
	n := day.Milliseconds()
	return (ms + n - 1) / n
}

// pointer is a received pointer to a body in the store. It is the driver.Opener of its delivery.
type pointer struct {
	claim.Pointer
	store driver.Store
}

// Open begins to read the body.
func (p *pointer) Open(ctx context.Context) (io.ReadCloser, int64, error) {
	return claim.Open(ctx, p.store, p.Pointer)
}

// Point gives a delivery the body to which its record points, and hides the headers that say so. store may be nil.
func Point(store driver.Store, d *driver.Delivery) {
	if d.Err != nil || !slices.ContainsFunc(d.Header, announces) {
		return
	}
	if store == nil {
		d.Err = &driver.Error{Class: driver.Permanent, Err: &driver.PayloadError{
			Fault: driver.PayloadPointer,
			Err: errors.New("the record points to a body in a store, and the backend has none: set kafka.Options.Store " +
				"(s3store.Open)"),
		}}
		return
	}
	attributes := make(map[string]string, 1)
	for _, h := range d.Header {
		if announces(h) {
			attributes[h.Name] = h.Value
		}
	}
	p, err := claim.Parse(string(d.Body), attributes)
	if err != nil {
		d.Err = err
		return
	}
	if d.Header = slices.DeleteFunc(d.Header, announces); len(d.Header) == 0 {
		d.Header = nil
	}
	d.Body, d.Opener, d.Size = nil, &pointer{p, store}, p.Size
}

// announces reports whether a header says that the value of its record is a pointer.
func announces(h driver.Header) bool { return claim.Announces(h.Name) }
