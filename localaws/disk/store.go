package disk

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/keep"
)

// Options of a Store. The zero value has the default of each field.
type Options struct {
	// Logger gets what the store cannot read, and when the disk takes no changes; nil: slog.Default(). Set it to log
	// elsewhere.
	Logger *slog.Logger
}

// Store keeps records in a folder. It is a keep.Store, and safe for concurrent use.
type Store struct {
	files  files
	log    *slog.Logger
	reader *reader
	lock   *os.File // nil in tests

	mu          sync.Mutex
	pending     []batch
	flushing    []batch // being written
	written     uint64  // number of batches of Write
	synced      uint64  // those of them that are on disk
	failure     error
	round       chan struct{} // closed when a flush has ended
	index       map[string]place
	segments    []*segment // oldest first; the last one is written
	attachments uint64     // the newest number
	loaded      bool       // there is no compaction before
	closed      bool

	urgent, first  chan struct{} // see run
	closing, ended chan struct{}

	// The following fields belong to run.
	current  file   // of the last segment; nil: the next batch begins a new one
	numbered uint64 // the newest number of a segment
	buffer   []byte
	resting  time.Time // there is no compaction before
}

var _ keep.Store = (*Store)(nil)

// Open opens the folder, and creates it if necessary. Nothing is written into a folder that is in use, that cannot be
// written, that has something else in it, or that a newer release has written: these are errors. What cannot be read
// is copied, named by Damage and in the log, and left out.
func Open(dir string, o *Options) (*Store, error) {
	opts := *cmp.Or(o, &Options{})
	lock, err := claim(dir)
	if err != nil {
		return nil, err
	}
	s, err := open(folder(dir), cmp.Or(opts.Logger, slog.Default()))
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.lock = lock
	return s, nil
}

// open opens a folder that nobody else uses.
func open(fs files, log *slog.Logger) (*Store, error) {
	s := &Store{
		files: fs, log: log, reader: &reader{files: fs, log: log},
		index: map[string]place{}, round: make(chan struct{}),
		urgent: make(chan struct{}, 1), first: make(chan struct{}, 1),
		closing: make(chan struct{}), ended: make(chan struct{}),
	}
	for _, name := range []string{logFolder, attachmentsFolder, asideFolder} {
		if err := fs.mkdir(name); err != nil {
			return nil, fmt.Errorf("disk: %w", err)
		}
	}
	err := s.reader.checkFormat()
	if err == nil {
		err = s.recover()
	}
	if err == nil {
		err = s.sweep()
	}
	if err != nil {
		return nil, fmt.Errorf("disk: open: %w", err)
	}
	go s.run()
	return s, nil
}

// Load implements keep.Store.
func (s *Store) Load(record func(key string, value []byte) error) error {
	for _, g := range slices.Clone(s.segments) {
		b, err := s.reader.read(g)
		if err != nil {
			return fmt.Errorf("disk: load: %w", err)
		}
		var failed error
		_ = scan(b, func(at int, changes []change) {
			for _, c := range changes {
				if failed == nil && s.isNewest(c.key, g, at) {
					failed = s.load(c, record)
				}
			}
		}, func(int, int, string, bool) error { return nil }) // recover has noted it
		if failed != nil {
			return fmt.Errorf("disk: load: %w", failed)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded = true
	return nil
}

// load passes the value of a change to record.
func (s *Store) load(c change, record func(key string, value []byte) error) error {
	value := c.value
	if c.kind == kindDelete { // followed by another change of the key in the same batch
		return nil
	}
	if c.kind == kindAttachment {
		var ok bool
		var err error
		if value, ok, err = s.reader.attached(c); err != nil || !ok {
			return err
		}
	}
	return record(c.key, value)
}

// isNewest reports whether the newest record of a key is in this batch.
func (s *Store) isNewest(key string, g *segment, at int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, there := s.index[key]
	return there && p.segment == g && p.offset == uint32(at)
}

// Write implements keep.Store.
func (s *Store) Write(changes ...keep.Change) {
	if len(changes) == 0 {
		return
	}
	b := batch{changes: make([]change, len(changes))}
	for i, c := range changes {
		b.changes[i] = change{kind: kindSet, key: c.Key, value: c.Value}
		if c.Value == nil {
			b.changes[i].kind = kindDelete
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range b.changes {
		if len(c.value) > inline {
			s.attachments++
			a := attachment{number: s.attachments, value: c.value}
			b.attachments = append(b.attachments, a)
			b.changes[i].kind, b.changes[i].value = kindAttachment, a.reference()
		}
	}
	s.written++
	s.pending = append(s.pending, b)
	if len(s.pending) == 1 {
		signal(s.first)
	}
	if s.failure != nil && len(s.pending) > maxPending {
		s.pending = merge(s.pending)
	}
}

// maxPending bounds the batches that wait while the disk takes none: beyond it, only the newest change of each record
// is kept.
const maxPending = 10_000

// merge makes one batch of many.
func merge(all []batch) []batch {
	var one batch
	newest := map[string]int{}
	for _, b := range all {
		for _, c := range b.changes {
			if at, there := newest[c.key]; there {
				one.changes[at] = c
				continue
			}
			newest[c.key] = len(one.changes)
			one.changes = append(one.changes, c)
		}
		one.attachments = append(one.attachments, b.attachments...)
	}
	return []batch{one}
}

// Read implements keep.Store. The values are those of the last Write, whether the disk has them or not.
func (s *Store) Read(keys ...string) (values [][]byte, err error) {
	r := reading{s: s}
	defer r.end()
	values = make([][]byte, len(keys))
	for i, key := range keys {
		if values[i], err = r.value(key); err != nil {
			return nil, fmt.Errorf("disk: read: %w", err)
		}
	}
	return values, nil
}

// find returns the value of a record that is not on disk yet, or else its place.
func (s *Store) find(key string) (pending []byte, at place, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range [][]batch{s.pending, s.flushing} {
		for _, b := range slices.Backward(all) {
			for _, c := range slices.Backward(b.changes) {
				if c.key == key {
					return b.valueOf(c), place{}, c.kind != kindDelete
				}
			}
		}
	}
	at, there = s.index[key]
	return nil, at, there
}

// Sync implements keep.Store.
func (s *Store) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for wanted, failed := s.written, error(nil); s.synced < wanted; {
		switch {
		case s.closed:
			return errors.New("disk: the store is closed")
		case failed != nil:
			return failed
		}
		round := s.round
		s.mu.Unlock()
		signal(s.urgent)
		<-round
		s.mu.Lock()
		failed = s.failure
	}
	return nil
}

// Failure implements keep.Store.
func (s *Store) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// Damaged implements keep.Store.
func (s *Store) Damaged() bool { return len(s.reader.all()) > 0 }

// Damage returns what could not be read.
func (s *Store) Damage() []Damage { return s.reader.all() }

// Size returns the bytes of the log, and how many of them are in use.
func (s *Store) Size() (total, live int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sizes(s.segments)
}

func sizes(segments []*segment) (total, live int64) {
	for _, g := range segments {
		total, live = total+g.size, live+g.live
	}
	return total, live
}

// Close writes what was not yet written, and closes the folder. Close the server first: what it writes later is lost.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.ended
		return nil
	}
	s.closed = true
	close(s.closing)
	s.mu.Unlock()
	<-s.ended
	s.mu.Lock()
	err := s.failure
	s.mu.Unlock()
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// lag is how long a change that nobody waits for may wait for the disk.
const lag = 50 * time.Millisecond
