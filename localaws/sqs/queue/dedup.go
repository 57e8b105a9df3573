package queue

import "time"

// DedupWindow is how long a FIFO queue knows a MessageDeduplicationId again,
// counted from the first send and whatever becomes of the message.
const DedupWindow = 5 * time.Minute

// dedup is a FIFO queue's table of what it accepted lately. Entries are made in
// order of time, so the oldest are always in front.
type dedup struct {
	known map[dedupKey]*accepted
	ages  []*accepted
	gone  int // how many of ages are forgotten already
}

type dedupKey struct{ group, id string }

type accepted struct {
	key      dedupKey
	at       time.Duration
	message  string // its id
	sequence uint64
}

// find returns what was accepted under a key, nil if nothing lately.
func (d *dedup) find(k dedupKey, now time.Duration) *accepted {
	for d.gone < len(d.ages) && d.ages[d.gone].at+DedupWindow <= now {
		delete(d.known, d.ages[d.gone].key)
		d.ages[d.gone] = nil
		d.gone++
	}
	if d.gone > 1024 && d.gone > len(d.ages)/2 {
		d.ages = append(d.ages[:0:0], d.ages[d.gone:]...)
		d.gone = 0
	}
	return d.known[k]
}

func (d *dedup) add(a *accepted) {
	if d.known == nil {
		d.known = map[dedupKey]*accepted{}
	}
	d.known[a.key] = a
	d.ages = append(d.ages, a)
}
