package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/provision"
)

const (
	// stateBase is the header with the version that a record replaces.
	stateBase = "godwit-base"
	// statePast is the header with the versions before that one, the newest first. A program that reads the log after
	// its record was replaced and deleted learns there whether the record counted.
	statePast = "godwit-past"
	// stateVersions bounds the versions that a record names.
	stateVersions = 64
	// stateWait is how long the brokers may send nothing while a state is read.
	stateWait = 15 * time.Second
	// stateBytes is the size limit of a state's records.
	stateBytes = 8 << 20
)

// State is a small text in a topic of its own that several programs change, none of which overwrites the change of
// another. It is a State of package ops.
//
// Brokers have no conditional write, but the order of a partition's records is the same for all readers. Each record
// says which one it replaces, and counts only if that was the last one that counts; otherwise, another record was
// first.
type State struct {
	b     *Backend
	name  string
	topic string
}

// Load reads the text. The version is the offset of its record, and those of the records before it that counted.
func (s *State) Load(ctx context.Context) (text []byte, version string, err error) {
	for try := cluster.Try(); ; {
		if text, version, err = s.last(ctx); !try.Again(ctx, &err) {
			break
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", s, err)
	}
	return text, version, nil
}

// Store appends a record with the text. If it does not count, the error is [driver.ErrConflict]; also if that is not
// known any more, because others have made more than 63 changes in the meantime.
func (s *State) Store(ctx context.Context, text []byte, version string) error {
	if err := s.store(ctx, text, version); err != nil {
		return fmt.Errorf("write %s: %w", s, err)
	}
	return nil
}

func (s *State) store(ctx context.Context, text []byte, version string) error {
	if err := s.ensure(ctx); err != nil {
		return err
	}
	if room := stateBytes - 1024; len(text) > room {
		return &driver.Error{
			Class: driver.TooLarge, Err: fmt.Errorf("it has %d bytes, and there is room for %d", len(text), room),
		}
	}
	base, past, _ := strings.Cut(version, " ")
	r := &kgo.Record{Topic: s.topic, Value: text, Headers: []kgo.RecordHeader{
		{Key: stateBase, Value: []byte(base)}, {Key: statePast, Value: []byte(past)},
	}}
	if err := s.b.senders.Producer.Produce(ctx, []*kgo.Record{r})[0]; err != nil {
		return err
	}
	counts, err := false, error(nil)
	for try := cluster.Try(); ; {
		if counts, err = s.counted(ctx, r.Offset); !try.Again(ctx, &err) {
			break
		}
	}
	switch {
	case err != nil:
		return err
	case !counts:
		return driver.ErrConflict
	case base != "":
		s.trim(ctx, base)
	}
	return nil
}

// String names the state as the flags of commands do.
func (s *State) String() string { return "kafka://" + s.name }

// ensure creates the topic.
func (s *State) ensure(ctx context.Context) error {
	if err := s.b.open(); err != nil {
		return err
	}
	t, err := s.b.cluster.Find(ctx, s.topic)
	if err != nil && driver.ClassOf(err) == driver.NotFound {
		t, err = s.b.provisioner.Create(ctx, provision.Wish{Name: s.topic, Partitions: 1, Config: map[string]string{
			"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1",
			"max.message.bytes": strconv.Itoa(stateBytes),
		}}, s.b.o.Replication)
	}
	switch {
	case err != nil:
		return err
	case t.Partitions != 1:
		return failure.Permanent("topic %s has %d partitions, and a state needs exactly one, because only that has an "+
			"order: use another name", s.topic, t.Partitions)
	}
	return s.b.cluster.LearnLimit(ctx, s.topic)
}

// last reads the record that counts.
func (s *State) last(ctx context.Context) (text []byte, version string, err error) {
	if err := s.b.open(); err != nil {
		return nil, "", err
	}
	ends, err := s.b.cluster.Offsets(ctx, cluster.End, s.topic)
	if missing(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	end, _ := ends.Lookup(s.topic, 0)
	return s.read(ctx, end.Offset)
}

// counted reports whether the record at an offset counted when it was written. If it was deleted since, a later record
// names it.
func (s *State) counted(ctx context.Context, offset int64) (bool, error) {
	own := strconv.FormatInt(offset, 10)
	_, version, err := s.read(ctx, offset+1)
	if err == nil && version == "" {
		_, version, err = s.last(ctx)
		return slices.Contains(strings.Fields(version), own), err
	}
	last, _, _ := strings.Cut(version, " ")
	return last == own, err
}

// read reads the records before an offset, and returns the one that counts. The first record counts if others were
// deleted before it, because only records that a later one has replaced are deleted, up to the one that it replaced.
func (s *State) read(ctx context.Context, end int64) (text []byte, version string, err error) {
	starts, err := s.b.cluster.Offsets(ctx, cluster.Start, s.topic)
	if err != nil {
		return nil, "", err
	}
	start, _ := starts.Lookup(s.topic, 0)
	if start.Offset >= end {
		return nil, "", nil
	}
	last := ""
	err = s.each(ctx, start.Offset, end, func(r *kgo.Record) {
		base := headerOf(r, stateBase)
		if base == last || last == "" && r.Offset == start.Offset && start.Offset > 0 {
			last = strconv.FormatInt(r.Offset, 10)
			text, version = r.Value, versionOf(last, base, headerOf(r, statePast))
		}
	})
	return text, version, err
}

// each reads the records between two offsets, without a group.
func (s *State) each(ctx context.Context, from, end int64, visit func(r *kgo.Record)) error {
	r, err := s.b.cluster.Read(map[string]map[int32]kgo.Offset{s.topic: {0: kgo.NewOffset().At(from)}}, stateWait,
		kgo.ConsumeResetOffset(kgo.NoResetOffset())) // records that were deleted meanwhile are an error
	if err != nil {
		return err
	}
	defer r.Close()
	for from < end {
		fetches, err := r.Poll(ctx)
		if errors.Is(err, kerr.OffsetOutOfRange) {
			return &driver.Error{Class: driver.Transient, Err: errors.New("others have changed it meanwhile")}
		}
		if err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if from = r.Offset + 1; r.Offset < end {
				visit(r)
			}
		})
	}
	return nil
}

// trim deletes the records before the one that was replaced last. If that is denied, the topic only grows.
func (s *State) trim(ctx context.Context, version string) {
	at, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return
	}
	var before kadm.Offsets
	before.Add(kadm.Offset{Topic: s.topic, At: at, LeaderEpoch: -1})
	if _, err := s.b.cluster.Admin.DeleteRecords(ctx, before); err != nil {
		s.b.log.Debug("old records of a state could not be deleted; the next change tries it again", "topic", s.topic,
			"error", err)
	}
}

// versionOf joins the offset of a record, and those of the records before it that counted.
func versionOf(offset, base, past string) string {
	all := append([]string{offset}, strings.Fields(base+" "+past)...)
	return strings.Join(all[:min(len(all), stateVersions)], " ")
}

func headerOf(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// missing reports whether an error is that a topic does not exist.
func missing(err error) bool {
	return errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID)
}
