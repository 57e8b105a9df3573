package queue

import (
	"hash/maphash"
	"time"
)

// DedupWindow is how long a FIFO queue remembers a MessageDeduplicationId, counted from the first send, also if the
// message was deleted since.
const DedupWindow = 5 * time.Minute

// dedup is a FIFO queue's table of the messages it accepted within the window. Entries are appended in order of time,
// so the oldest are in front; they are numbered from the first one. The index holds only numbers, so the garbage
// collector need not scan it: a busy queue has millions of entries.
type dedup struct {
	seed    maphash.Seed
	newest  map[uint64]uint64 // entry by the hash of its key
	entries []accepted
	base    uint64 // the number of entries[0]
	gone    int    // number of entries in front that are already removed
	removed func(dedupKey)
}

type dedupKey struct{ group, id string }

type accepted struct {
	key      dedupKey
	at       time.Duration
	message  string // its id
	sequence int64
	older    uint64 // number of the next older entry with the same hash; 0: none
}

// newDedup returns an empty table. removed, which may be nil, is called for every entry that is too old.
func newDedup(removed func(dedupKey)) dedup {
	return dedup{seed: maphash.MakeSeed(), newest: map[uint64]uint64{}, base: 1, removed: removed}
}

// find returns the entry of a key, or nil if there is none within the window.
func (d *dedup) find(k dedupKey, now time.Duration) *accepted {
	d.forget(now)
	for n := d.newest[d.hash(k)]; n >= d.base+uint64(d.gone); {
		a := &d.entries[n-d.base]
		if a.key == k {
			return a
		}
		n = a.older
	}
	return nil
}

func (d *dedup) add(a accepted) {
	h := d.hash(a.key)
	a.older = d.newest[h]
	d.newest[h] = d.base + uint64(len(d.entries))
	d.entries = append(d.entries, a)
}

// forget removes entries that are too old, and from time to time their memory.
func (d *dedup) forget(now time.Duration) {
	for d.gone < len(d.entries) && d.entries[d.gone].at+DedupWindow <= now {
		h := d.hash(d.entries[d.gone].key)
		if d.newest[h] == d.base+uint64(d.gone) {
			delete(d.newest, h)
		}
		if d.removed != nil {
			d.removed(d.entries[d.gone].key)
		}
		d.entries[d.gone] = accepted{}
		d.gone++
	}
	if d.gone > 1024 && d.gone > len(d.entries)/2 {
		d.entries = append([]accepted(nil), d.entries[d.gone:]...)
		d.base += uint64(d.gone)
		d.gone = 0
	}
}

func (d *dedup) hash(k dedupKey) uint64 { return maphash.Comparable(d.seed, k) }
