package operate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/send"
)

const (
	// leastPasses: what a compaction removes leaves no trace, so one more pass reads copies that were made before.
	leastPasses = 2
	// mostPasses bounds the passes where records are deleted all the time.
	mostPasses = 5
)

// Orphans is driver.Operations.Orphans, as kafka.Backend describes it.
func Orphans(ctx context.Context, n *Namespace, before time.Time) ([]driver.Orphan, error) {
	if err := n.Channels.Open(); err != nil {
		return nil, err
	}
	list, ok := n.Store.(driver.Lister)
	if !ok {
		return nil, failure.Permanent("find orphans: kafka.Options.Store is missing, or cannot list its objects: set it " +
			"to the store of the producers (s3store.Open)")
	}
	if n.Channels.OwnRetries || n.Channels.OwnDeadLetters {
		return nil, failure.Permanent("find orphans: records in kafka.Options.RetryQueue and DeadLetterQueue cannot be " +
			"read, so objects that they point to would be taken for orphans")
	}
	id, err := clusterID(ctx, n)
	if err != nil {
		return nil, err
	}
	s := &suspects{all: map[driver.Location]driver.Orphan{}}
	for o, err := range list.List(ctx, send.BodyFolder(id)) {
		if err != nil {
			return nil, err
		}
		if topic := path.Base(path.Dir(o.Key)); n.Channels.Has(topic) && o.Written.Before(before) {
			s.all[o.Location] = driver.Orphan{Object: o, Address: topic}
		}
	}
	if err := disprove(ctx, n, s); err != nil {
		if driver.ClassOf(err) == driver.Denied {
			err = fmt.Errorf("%w (it needs permission to describe and read all topics of the namespace)", err)
		}
		return nil, fmt.Errorf("find orphans: %w", err)
	}
	return slices.SortedFunc(maps.Values(s.all), func(x, y driver.Orphan) int {
		return cmp.Or(strings.Compare(x.Address, y.Address), strings.Compare(x.Key, y.Key))
	}), nil
}

// clusterID is the id of the brokers' cluster.
func clusterID(ctx context.Context, n *Namespace) (string, error) {
	known, err := n.Cluster.Admin.BrokerMetadata(ctx)
	if err != nil {
		return "", fmt.Errorf("look up the id of the cluster: %w", failure.Classify(err))
	}
	if known.Cluster == "" {
		return "", failure.Permanent("the brokers do not say which cluster they are, so its objects cannot be told from " +
			"those of others")
	}
	return known.Cluster, nil
}

// disprove removes the suspects to which a record points.
func disprove(ctx context.Context, n *Namespace, s *suspects) error {
	scan := newScan(n, s.clear)
	for pass := 1; s.left() > 0; pass++ {
		shown, lost, err := scan.pass(ctx)
		if err == nil {
			err = visible(ctx, n, s.topics(), shown)
		}
		switch {
		case err != nil:
			return err
		case pass >= leastPasses && !lost:
			return nil
		case pass == mostPasses:
			return &driver.Error{Class: driver.Transient, Err: fmt.Errorf("topics lose records faster than they can "+
				"be read, so records may have been moved unseen: run it again when less is deleted (%d passes)", pass)}
		}
	}
	return nil
}

// visible returns an error if there are topics among these that the brokers do not show, because a permission is
// missing. Objects of topics that do not exist may be orphans.
func visible(ctx context.Context, n *Namespace, topics []string, shown map[string]cluster.Topic) error {
	for _, topic := range topics {
		if _, there := shown[topic]; there {
			continue
		}
		for try := cluster.Try(); ; {
			_, err := n.Cluster.Find(ctx, topic)
			if try.Again(ctx, &err) {
				continue
			}
			if err != nil && driver.ClassOf(err) != driver.NotFound {
				return err
			}
			break
		}
	}
	return nil
}

// suspects are objects for which no pointer was found yet.
type suspects struct {
	mu  sync.Mutex
	all map[driver.Location]driver.Orphan
}

// clear removes the object that a record points to. A record counts also if consumers would reject its pointer.
func (s *suspects) clear(r *kgo.Record) {
	announced := slices.ContainsFunc(r.Headers, func(h kgo.RecordHeader) bool { return claim.Announces(h.Key) })
	if !announced && !bytes.Contains(r.Value, []byte(`"s3Key"`)) {
		return
	}
	at, ok := claim.Locate(r.Value)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, at)
}

func (s *suspects) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// topics are the topics for which the objects were written.
func (s *suspects) topics() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[string]bool{}
	for _, o := range s.all {
		names[o.Address] = true
	}
	return slices.Sorted(maps.Keys(names))
}
