package bucket

// Condition is what a write requires of the object with its key. The zero Condition requires nothing.
type Condition struct {
	Absent bool   // If-None-Match: *
	ETag   string // If-Match, without quotes; "*": any object; "": not required
}

// Watch notices whether the object with a key changes during a request or an upload. A nil Watch has noticed nothing.
type Watch struct {
	bucket  *Bucket
	key     string
	changed bool
}

// Watch begins to watch a key. The caller must call End.
func (b *Bucket) Watch(key string) *Watch {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.watch(key)
}

// watch begins to watch a key. The caller holds the lock.
func (b *Bucket) watch(key string) *Watch {
	w := &Watch{bucket: b, key: key}
	if b.watches[key] == nil {
		b.watches[key] = map[*Watch]struct{}{}
	}
	b.watches[key][w] = struct{}{}
	return w
}

// End ends the watch.
func (w *Watch) End() {
	w.bucket.mu.Lock()
	defer w.bucket.mu.Unlock()
	w.end()
}

// end ends the watch. The caller holds the bucket's lock.
func (w *Watch) end() {
	delete(w.bucket.watches[w.key], w)
	if len(w.bucket.watches[w.key]) == 0 {
		delete(w.bucket.watches, w.key)
	}
}

// notice tells every watch of a key about a change.
func (b *Bucket) notice(key string) {
	for w := range b.watches[key] {
		w.changed = true
	}
}

// Check reports whether the object with a key, as it is now, satisfies a condition, for an answer before the body is
// read.
func (b *Bucket) Check(key string, c Condition) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return c.check(b.objects.get(key), nil)
}

// check compares a condition with the object that a write replaces, or nil. A condition that holds although the object
// has changed meanwhile is a race.
func (c Condition) check(old *Object, w *Watch) error {
	switch {
	case c == Condition{}:
		return nil
	case c.Absent && old != nil:
		return ErrPrecondition
	case c.ETag != "" && old == nil:
		return ErrNoObject
	case c.ETag != "" && c.ETag != "*" && c.ETag != old.ETag:
		return ErrPrecondition
	case w != nil && w.changed:
		return ErrRace
	}
	return nil
}
