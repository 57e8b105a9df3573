package disk

import (
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// faulty is a file system in memory that knows what was synced. Its n-th call can fail, and with it all later ones.
type faulty struct {
	mu      sync.Mutex
	rand    *rand.Rand
	names   map[string]*content
	durable map[string]*content // the names as of the last sync of their folder
	calls   int
	failAt  int  // the number of the call that fails; 0: none
	lasting bool // all later calls fail as well
	full    bool // nothing can be written
}

type content struct {
	bytes  []byte
	synced int
}

var errFault = errors.New("a fault")

func newFaulty(seed uint64) *faulty {
	return &faulty{
		rand: rand.New(rand.NewPCG(seed, 1)), names: map[string]*content{}, durable: map[string]*content{},
	}
}

// fault counts a call, and fails it if it is its turn.
func (f *faulty) fault() error {
	f.calls++
	if f.failAt > 0 && (f.calls == f.failAt || f.lasting && f.calls > f.failAt) {
		return errFault
	}
	return nil
}

// crash returns the file system after the machine has lost its power: what was not synced is there, in part or not.
func (f *faulty) crash() *faulty {
	f.mu.Lock()
	defer f.mu.Unlock()
	after := newFaulty(f.rand.Uint64())
	for name, c := range f.durable {
		keep := c.synced + f.rand.IntN(len(c.bytes)-c.synced+1)
		kept := slices.Clone(c.bytes[:keep])
		if keep > c.synced && f.rand.IntN(2) == 0 { // the file has its length, but not its bytes
			clear(kept[c.synced+f.rand.IntN(keep-c.synced):])
		}
		after.names[name] = &content{bytes: kept, synced: keep}
	}
	for name, c := range f.names { // whether an unsynced change of a folder is there is chance
		if _, there := f.durable[name]; !there && f.rand.IntN(2) == 0 {
			after.names[name] = &content{bytes: slices.Clone(c.bytes[:c.synced]), synced: c.synced}
		}
	}
	for name := range f.durable {
		if _, there := f.names[name]; !there && f.rand.IntN(2) == 0 {
			delete(after.names, name)
		}
	}
	maps.Copy(after.durable, after.names)
	return after
}

func (f *faulty) open(name string) (file, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.names[name]
	if c == nil {
		return nil, os.ErrNotExist
	}
	return &handle{f, c}, nil
}

func (f *faulty) create(name string) (file, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fault(); err != nil {
		return nil, err
	}
	if f.names[name] != nil {
		return nil, os.ErrExist
	}
	if f.full {
		return nil, syscall.ENOSPC
	}
	f.names[name] = &content{}
	return &handle{f, f.names[name]}, nil
}

func (f *faulty) rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fault(); err != nil {
		return err
	}
	f.names[to] = f.names[from]
	delete(f.names, from)
	return nil
}

func (f *faulty) remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fault(); err != nil {
		return err
	}
	if f.names[name] == nil {
		return os.ErrNotExist
	}
	delete(f.names, name)
	return nil
}

func (f *faulty) list(folder string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for name := range f.names {
		if path.Dir(name) == folder {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

func (f *faulty) mkdir(string) error { return nil }

func (f *faulty) syncFolder(folder string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fault(); err != nil {
		return err
	}
	for name := range f.durable {
		if path.Dir(name) == folder && f.names[name] == nil {
			delete(f.durable, name)
		}
	}
	for name, c := range f.names {
		if path.Dir(name) == folder {
			f.durable[name] = c
		}
	}
	return nil
}

// bytes returns how much the segments hold.
func (f *faulty) bytes() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, c := range f.names {
		if strings.HasPrefix(name, logFolder) {
			n += len(c.bytes)
		}
	}
	return n
}

func (f *faulty) setFull(full bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.full = full
}

type handle struct {
	fs *faulty
	c  *content
}

// Write writes a part of the bytes if it fails.
func (h *handle) Write(p []byte) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	err := h.fs.fault()
	if h.fs.full {
		err = syscall.ENOSPC
	}
	n := len(p)
	if err != nil {
		n = h.fs.rand.IntN(len(p) + 1)
	}
	h.c.bytes = append(h.c.bytes, p[:n]...)
	return n, err
}

func (h *handle) ReadAt(p []byte, at int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	n := copy(p, h.c.bytes[min(at, int64(len(h.c.bytes))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *handle) Sync() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.fs.fault(); err != nil {
		return err
	}
	h.c.synced = len(h.c.bytes)
	return nil
}

func (h *handle) Close() error { return nil }

func (h *handle) size() (int64, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return int64(len(h.c.bytes)), nil
}
