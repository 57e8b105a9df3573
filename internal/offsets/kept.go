package offsets

import "slices"

// Kept is what a Tracker knew at the end of a period of ownership whose last commit the broker may not have. If the
// partition comes back to the same owner, and nobody else has committed since, Resume goes on from there.
type Kept struct {
	identity string
	commits  []Commit  // the broker has one of these, unless somebody else has committed
	to       int64     // everything before is finished
	finished []stretch // beyond; ascending
	tries    []try
	blocks   []block
	epoch    int32
}

// Keep returns what the Tracker knows. Records that are unfinished now are handled again.
func (t *Tracker) Keep() Kept {
	k := Kept{identity: t.identity, commits: append(slices.Clone(t.sent), t.last), to: t.watermark(), epoch: t.latest}
	t.survey(k.to)
	at := k.to - 1
	for i, length := range plain(t.said.pieces) {
		if i%2 == 1 {
			k.finished = append(k.finished, stretch{from: at, to: at + length - 1})
		}
		at += length
	}
	k.tries, k.blocks = slices.Clone(t.said.tries), slices.Clone(t.said.blocks)
	return k
}

// Resume is Start for a partition that has come back, and reports whether k applies: the commit is one that k's Tracker
// made, for the same log. Otherwise Resume is Start. The log is read again from the committed offset on, so a record of
// a later leader epoch shows what of k no longer exists (as with the metadata's completions).
func (t *Tracker) Resume(committed int64, metadata string, k *Kept) bool {
	t.Start(committed, metadata)
	made := slices.ContainsFunc(k.commits, func(c Commit) bool {
		return c.Offset == committed && c.Metadata == metadata
	})
	if !made || !t.own || k.identity != t.identity || k.to < committed {
		return false
	}
	finished := k.finished
	if k.to > committed {
		first := stretch{from: committed, to: k.to - 1}
		if len(finished) > 0 && finished[0].from == k.to {
			first.to, finished = finished[0].to, finished[1:]
		}
		finished = append([]stretch{first}, finished...)
	}
	t.told = told{stretches: finished, tries: k.tries, base: committed, epoch: k.epoch, blocks: k.blocks}
	t.told.price()
	t.latest = k.epoch
	t.now++
	return true
}
