package offsets

// Beginning returns the commit with which a group begins at an offset of a log. It has neither completions nor a mark.
func Beginning(offset int64, identity string) Commit {
	var e encoder
	text := e.encode(said{epoch: -1, mark: -1}, offset, identity, maxMetadata)
	return Commit{Offset: offset, Epoch: -1, Metadata: text}
}

// Genuine reports whether a commit was made by a [Tracker] for the log, or is a [Beginning] of it.
func Genuine(committed int64, metadata, identity string) bool {
	return committed >= 0 && decode(metadata, committed, identity).genuine
}
