package engine

// talk is what a session has to tell its observer once the fleet's lock is released. Guarded by that lock.
type talk struct {
	notes   []func() // in whatever order their goroutines come to it
	orderly []func() // one after another, in order
	told    Activity // what the observer was told last
	telling bool     // one goroutine tells what is orderly; the others leave it to that one
	empty   bool     // the last poll brought nothing
}

// note adds something to tell.
func (t *talk) note(f func()) { t.notes = append(t.notes, f) }

// inOrder adds something to tell after what was added before.
func (t *talk) inOrder(f func()) { t.orderly = append(t.orderly, f) }

// take takes the notes, and says whether the caller is to tell what is orderly.
func (t *talk) take(doing Activity) (notes []func(), orderly bool) {
	notes, t.notes = t.notes, nil
	if orderly = !t.telling && (len(t.orderly) > 0 || doing != t.told); orderly {
		t.telling = true
	}
	return notes, orderly
}

// activity is what the session does now, without flapping between two items of a stream.
func (f *flow) activity() Activity {
	switch {
	case f.running > 0:
		return ActivityProcessing
	case f.queue.runnable() && f.talk.told == ActivityProcessing:
		return ActivityProcessing
	case f.talk.empty:
		return ActivityIdle
	}
	return ActivityListening
}

// tellInOrder tells what is orderly, and what the session does, until there is nothing to tell. It runs without the lock.
func (f *flow) tellInOrder() {
	f.lock()
	for {
		if len(f.talk.orderly) > 0 {
			tell := f.talk.orderly[0]
			f.talk.orderly = f.talk.orderly[1:]
			f.fleet.mu.Unlock()
			tell()
			f.lock()
			continue
		}
		doing := f.activity()
		if doing == f.talk.told {
			f.talk.telling = false
			f.fleet.mu.Unlock()
			return
		}
		f.talk.told = doing
		f.fleet.mu.Unlock()
		f.obs.Doing(doing)
		f.lock()
	}
}
