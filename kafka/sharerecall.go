package kafka

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// recall looks up which of the records of a poll are dead letters already. A share group commits no metadata that could tell;
// but what was rejected and not accepted, because its process ended in between, is handed out once more than before, and
// only for such records the newest dead letters of their partitions are read.
func (r *shareReceiver) recall(rs []*kgo.Record) map[int32]map[int64]struct{} {
	q, ok := r.dead.(*deadTopic)
	if !ok {
		return nil
	}
	var ns []int32
	for _, rec := range rs {
		if rec.DeliveryCount() > 1 && !slices.Contains(ns, rec.Partition) {
			ns = append(ns, rec.Partition)
		}
	}
	if len(ns) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.polls, recallPatience)
	defer cancel()
	return r.tiers.recallLetters(ctx, q, ns)
}

// died says that a record is among what was recalled.
func died(dead map[int32]map[int64]struct{}, rec *kgo.Record) bool {
	_, died := dead[rec.Partition][rec.Offset]
	return died
}
