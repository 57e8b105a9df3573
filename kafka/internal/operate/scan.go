package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

const (
	// scanAtOnce is how many partitions are read at the same time.
	scanAtOnce = 8
	// scanBytes is how many bytes of a partition are requested at a time. Brokers send at least one batch.
	scanBytes = 4 << 20
	// scanWait is how long a broker may wait for records.
	scanWait = 500 * time.Millisecond
	// scanPatience is how long a partition may bring nothing new, for example because it has no leader.
	scanPatience = 30 * time.Second
	// scanAgain is the pause after an error, and scanAgainMost the longest one.
	scanAgain, scanAgainMost = 100 * time.Millisecond, 4 * time.Second
)

// scan reads all records in the topics of a namespace, without a group, also those of open and aborted transactions. It
// reads in passes, because a record may be moved to another topic, and then deleted, before it is read.
type scan struct {
	n     *Namespace
	visit func(r *kgo.Record) // called concurrently
	codec kgo.Decompressor
	ends  map[topicLog]map[int32]int64 // up to where topics were read
}

// topicLog is a topic. One that was created again is another log.
type topicLog struct {
	name string
	id   kadm.TopicID
}

// stretch is the part of a partition that a pass reads.
type stretch struct {
	cluster.Topic
	n        int32
	from, to int64
}

func newScan(n *Namespace, visit func(r *kgo.Record)) *scan {
	return &scan{n: n, visit: visit, codec: kgo.DefaultDecompressor(), ends: map[topicLog]map[int32]int64{}}
}

// pass reads everything up to the ends that the topics have now, from where the pass before has ended. lost: records
// were deleted before they were read, so their copies elsewhere have to be read by another pass. It returns the topics
// that the brokers show.
func (s *scan) pass(ctx context.Context) (shown map[string]cluster.Topic, lost bool, err error) {
	var now logs
	for try := cluster.Try(); ; {
		if now, err = s.logs(ctx); !try.Again(ctx, &err) {
			break
		}
	}
	if err != nil {
		return nil, false, err
	}
	var parts []stretch
	for _, topic := range now.topics {
		starts, ends := now.starts[topic.Name], now.ends[topic.Name]
		if starts == nil || ends == nil { // it was deleted meanwhile
			lost = true
			continue
		}
		log := topicLog{topic.Name, topic.ID}
		done := s.ends[log]
		if done == nil {
			done = map[int32]int64{}
			s.ends[log] = done
		}
		for n, end := range ends {
			from, again := done[n]
			if done[n] = end; again && from < starts[n] {
				lost = true
			}
			if from = max(from, starts[n]); from < end {
				parts = append(parts, stretch{topic, n, from, end})
			}
		}
	}
	unread, err := s.readAll(ctx, parts)
	return now.shown, lost || unread, err
}

// logs are the topics of the namespace, and where their partitions start and end.
type logs struct {
	shown        map[string]cluster.Topic // all topics, also of others
	topics       []cluster.Topic
	starts, ends map[string]map[int32]int64
}

func (s *scan) logs(ctx context.Context) (l logs, err error) {
	if l.shown, _, err = s.n.Cluster.Topics(ctx); err != nil {
		return l, err
	}
	for name, topic := range l.shown {
		switch {
		case !s.n.Channels.Has(name):
		case topic.Err != nil:
			return l, fmt.Errorf("look up topic %s: %w", name, failure.Classify(topic.Err))
		default:
			l.topics = append(l.topics, topic)
		}
	}
	// A record that is deleted before the starts are looked up has been copied before the ends are.
	if l.starts, err = s.offsets(ctx, l.topics, logStart); err != nil {
		return l, err
	}
	l.ends, err = s.offsets(ctx, l.topics, logEnd)
	return l, err
}

// These are the timestamps with which the start and the end of a log are requested. The end is that of all records,
// also those of open transactions.
const (
	logStart = -2
	logEnd   = -1
)

// offsets looks up the starts or the ends of topics. A topic that was deleted meanwhile is left out.
func (s *scan) offsets(ctx context.Context, topics []cluster.Topic, what int64) (map[string]map[int32]int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	for _, topic := range topics {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic.Name
		for n := range topic.Leaders {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = n, what
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	all := map[string]map[int32]int64{}
	gone := map[string]bool{}
	for _, shard := range s.n.Cluster.Client.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, fmt.Errorf("look up where the topics start and end: %w", failure.Classify(shard.Err))
		}
		for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			if all[t.Topic] == nil {
				all[t.Topic] = map[int32]int64{}
			}
			for i := range t.Partitions {
				p := &t.Partitions[i]
				switch err := kerr.ErrorForCode(p.ErrorCode); {
				case errors.Is(err, kerr.UnknownTopicOrPartition):
					gone[t.Topic] = true
				case err != nil:
					return nil, fmt.Errorf("look up where partition %d of topic %s starts and ends: %w", p.Partition,
						t.Topic, failure.Classify(err))
				}
				all[t.Topic][p.Partition] = p.Offset
			}
		}
	}
	for name := range gone {
		delete(all, name)
	}
	return all, nil
}

// readAll reads several partitions at the same time. The first error ends all of them.
func (s *scan) readAll(ctx context.Context, all []stretch) (lost bool, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	var wg sync.WaitGroup
	tokens := make(chan struct{}, scanAtOnce)
	for i := range all {
		tokens <- struct{}{}
		wg.Go(func() {
			defer func() { <-tokens }()
			one, rerr := s.read(ctx, &all[i])
			mu.Lock()
			defer mu.Unlock()
			lost = lost || one
			if rerr != nil && err == nil {
				err = fmt.Errorf("read partition %d of topic %s: %w", all[i].n, all[i].Name, rerr)
				stop(err)
			}
		})
	}
	wg.Wait()
	return lost, err
}

// read reads a partition. lost: some of its records were deleted before.
func (s *scan) read(ctx context.Context, p *stretch) (lost bool, err error) {
	pause := backoff.Curve{First: scanAgain, Max: scanAgainMost}
	latest, tries := time.Now(), 0
	for p.from < p.to {
		next, err := s.fetch(ctx, p)
		if failure.Over(ctx) {
			return lost, context.Cause(ctx)
		}
		if err == nil && next > p.from {
			p.from, latest, tries = next, time.Now(), 0
			continue
		}
		gone, serr := s.look(ctx, p)
		switch class := failure.ClassOf(err); {
		case gone:
			latest, lost = time.Now(), true
			continue
		case serr != nil && !failure.ClassOf(serr).Passing():
			return lost, failure.Classify(serr)
		case err != nil && !class.Passing() && !moved(err):
			return lost, failure.Classify(err)
		case time.Since(latest) > scanPatience:
			return lost, failure.Classify(errors.Join(
				fmt.Errorf("the broker has sent no records from offset %d on for %v", p.from, scanPatience), err, serr))
		}
		tries++
		if err := backoff.Sleep(ctx, pause.Wait(tries)); err != nil {
			return lost, context.Cause(ctx)
		}
	}
	return lost, nil
}

// moved reports whether an error says that the partition may be elsewhere, or begin elsewhere: look has looked.
func moved(err error) bool {
	gone := []error{kerr.OffsetOutOfRange, kerr.UnknownTopicID, kerr.UnknownTopicOrPartition}
	return slices.ContainsFunc(gone, func(one error) bool { return errors.Is(err, one) })
}

// fetch reads some records, and returns the offset of the next one.
func (s *scan) fetch(ctx context.Context, p *stretch) (next int64, err error) {
	parts, err := s.n.Cluster.Fetch(ctx, p.Topic, p.Leaders[p.n], &cluster.Fetch{
		From: map[int32]int64{p.n: p.from}, Bytes: scanBytes, Wait: scanWait,
	})
	if err != nil {
		return 0, err
	}
	next = p.from
	for i := range parts {
		got, after := kgo.ProcessFetchPartition(
			kgo.ProcessFetchPartitionOpts{Topic: p.Name, Partition: p.n, Offset: p.from}, &parts[i], s.codec, nil)
		if got.Err != nil {
			if code := (*kerr.Error)(nil); errors.As(got.Err, &code) {
				return 0, got.Err
			}
			return 0, failure.Permanent("the records from offset %d on cannot be decoded: %w", after, got.Err)
		}
		for _, r := range got.Records {
			s.visit(r)
		}
		next = after
	}
	return next, nil
}

// look is called when a partition brought nothing: its leader may have changed, or its records may have been deleted.
// In that case the reading goes on behind them.
func (s *scan) look(ctx context.Context, p *stretch) (gone bool, err error) {
	known, _, err := s.n.Cluster.Topics(ctx, p.Name)
	if err != nil {
		return false, err
	}
	now := known[p.Name]
	switch {
	case errors.Is(now.Err, kerr.UnknownTopicOrPartition), now.Err == nil && now.ID != p.ID:
		p.from = p.to
		return true, nil
	case now.Err != nil:
		return false, now.Err
	}
	p.Topic = now
	starts, err := s.offsets(ctx, []cluster.Topic{now}, logStart)
	if err != nil {
		return false, err
	}
	if start := starts[p.Name][p.n]; start > p.from {
		p.from = min(start, p.to)
		return true, nil
	}
	return false, nil
}
