package offsets

// Past is what a commit says of the records of its partition, for a reader that is not their owner.
type Past struct {
	committed int64
	told      told
}

// NewPast reads a commit and its metadata. identity is the identity of the partition's log.
func NewPast(committed int64, metadata, identity string) *Past {
	return &Past{committed, decode(metadata, committed, identity)}
}

// Of reports whether a record is finished, and otherwise how many attempts are known. Records are asked about in the
// order of the log.
func (p *Past) Of(offset int64, epoch int32, key []byte) (finished bool, attempt int32) {
	if offset < p.committed {
		return true, 0
	}
	p.told.see(offset, epoch)
	waits, blocked := p.told.blocked(offset, key)
	finished = p.told.finished(offset) && !blocked
	attempt = p.told.attempt(offset)
	if blocked && waits.first == offset {
		attempt = waits.attempt
	}
	p.told.pass(offset + 1)
	return finished, attempt
}
